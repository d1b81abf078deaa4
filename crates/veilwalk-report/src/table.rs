//! Tables that sort.

use std::fmt::Write;

use crate::text::{escape, prose};

/// A table in the making.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
    kind: Kind,
}

/// How a table is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Dense,
    Words,
}

/// What stands in a field of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    text: String,
    /// What it sorts by, if it is a number.
    number: Option<f64>,
    class: &'static str,
}

impl Cell {
    /// Words, with the marks that [`prose`] knows.
    #[must_use]
    pub fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), number: None, class: "" }
    }

    /// A number, with how it is written.
    #[must_use]
    pub fn number(number: f64, text: impl Into<String>) -> Self {
        Self { text: text.into(), number: Some(number), class: "number" }
    }

    /// Nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self { text: "–".to_owned(), number: None, class: "number" }
    }

    /// The same in a way that stands out: `yes`, `no`, `partly` and `mark` are known to
    /// the page, and `wraps` for long words in a dense table.
    #[must_use]
    pub fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

impl Table {
    /// A table with these columns.
    #[must_use]
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self {
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
            kind: Kind::Plain,
        }
    }

    /// The same without room between letters and lines, for many columns.
    #[must_use]
    pub fn dense(self) -> Self {
        Self { kind: Kind::Dense, ..self }
    }

    /// The same with every row as a paragraph of its own where the page is narrow: for tables of
    /// sentences.
    #[must_use]
    pub fn words(self) -> Self {
        Self { kind: Kind::Words, ..self }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If it does not have a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "one cell for each column");
        self.rows.push(cells);
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as HTML, in a box that scrolls by itself where the page is narrow.
    #[must_use]
    pub fn to_html(&self) -> String {
        let class = match self.kind {
            Kind::Plain => "",
            Kind::Dense => " dense",
            Kind::Words => " words",
        };
        let mut out = format!(
            "<div class=\"scroll\" tabindex=\"0\"><table class=\"sorts{class}\"><thead><tr>"
        );
        for (k, column) in self.columns.iter().enumerate() {
            let numbers = self.rows.iter().any(|row| row[k].number.is_some());
            let class = if numbers { " class=\"number\"" } else { "" };
            let _ = write!(
                out,
                "<th scope=\"col\"{class}><button type=\"button\">{}</button></th>",
                escape(column)
            );
        }
        out.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            for (cell, column) in row.iter().zip(&self.columns) {
                out.push_str("<td");
                if self.kind == Kind::Words {
                    let _ = write!(out, " data-label=\"{}\"", escape(column));
                }
                if !cell.class.is_empty() {
                    let _ = write!(out, " class=\"{}\"", cell.class);
                }
                if let Some(number) = cell.number {
                    // Not a number would sort anywhere; the script puts fields without one last.
                    if !number.is_nan() {
                        let _ = write!(out, " data-sort=\"{number}\"");
                    }
                }
                let _ = write!(out, ">{}</td>", prose(&cell.text));
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_value_and_words_are_escaped() {
        let mut table = Table::new(["name", "loss"]);
        table.row([Cell::words("a<b"), Cell::number(9.888, "≤ 9.9")]);
        table.row([Cell::words("`x`"), Cell::nothing()]);
        let html = table.to_html();
        assert!(html.contains("<td>a&lt;b</td>"));
        assert!(html.contains("data-sort=\"9.888\">≤ 9.9</td>"));
        assert!(html.contains("<code>x</code>"));
        assert_eq!(html.matches("<th ").count(), 2);
    }

    #[test]
    #[should_panic(expected = "one cell for each column")]
    fn a_short_row_is_refused() {
        Table::new(["a", "b"]).row([Cell::nothing()]);
    }
}
