//! The page: one file with everything in it.

use std::fmt::Write;

use crate::svg::Svg;
use crate::table::Table;
use crate::text::{escape, prose};

pub(crate) const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A page in the making.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    lead: String,
    footer: String,
    sections: Vec<Section>,
}

/// A part of a page, with an address of its own.
#[derive(Clone, Debug)]
pub struct Section {
    id: String,
    title: String,
    body: String,
    level: Level,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Part,
    Below,
}

impl Page {
    /// A page with nothing on it yet.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            lead: String::new(),
            footer: String::new(),
            sections: Vec::new(),
        }
    }

    /// Says under the title what the page is.
    pub fn lead(&mut self, text: &str) {
        let _ = write!(self.lead, "<p class=\"lead\">{}</p>", prose(text));
    }

    /// Says at the end how the page was made.
    pub fn footer(&mut self, text: &str) {
        let _ = write!(self.footer, "<p>{}</p>", prose(text));
    }

    /// Adds a section.
    pub fn push(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// The page as one file.
    #[must_use]
    pub fn to_html(&self) -> String {
        let title = escape(&self.title);
        let mut contents = String::new();
        let mut body = String::new();
        for section in &self.sections {
            let (heading, class) = match section.level {
                Level::Part => ("h2", ""),
                Level::Below => ("h3", " class=\"below\""),
            };
            let (id, name) = (escape(&section.id), escape(&section.title));
            let _ = write!(contents, "<li{class}><a href=\"#{id}\">{name}</a></li>");
            let _ = writeln!(
                body,
                "<section id=\"{id}\"{class}><{heading}>{name}</{heading}>{}</section>",
                section.body
            );
        }
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n<script>\n{SCRIPT}</script>\n</head>\n<body>\n\
             <nav aria-label=\"Contents\">\
             <button type=\"button\" id=\"theme\">Light or dark</button>\
             <details open><summary>Contents</summary><ol>{contents}</ol></details></nav>\n\
             <main>\n<header><h1>{title}</h1>{}</header>\n{body}<footer>{}</footer>\n</main>\n\
             </body>\n</html>\n",
            self.lead, self.footer
        )
    }
}

impl Section {
    /// A part of the page. The id is its address, and has to be unique.
    #[must_use]
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), body: String::new(), level: Level::Part }
    }

    /// A part of the part before it.
    #[must_use]
    pub fn below(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self { level: Level::Below, ..Self::new(id, title) }
    }

    /// The same with one more paragraph.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        let _ = write!(self.body, "<p>{}</p>", prose(text));
        self
    }

    /// The same with a list.
    #[must_use]
    pub fn list<S: AsRef<str>>(mut self, items: impl IntoIterator<Item = S>) -> Self {
        self.body.push_str("<ul>");
        for item in items {
            let _ = write!(self.body, "<li>{}</li>", prose(item.as_ref()));
        }
        self.body.push_str("</ul>");
        self
    }

    /// The same with a figure, which has a caption.
    #[must_use]
    pub fn figure(self, picture: Svg, caption: &str) -> Self {
        self.figures("", [picture], caption)
    }

    /// The same with several pictures in one figure. The class says how they stand: nothing for
    /// side by side, `maps` for many small ones.
    #[must_use]
    pub fn figures(
        mut self,
        class: &str,
        pictures: impl IntoIterator<Item = Svg>,
        caption: &str,
    ) -> Self {
        let _ = write!(self.body, "<figure><div class=\"panels {}\">", escape(class));
        for picture in pictures {
            let _ = write!(self.body, "<div class=\"panel\">{}</div>", picture.as_str());
        }
        let _ = write!(self.body, "</div><figcaption>{}</figcaption></figure>", prose(caption));
        self
    }

    /// The same with a definition that figures refer to.
    #[must_use]
    pub fn definition(mut self, definition: &str) -> Self {
        self.body.push_str(definition);
        self
    }

    /// The same with a table under a caption.
    #[must_use]
    pub fn table(mut self, table: &Table, caption: &str) -> Self {
        let _ = write!(
            self.body,
            "<figure class=\"tabular\"><figcaption>{}</figcaption>{}</figure>",
            prose(caption),
            table.to_html()
        );
        self
    }

    /// The same with numbers that stand out: what, how much, and a remark.
    #[must_use]
    pub fn highlights<'a>(
        mut self,
        items: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
    ) -> Self {
        self.body.push_str("<div class=\"highlights\">");
        for (number, what, remark) in items {
            let _ = write!(
                self.body,
                "<div><b>{}</b><span>{}</span><small>{}</small></div>",
                prose(number),
                prose(what),
                prose(remark)
            );
        }
        self.body.push_str("</div>");
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        let mut page = Page::new("A & B");
        page.lead("What *this* is.");
        let table = Table::new(["a"]);
        page.push(Section::new("one", "First").text("x < y").table(&table, "none"));
        page.push(Section::below("two", "Second").list(["p", "q"]));
        page.footer("made by hand");
        page.to_html()
    }

    #[test]
    fn every_section_is_in_the_contents() {
        let html = page();
        for id in ["one", "two"] {
            assert!(html.contains(&format!("href=\"#{id}\"")));
            assert!(html.contains(&format!("<section id=\"{id}\"")));
        }
        assert!(html.contains("<title>A &amp; B</title>"));
        assert!(html.contains("x &lt; y"));
    }

    #[test]
    fn nothing_is_fetched() {
        let html = page();
        for fetched in ["http://", "https://", "@import", "url(", "src="] {
            assert!(!html.contains(fetched), "{fetched}");
        }
    }
}
