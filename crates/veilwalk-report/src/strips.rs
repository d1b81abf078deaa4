//! One thing over time, several times over: a strip for each, on a common scale.
//!
//! Lines that jump at every step hide each other when they share a plot. In strips they can be
//! compared, and none is in front.

use crate::axis::Axis;
use crate::svg::{Canvas, Svg, path_through, place};
use crate::tone::Tone;

/// Strips in the making.
#[derive(Clone, Debug)]
pub struct Strips {
    title: String,
    x: Axis,
    y: Axis,
    strips: Vec<Strip>,
}

#[derive(Clone, Debug)]
struct Strip {
    name: String,
    remark: String,
    tone: Tone,
    values: Vec<f64>,
}

const WIDTH: f64 = 400.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 26.0;
const STRIP: f64 = 46.0;
const GAP: f64 = 22.0;

impl Strips {
    /// No strips yet.
    #[must_use]
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, strips: Vec::new() }
    }

    /// The same with one more strip: a value for each step from zero. The remark stands at its
    /// right end.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        remark: impl Into<String>,
        tone: Tone,
        values: Vec<f64>,
    ) -> Self {
        self.strips.push(Strip { name: name.into(), remark: remark.into(), tone, values });
        self
    }

    /// The picture.
    #[must_use]
    pub fn to_svg(&self) -> Svg {
        let width = WIDTH - LEFT - RIGHT;
        let steps = self.strips.iter().map(|s| s.values.len().saturating_sub(1)).max().unwrap_or(0);
        let x = self.x.fit([0.0, steps as f64].into_iter(), width);
        let values = self.strips.iter().flat_map(|s| s.values.iter().copied());
        let y = self.y.fit(values.chain([0.0]), STRIP);
        let bottom = TOP + self.strips.len() as f64 * (STRIP + GAP);
        let names: Vec<&str> = self.strips.iter().map(|s| s.name.as_str()).collect();
        let alt =
            format!("{}: {} over {}; {}", self.title, self.y.label, self.x.label, names.join(", "));
        let mut canvas = Canvas::new(WIDTH, bottom + 40.0, "chart", &alt);
        canvas.text(4.0, 15.0, "title", &self.title);
        for (k, strip) in self.strips.iter().enumerate() {
            let top = TOP + k as f64 * (STRIP + GAP) + GAP;
            let base = top + STRIP;
            canvas.text(
                LEFT,
                top - 5.0,
                &format!("legend bold {}", strip.tone.class()),
                &strip.name,
            );
            canvas.text(WIDTH - RIGHT, top - 5.0, "end remark", &strip.remark);
            for tick in y.ticks(2).into_iter().filter(|tick| !tick.label.is_empty()) {
                canvas.line((LEFT, base - tick.at), (LEFT + width, base - tick.at), "grid");
                canvas.text(LEFT - 8.0, base - tick.at + 4.0, "end", &tick.label);
            }
            canvas.window(LEFT, top - 2.0, width, STRIP + 4.0);
            let at = |t: usize, v: f64| Some((x.place(t as f64)?, STRIP + 2.0 - y.place(v)?));
            let line = path_through(strip.values.iter().enumerate().map(|(t, &v)| at(t, v)));
            let area = format!("{line}V{}H0Z", place(STRIP + 2.0));
            let class = strip.tone.class();
            canvas.element("path", &[("class", &format!("band {class}")), ("d", &area)]);
            canvas.element("path", &[("class", &format!("line thin {class}")), ("d", &line)]);
            canvas.close("svg");
            canvas.line((LEFT, base), (LEFT + width, base), "tick");
        }
        for tick in x.ticks(6) {
            let at = LEFT + tick.at;
            canvas.line((at, bottom), (at, bottom + 4.0), "tick");
            canvas.text(at, bottom + 17.0, "middle", &tick.label);
        }
        canvas.text(LEFT + width / 2.0, bottom + 35.0, "middle axis", &self.x.label);
        canvas.upward_text(12.0, (TOP + bottom) / 2.0, "middle axis", &self.y.label);
        canvas.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strip_has_its_line_and_its_area() {
        let strips = Strips::new("one walk", Axis::linear("step"), Axis::linear("nats"))
            .with("chen", "12 wrong", Tone::Vermilion, vec![0.0, 3.0, 0.0])
            .with("paper", "3 wrong", Tone::Blue, vec![0.0, 0.0, 0.0]);
        let svg = strips.to_svg();
        for class in ["line thin vermilion", "line thin blue", "band vermilion", "band blue"] {
            assert_eq!(svg.as_str().matches(&format!("class=\"{class}\"")).count(), 1, "{class}");
        }
        assert!(!svg.as_str().contains("NaN"));
    }

    #[test]
    fn no_strips_make_an_empty_picture_and_no_panic() {
        let svg = Strips::new("t", Axis::linear("x"), Axis::linear("y")).to_svg();
        assert!(svg.as_str().contains("<text"));
    }
}
