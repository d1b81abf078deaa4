//! A map: what is there in thin lines and small dots, walks over it in colour.
//!
//! The ground is the same under every walk, so a page holds it once and every map refers to it.

use std::fmt::Write;

use crate::svg::{Canvas, Svg, path_through, place, text_width};
use crate::tone::Tone;

/// A place: how far east, and how far north.
type Place = (f64, f64);

/// Ground to draw walks on.
#[derive(Clone, Debug)]
pub struct Map {
    name: String,
    ground: String,
    labels: Vec<Label>,
    /// Left, top, width, height of what is drawn, in the ground's own coordinates.
    extent: (f64, f64, f64, f64),
}

/// A name at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Where.
    pub at: (f64, f64),
    /// What.
    pub text: String,
}

/// A walk on a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The places it comes through.
    pub points: Vec<(f64, f64)>,
    /// Its colour.
    pub tone: Tone,
}

const WIDTH: f64 = 300.0;
const MARGIN: f64 = 8.0;

impl Map {
    /// Ground made of lines between places and of single places, with north up. The name has to
    /// be unique on a page, and fit for an address.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        lines: &[(Place, Place)],
        dots: &[Place],
        labels: Vec<Label>,
    ) -> Self {
        let ends = lines.iter().flat_map(|&(a, b)| [a, b]);
        let points: Vec<(f64, f64)> =
            ends.chain(dots.iter().copied()).chain(labels.iter().map(|l| l.at)).collect();
        let range = |pick: fn(&(f64, f64)) -> f64| {
            points
                .iter()
                .map(pick)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
        };
        let ((left, right), (low, high)) = (range(|p| p.0), range(|p| p.1));
        let extent = if left <= right {
            (left, high, (right - left).max(1e-9), (high - low).max(1e-9))
        } else {
            (0.0, 0.0, 1.0, 1.0)
        };
        let mut map = Self { name: name.into(), ground: String::new(), labels, extent };
        let mut road = String::new();
        for &(a, b) in lines {
            road += &path_through([a, b].into_iter().map(|p| Some(map.at(p))));
        }
        let mut spots = String::new();
        for &dot in dots {
            let (x, y) = map.at(dot);
            // A stroke of no length with round ends is a dot.
            let _ = write!(spots, "M{} {}h0", place(x), place(y));
        }
        for (class, path) in [("road", road), ("spot", spots)] {
            if !path.is_empty() {
                let _ = write!(map.ground, "<path class=\"{class}\" d=\"{path}\"/>");
            }
        }
        map
    }

    fn height(&self) -> f64 {
        ((WIDTH - 2.0 * MARGIN) * self.extent.3 / self.extent.2).clamp(40.0, 500.0)
    }

    /// Where a place is in the picture.
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let (left, top, width, height) = self.extent;
        let scale = ((WIDTH - 2.0 * MARGIN) / width).min(self.height() / height);
        let spare = (WIDTH - 2.0 * MARGIN - width * scale) / 2.0;
        (MARGIN + spare + (x - left) * scale, MARGIN + (top - y) * scale)
    }

    /// The ground as a definition that [`Map::with_routes`] refers to; it shows nothing itself.
    #[must_use]
    pub fn definition(&self) -> String {
        format!(
            "<svg class=\"hidden\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>\
             <g id=\"ground-{}\">{}</g></defs></svg>",
            self.name, self.ground
        )
    }

    /// The ground with the names of its places.
    #[must_use]
    pub fn with_labels(&self, title: &str) -> Svg {
        let mut canvas = self.canvas(title, &format!("{title}, with names"));
        for label in &self.labels {
            let (x, y) = self.at(label.at);
            let half = text_width(&label.text, 8.0) / 2.0;
            let x = x.clamp(half + 2.0, WIDTH - half - 2.0);
            canvas.text(x, y + TITLE + 3.0, "place", &label.text);
        }
        canvas.finish()
    }

    /// The ground with walks over it, the first one lowest and widest.
    #[must_use]
    pub fn with_routes(&self, title: &str, routes: &[Route]) -> Svg {
        let mut canvas = self.canvas(title, &format!("map: {title}"));
        for (k, route) in routes.iter().enumerate() {
            let points: Vec<(f64, f64)> =
                route.points.iter().map(|&p| self.at(p)).map(|(x, y)| (x, y + TITLE)).collect();
            let path = path_through(points.iter().map(|&p| Some(p)));
            let wide = if k == 0 { "wide" } else { "narrow" };
            let class = format!("route {wide} {}", route.tone.class());
            canvas.element("path", &[("class", &class), ("d", &path)]);
            if let Some(&(x, y)) = points.first() {
                let d = format!("M{} {}h0", place(x), place(y));
                canvas.element(
                    "path",
                    &[("class", &format!("stop {}", route.tone.class())), ("d", &d)],
                );
            }
        }
        canvas.finish()
    }

    fn canvas(&self, title: &str, alt: &str) -> Canvas {
        let height = self.height() + 2.0 * MARGIN + TITLE;
        let mut canvas = Canvas::new(WIDTH, height, "chart map", alt);
        canvas.text(4.0, 16.0, "title", title);
        let target = format!("#ground-{}", self.name);
        canvas.element("use", &[("href", &target), ("y", &place(TITLE))]);
        canvas
    }
}

/// Room for a title that is still readable where four maps share a line.
const TITLE: f64 = 22.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> Map {
        let label = Label { at: (5.0, 5.0), text: "Ash & Elm".to_owned() };
        Map::new(
            "town",
            &[((0.0, 0.0), (10.0, 0.0)), ((10.0, 0.0), (10.0, 10.0))],
            &[(2.0, 3.0)],
            vec![label],
        )
    }

    #[test]
    fn north_is_up_and_everything_is_inside() {
        let map = map();
        let (x0, y0) = map.at((0.0, 0.0));
        let (x1, y1) = map.at((10.0, 10.0));
        assert!(x1 > x0 && y1 < y0);
        let inside = |v: f64, size: f64| (0.0..=size).contains(&v);
        let height = map.height() + 2.0 * MARGIN;
        assert!(inside(x0, WIDTH) && inside(x1, WIDTH) && inside(y0, height) && inside(y1, height));
    }

    #[test]
    fn the_ground_is_there_once_and_walks_refer_to_it() {
        let map = map();
        assert!(map.definition().contains("id=\"ground-town\""));
        let route = Route { points: vec![(0.0, 0.0), (10.0, 0.0)], tone: Tone::Grey };
        let svg = map.with_routes("ε = 1", &[route]);
        assert!(svg.as_str().contains("href=\"#ground-town\""));
        assert!(svg.as_str().contains("route wide grey"));
        assert!(map.with_labels("map").as_str().contains("Ash &amp; Elm"));
    }

    #[test]
    fn an_empty_map_is_no_panic() {
        let map = Map::new("nothing", &[], &[], Vec::new());
        assert!(!map.with_routes("t", &[]).as_str().contains("NaN"));
    }
}
