//! Which topics or subjects are read, what walk each is about, and where its answers go.
//!
//! A pattern has a wildcard for one level, `+` in MQTT and `*` in NATS. What stands in its place names the walk. Answers go beside
//! the message: the last word is exchanged if the pattern says what it is (`fleet/7/real`, `fleet/7/released`), and
//! a word is added else (`owntracks/ann/phone`, `owntracks/ann/phone/released`). Either way no answer matches the
//! pattern, so the service never reads what it has written.

use std::fmt;

use thiserror::Error;

/// What an answer's topic ends with.
pub(crate) const RELEASED: &str = "released";
/// What a refusal's topic ends with.
pub(crate) const REFUSED: &str = "refused";

/// How topics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Levels with `/` between them, `+` for any one.
    Mqtt,
    /// Tokens with `.` between them, `*` for any one.
    Nats,
}

impl Syntax {
    fn between(self) -> char {
        match self {
            Self::Mqtt => '/',
            Self::Nats => '.',
        }
    }

    fn any(self) -> &'static str {
        match self {
            Self::Mqtt => "+",
            Self::Nats => "*",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Mqtt => "fleet/+/real",
            Self::Nats => "fleet.*.real",
        }
    }
}

/// Topics that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    syntax: Syntax,
    /// None where anything may stand.
    levels: Vec<Option<String>>,
}

/// Text that says not which topics are read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} does not say which topics to read: {why}; write one such as {example}")]
pub struct PatternError {
    text: String,
    why: String,
    example: &'static str,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// If it has no wildcard for one level, one for many, or would read what the service writes.
    pub fn new(text: &str, syntax: Syntax) -> Result<Self, PatternError> {
        let refused = |why: &str| {
            let (text, why) = (text.chars().take(200).collect(), why.to_owned());
            Err(PatternError { text, why, example: syntax.example() })
        };
        if text.starts_with("$share/") {
            return refused(
                "a shared subscription gives the messages of one walk to several services, and each would release it",
            );
        }
        if text.is_empty() || text.starts_with('$') || text.chars().any(char::is_control) {
            return refused("it is empty, has control characters or begins with $");
        }
        let mut levels = Vec::new();
        for level in text.split(syntax.between()) {
            if level == syntax.any() {
                levels.push(None);
                continue;
            }
            let nats = syntax == Syntax::Nats;
            if nats && (level.is_empty() || level.contains(char::is_whitespace)) {
                return refused("a part of it is empty or has a space");
            }
            if level.contains(['#', '+', '*', '>']) {
                return refused("only a wildcard for one whole part can stand for the walk");
            }
            levels.push(Some(level.to_owned()));
        }
        if levels.iter().all(Option::is_some) {
            return refused("nothing in it stands for the walk");
        }
        if let Some(Some(last)) = levels.last()
            && (last == RELEASED || last == REFUSED)
        {
            return refused("answers are published there, and would be read again");
        }
        Ok(Self { text: text.to_owned(), syntax, levels })
    }

    /// The pattern as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The walk that a topic is about: what stands for the wildcards. None if the topic is none of these.
    pub(crate) fn walk(&self, topic: &str) -> Option<String> {
        let mut parts = topic.split(self.syntax.between());
        let mut walk = String::new();
        for level in &self.levels {
            let part = parts.next()?;
            match level {
                Some(word) if word != part => return None,
                Some(_) => {}
                None => {
                    if !walk.is_empty() {
                        walk.push(self.syntax.between());
                    }
                    walk.push_str(part);
                }
            }
        }
        parts.next().is_none().then_some(walk)
    }

    /// The topic beside this one that ends with a word.
    pub(crate) fn beside(&self, topic: &str, word: &str) -> String {
        let between = self.syntax.between();
        let before = match (self.levels.last(), topic.rsplit_once(between)) {
            (Some(Some(_)), Some((before, _))) => before,
            _ => topic,
        };
        format!("{before}{between}{word}")
    }

    /// The pattern of all topics beside those of this one.
    #[cfg(feature = "nats")]
    pub(crate) fn all_beside(&self, word: &str) -> String {
        self.beside(&self.text, word)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_names_its_walk_and_where_answers_go() {
        for (syntax, pattern, topic, walk, released) in [
            (Syntax::Mqtt, "fleet/+/real", "fleet/7/real", "7", "fleet/7/released"),
            (Syntax::Mqtt, "+/a/+", "x/a/y", "x/y", "x/a/y/released"),
            (Syntax::Mqtt, "/+/real", "/été 1/real", "été 1", "/été 1/released"),
            (Syntax::Nats, "fleet.*.real", "fleet.7.real", "7", "fleet.7.released"),
            (Syntax::Nats, "*", "a/b", "a/b", "a/b.released"),
        ] {
            let pattern = Pattern::new(pattern, syntax).unwrap();
            assert_eq!(pattern.walk(topic).unwrap(), walk);
            assert_eq!(pattern.beside(topic, RELEASED), released);
            assert_eq!(pattern.walk(released), None, "answers are not read");
            assert_eq!(pattern.walk(&pattern.beside(topic, REFUSED)), None);
        }
        let pattern = Pattern::new("fleet/+/real", Syntax::Mqtt).unwrap();
        for other in ["fleet/7", "fleet/7/8/real", "ship/7/real", "fleet/7/unreal", ""] {
            assert_eq!(pattern.walk(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_an_example() {
        let refused = |text: &str, syntax| Pattern::new(text, syntax).unwrap_err().to_string();
        for text in [
            "",
            "fleet/7/real",
            "fleet/#",
            "fleet/+/released",
            "+/refused",
            "a+/real",
            "$SYS/+",
            "fleet.*.real",
        ] {
            assert!(refused(text, Syntax::Mqtt).contains("fleet/+/real"), "{text}");
        }
        for text in ["fleet.>", "fleet/*", "a..*", "*.released", "a b.*", "*.\n"] {
            assert!(refused(text, Syntax::Nats).contains("fleet.*.real"), "{text}");
        }
        assert!(refused("$share/all/fleet/+/real", Syntax::Mqtt).contains("each would release"));
    }
}
