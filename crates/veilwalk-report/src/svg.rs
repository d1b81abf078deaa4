//! A small writer of SVG: elements with escaped attributes, and numbers that are no longer than
//! they need to be.

use std::fmt::{Display, Write};

use crate::page::STYLE;
use crate::text::escape;

/// A finished picture, as text to put on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Svg {
    pub(crate) text: String,
    width: f64,
    height: f64,
}

impl Svg {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Charts next to each other, as the text of an SVG file that needs nothing else: light or dark like
/// the page that shows it.
#[must_use]
pub fn side_by_side(charts: &[Svg]) -> String {
    const GAP: f64 = 16.0;
    let width = charts.iter().map(|chart| chart.width + GAP).sum();
    let height = charts.iter().map(|chart| chart.height).fold(0.0, f64::max) + GAP;
    let (width, height) = (place(width), place(height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\"><style>{STYLE}</style>\
         <rect width=\"100%\" height=\"100%\" style=\"fill: var(--paper)\"/>",
    );
    let mut x = GAP / 2.0;
    for chart in charts {
        let (left, top) = (place(x), place(GAP / 2.0));
        // On a page of its own each chart would be as wide as its column.
        let _ = write!(
            out,
            "<svg x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\">{}</svg>",
            place(chart.width),
            place(chart.height),
            chart.text
        );
        x += chart.width + GAP;
    }
    out.push_str("</svg>\n");
    out
}

/// A coordinate with at most two decimals, without those that say nothing.
pub(crate) fn place(number: f64) -> String {
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A picture in the making.
#[derive(Debug)]
pub(crate) struct Canvas {
    out: String,
    width: f64,
    height: f64,
}

impl Canvas {
    /// Starts a picture of this size. `alt` is for people who hear the page.
    pub(crate) fn new(width: f64, height: f64, class: &str, alt: &str) -> Self {
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg class=\"{class}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
            place(width),
            place(height),
            escape(alt)
        );
        Self { out, width, height }
    }

    pub(crate) fn finish(mut self) -> Svg {
        self.out.push_str("</svg>");
        Svg { text: self.out, width: self.width, height: self.height }
    }

    /// An element without content.
    pub(crate) fn element(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.open(name, attributes);
        self.out.truncate(self.out.len() - 1);
        self.out.push_str("/>");
    }

    /// Opens an element; it has to be closed.
    pub(crate) fn open(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        let _ = write!(self.out, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.out, " {key}=\"{}\"", escape(&value.to_string()));
        }
        self.out.push('>');
    }

    pub(crate) fn close(&mut self, name: &str) {
        let _ = write!(self.out, "</{name}>");
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        self.open("text", &[("x", &place(x)), ("y", &place(y)), ("class", &class)]);
        self.out.push_str(&escape(text));
        self.close("text");
    }

    /// Text that reads upwards, centred at a point.
    pub(crate) fn upward_text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let (x, y) = (place(x), place(y));
        let turn = format!("rotate(-90 {x} {y})");
        self.open("text", &[("x", &x), ("y", &y), ("class", &class), ("transform", &turn)]);
        self.out.push_str(&escape(text));
        self.close("text");
    }

    pub(crate) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        let path = format!("M{} {}L{} {}", place(x1), place(y1), place(x2), place(y2));
        self.element("path", &[("class", &class), ("d", &path)]);
    }

    /// A window in which everything outside is cut off, with its own origin. (A nested picture
    /// clips without the names that `clipPath` needs, which would have to be unique on the page.)
    pub(crate) fn window(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let places = [x, y, width, height].map(place);
        let [x, y, width, height] = &places;
        self.open("svg", &[("x", x), ("y", y), ("width", width), ("height", height)]);
    }
}

/// A path through these points, lifted where `None` stands.
pub(crate) fn path_through(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let mut path = String::new();
    let mut drawing = false;
    for point in points {
        match point {
            None => drawing = false,
            Some((x, y)) => {
                let _ =
                    write!(path, "{}{} {}", if drawing { 'L' } else { 'M' }, place(x), place(y));
                drawing = true;
            }
        }
    }
    path
}

/// About how wide a text is at this size of letters, in the page's typeface.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let narrow = |c: char| "iljtf.,:;'|!()[] ⁰¹²³⁴⁵⁶⁷⁸⁹⁻".contains(c);
    let wide = |c: char| "mwMW@%".contains(c) || c as u32 > 0x2e80;
    let width = |c: char| match c {
        c if narrow(c) => 0.36,
        c if wide(c) => 0.95,
        _ => 0.57,
    };
    text.chars().map(width).sum::<f64>() * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!(place(1.0), "1");
        assert_eq!(place(-0.001), "0");
        assert_eq!(place(12.345), "12.35");
        assert_eq!(place(100.0), "100");
    }

    #[test]
    fn a_path_is_lifted_at_gaps() {
        let points = [Some((0.0, 0.0)), Some((1.0, 2.0)), None, Some((3.0, 4.0))];
        assert_eq!(path_through(points.into_iter()), "M0 0L1 2M3 4");
    }

    #[test]
    fn attributes_are_escaped() {
        let mut canvas = Canvas::new(10.0, 10.0, "chart", "a \"b\"");
        canvas.element("path", &[("d", &"<&>")]);
        let svg = canvas.finish();
        assert!(svg.as_str().contains("aria-label=\"a &quot;b&quot;\""));
        assert!(svg.as_str().ends_with("<path d=\"&lt;&amp;&gt;\"/></svg>"));
    }
}
