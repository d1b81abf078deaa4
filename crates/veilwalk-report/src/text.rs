//! Text that cannot break the page it is put on.

use std::fmt::Write;

/// Text as HTML and SVG take it, also between quotes.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters other than white space have no place in a document.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A paragraph as HTML: `` `code` ``, `**bold**`, `*emphasis*` and `[text](#place)` are known,
/// everything else is text. A mark that is not closed is text as well.
#[must_use]
pub fn prose(text: &str) -> String {
    let text = bound(text);
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['`', '*', '[']) {
        out.push_str(&escape(&rest[..at]));
        rest = &rest[at..];
        let taken = marked(rest, "`", "`")
            .map(|(inner, after)| (format!("<code>{}</code>", escape(inner)), after))
            .or_else(|| {
                let (inner, after) = marked(rest, "**", "**")?;
                Some((format!("<strong>{}</strong>", escape(inner)), after))
            })
            .or_else(|| {
                let (inner, after) = marked(rest, "*", "*")?;
                Some((format!("<em>{}</em>", escape(inner)), after))
            })
            .or_else(|| link(rest));
        match taken {
            Some((html, after)) => {
                out.push_str(&html);
                rest = after;
            }
            None => {
                out.push_str(&escape(&rest[..1]));
                rest = &rest[1..];
            }
        }
    }
    out.push_str(&escape(rest));
    out
}

/// A number stays on one line with what it is of: `ε = 1`, `2 nats`, `5 %`.
fn bound(text: &str) -> String {
    text.replace(" = ", "\u{a0}=\u{a0}")
        .replace(" %", "\u{a0}%")
        .replace(" nats", "\u{a0}nats")
        .replace("1 nat", "1\u{a0}nat")
}

/// What is between the marks at the start of a text, and what comes after; none if it is empty.
fn marked<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str)> {
    let inner = text.strip_prefix(open)?;
    let end = inner.find(close)?;
    (end > 0).then(|| (&inner[..end], &inner[end + close.len()..]))
}

fn link(text: &str) -> Option<(String, &str)> {
    let (label, after) = marked(text, "[", "](")?;
    // Only places on the page itself and files beside it: the page must open without a network.
    let end = after.find(')')?;
    let target = &after[..end];
    let local = !target.contains(':') && !target.starts_with("//");
    local.then(|| {
        let mut html = String::new();
        let _ = write!(html, "<a href=\"{}\">{}</a>", escape(target), escape(label));
        (html, &after[end + 1..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_element() {
        assert_eq!(escape("<b a=\"x\">&'"), "&lt;b a=&quot;x&quot;&gt;&amp;&#39;");
        assert_eq!(escape("a\u{0}b\n"), "a\u{fffd}b\n");
        assert_eq!(prose("`<x>` **&**"), "<code>&lt;x&gt;</code> <strong>&amp;</strong>");
    }

    #[test]
    fn unclosed_marks_are_text() {
        assert_eq!(prose("2 * 3 and a ` b"), "2 * 3 and a ` b");
        assert_eq!(prose("[a] (b)"), "[a] (b)");
        assert_eq!(prose("****"), "****");
        assert_eq!(prose("ε = 1"), "ε\u{a0}=\u{a0}1");
        assert_eq!(prose("ε *is* [there](#x)"), "ε <em>is</em> <a href=\"#x\">there</a>");
    }

    #[test]
    fn links_stay_on_the_page() {
        let far = "[a](https://example.org)";
        assert_eq!(prose(far), escape(far));
        let script = "[a](javascript:x)";
        assert_eq!(prose(script), escape(script));
    }
}
