//! What a transport leaves to whoever starts it: the form of messages, and what is told to the operator.

use serde_json::{Value, json};
use veilwalk_live::{Answer, Done, Refusal, Request, WalkName};

/// Reads messages, writes answers, and tells what happens.
pub trait Shell: Send + Sync + 'static {
    /// What a message asks for this walk.
    ///
    /// # Errors
    ///
    /// If nothing can be asked. The error is published, so nothing in it may depend on a real state.
    fn read(&self, walk: WalkName, payload: &[u8]) -> Result<Request, Refused>;

    /// An answer as it is published.
    fn answer(&self, answer: &Answer) -> Vec<u8>;

    /// Something that the operator may want to know. Said once, not for every message.
    fn tell(&self, news: News<'_>);

    /// What came of a request, for whoever counts or tells trouble.
    fn outcome(&self, outcome: &Result<Done, Refusal>);
}

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum News<'a> {
    /// Messages come in.
    Connected(&'a str),
    /// They do not, for this reason, and it is tried again.
    Lost(&'a str),
    /// Something else to be looked at.
    Warning(&'a str),
}

/// Why a message is refused, as it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    code: &'static str,
    error: String,
    /// The number to send.
    next: Option<u64>,
}

impl Refused {
    /// A refusal with a word for programs and a sentence for people. Whoever reads the topic of refusals sees both.
    #[must_use]
    pub fn new(code: &'static str, error: impl Into<String>) -> Self {
        Self { code, error: error.into(), next: None }
    }

    pub(crate) fn payload(&self, step: Option<u64>) -> Vec<u8> {
        let mut body = json!({ "code": self.code, "error": self.error });
        if let Some(step) = step {
            body["step"] = Value::from(step);
        }
        if let Some(next) = self.next {
            body["next"] = Value::from(next);
        }
        body.to_string().into_bytes()
    }
}

impl From<&Refusal> for Refused {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            // What came instead of a state may be a real one, misspelt.
            Refusal::UnknownState { number, .. } => Self::new(
                refusal.code(),
                format!("step {number}: the chain has no such state; send one that it has"),
            ),
            Refusal::Gap { expected, .. } => {
                Self { next: Some(*expected), ..Self::new(refusal.code(), refusal.to_string()) }
            }
            _ => Self::new(refusal.code(), refusal.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use veilwalk::chain::UnknownState;

    use super::*;

    #[test]
    fn a_refusal_is_published_without_what_came() {
        let unknown = UnknownState { label: "caa".to_owned(), closest: Some("Caa".to_owned()) };
        let refused = Refused::from(&Refusal::UnknownState { number: 4, unknown });
        let text = String::from_utf8(refused.payload(Some(4))).unwrap();
        assert!(text.contains("unknown-state") && !text.to_lowercase().contains("caa"), "{text}");
        let refused = Refused::from(&Refusal::Gap { expected: 3, given: 7 });
        let body: Value = serde_json::from_slice(&refused.payload(Some(7))).unwrap();
        assert_eq!((&body["next"], &body["step"]), (&json!(3), &json!(7)));
    }
}
