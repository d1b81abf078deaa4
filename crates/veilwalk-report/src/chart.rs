//! A chart: lines, points with error bars and bands over two axes.
//!
//! The legend has rows of its own above the plot, so it never covers data. Sizes are chosen for half
//! the width of a page: letters stay readable when two charts stand side by side.

use std::fmt::Write;

use crate::axis::{Axis, Fitted};
use crate::svg::{Canvas, Svg, path_through, place, text_width};
use crate::tone::{Series, Shape};

/// A chart in the making.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    x: Axis,
    y: Axis,
    layers: Vec<(Series, Mark)>,
    width: f64,
    height: f64,
}

/// What is drawn for a series.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A line through points.
    Line(Vec<(f64, f64)>),
    /// A thin line that only joins points: nothing is known between them.
    Joins(Vec<(f64, f64)>),
    /// A line that keeps its height until the next point.
    Steps(Vec<(f64, f64)>),
    /// Points, each with the range that it may be off by.
    Points(Vec<Point>),
    /// The area between two lines: place, lower and upper end.
    Band(Vec<(f64, f64, f64)>),
}

/// A measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where it is along.
    pub x: f64,
    /// How high it is.
    pub y: f64,
    /// Half the length of its error bar.
    pub error: f64,
}

impl Mark {
    /// A line through points.
    #[must_use]
    pub fn line(points: Vec<(f64, f64)>) -> Self {
        Self::Line(points)
    }

    fn xs(&self) -> Vec<f64> {
        match self {
            Self::Line(points) | Self::Joins(points) | Self::Steps(points) => {
                points.iter().map(|p| p.0).collect()
            }
            Self::Points(points) => points.iter().map(|p| p.x).collect(),
            Self::Band(points) => points.iter().map(|p| p.0).collect(),
        }
    }

    /// Error bars may reach beyond the range, points may not.
    fn ys(&self) -> Vec<f64> {
        match self {
            Self::Line(points) | Self::Joins(points) | Self::Steps(points) => {
                points.iter().map(|p| p.1).collect()
            }
            Self::Points(points) => points.iter().map(|p| p.y).collect(),
            Self::Band(points) => points.iter().flat_map(|p| [p.1, p.2]).collect(),
        }
    }
}

const WIDTH: f64 = 400.0;
const NARROW: f64 = 300.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 12.0;
const BOTTOM: f64 = 44.0;
const LETTERS: f64 = 12.0;
const ROW: f64 = 18.0;
const SAMPLE: f64 = 24.0;
/// How far below its point an error bar without an end is drawn.
const ARROW: f64 = 15.0;

impl Chart {
    /// An empty chart.
    #[must_use]
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, layers: Vec::new(), width: WIDTH, height: 210.0 }
    }

    /// The same with one more layer over those before. Layers of one name share a legend entry.
    #[must_use]
    pub fn with(mut self, series: Series, mark: Mark) -> Self {
        self.layers.push((series, mark));
        self
    }

    /// The same for three in a row: narrower, with letters of the same size.
    #[must_use]
    pub fn narrow(self) -> Self {
        Self { width: NARROW, ..self }
    }

    /// The same with a plot this high.
    #[must_use]
    pub fn height(self, height: f64) -> Self {
        Self { height, ..self }
    }

    /// The picture.
    #[must_use]
    pub fn to_svg(&self) -> Svg {
        let legend = self.legend();
        let rows = legend.last().map_or(0, |entry| entry.row + 1);
        let top = 22.0 + rows as f64 * ROW + 6.0;
        let (width, height) = (self.width - LEFT - RIGHT, self.height);
        let x = self.x.fit(self.layers.iter().flat_map(|(_, mark)| mark.xs()), width);
        let y = self.y.fit(self.layers.iter().flat_map(|(_, mark)| mark.ys()), height);
        let mut canvas =
            Canvas::new(self.width, top + height + BOTTOM, "chart", &self.description());
        canvas.text(4.0, 15.0, "title", &self.title);
        for entry in &legend {
            self.draw_entry(&mut canvas, entry);
        }
        self.draw_axes(&mut canvas, &x, &y, top);
        canvas.window(LEFT, top, width, height);
        let frame = Frame { x, y, height };
        for (series, mark) in &self.layers {
            frame.draw(&mut canvas, series, mark);
        }
        canvas.close("svg");
        canvas.element(
            "rect",
            &[
                ("class", &"frame"),
                ("x", &place(LEFT)),
                ("y", &place(top)),
                ("width", &place(width)),
                ("height", &place(height)),
            ],
        );
        canvas.finish()
    }

    fn description(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for (series, _) in &self.layers {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        format!("{}: {} over {}; {}", self.title, self.y.label, self.x.label, names.join(", "))
    }

    /// Where the entries of the legend go.
    fn legend(&self) -> Vec<Entry<'_>> {
        let mut entries: Vec<Entry<'_>> = Vec::new();
        let (mut x, mut row) = (4.0, 0);
        for (series, mark) in &self.layers {
            if let Some(entry) = entries.iter_mut().find(|e| e.series.name == series.name) {
                entry.marks.push(mark);
                continue;
            }
            let width = SAMPLE + 5.0 + text_width(&series.name, LETTERS) + 12.0;
            if x + width > self.width + 10.0 && x > 4.0 {
                (x, row) = (4.0, row + 1);
            }
            entries.push(Entry { series, marks: vec![mark], x, row });
            x += width;
        }
        entries
    }

    fn draw_entry(&self, canvas: &mut Canvas, entry: &Entry<'_>) {
        let y = 22.0 + entry.row as f64 * ROW + 10.0;
        let class = entry.series.tone.class();
        for mark in &entry.marks {
            let (left, middle) = (entry.x, entry.x + SAMPLE / 2.0);
            match mark {
                Mark::Band(_) => {
                    let d = format!("M{} {}h{SAMPLE}v10h-{SAMPLE}Z", place(left), place(y - 5.0));
                    canvas.element("path", &[("class", &format!("band {class}")), ("d", &d)]);
                }
                Mark::Line(_) | Mark::Steps(_) => {
                    let d = format!("M{} {}h{SAMPLE}", place(left), place(y));
                    draw_line(canvas, entry.series, "line", &d);
                }
                Mark::Joins(_) => {
                    let d = format!("M{} {}h{SAMPLE}", place(left), place(y));
                    draw_line(canvas, entry.series, "line thin", &d);
                }
                Mark::Points(_) => {
                    canvas.line((middle, y - 6.0), (middle, y + 6.0), &format!("bar {class}"));
                    draw_point(canvas, entry.series, (middle, y));
                }
            }
        }
        canvas.text(entry.x + SAMPLE + 5.0, y + 4.0, "legend", &entry.series.name);
    }

    fn draw_axes(&self, canvas: &mut Canvas, x: &Fitted, y: &Fitted, top: f64) {
        let (width, bottom) = (self.width - LEFT - RIGHT, top + self.height);
        for tick in y.ticks((self.height / 34.0) as usize) {
            let at = bottom - tick.at;
            if tick.label.is_empty() {
                canvas.line((LEFT - 3.0, at), (LEFT, at), "tick");
            } else {
                canvas.line((LEFT, at), (LEFT + width, at), "grid");
                canvas.line((LEFT - 5.0, at), (LEFT, at), "tick");
                canvas.text(LEFT - 8.0, at + 4.0, "end", &tick.label);
            }
        }
        for tick in x.ticks((width / 40.0) as usize) {
            let at = LEFT + tick.at;
            if !tick.label.is_empty() {
                canvas.line((at, top), (at, bottom), "grid");
                canvas.text(at, bottom + 18.0, "middle", &tick.label);
            }
            canvas.line((at, bottom), (at, bottom + 5.0), "tick");
        }
        canvas.text(LEFT + width / 2.0, bottom + 37.0, "middle axis", &self.x.label);
        canvas.upward_text(12.0, top + self.height / 2.0, "middle axis", &self.y.label);
    }
}

struct Entry<'a> {
    series: &'a Series,
    marks: Vec<&'a Mark>,
    x: f64,
    row: usize,
}

/// The plot's own coordinates.
struct Frame {
    x: Fitted,
    y: Fitted,
    height: f64,
}

impl Frame {
    fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.place(x)?, self.height - self.y.place(y)?))
    }

    /// The height of a number, with everything too small at the lower edge.
    fn height_of(&self, y: f64) -> f64 {
        let at = self.y.place(y).unwrap_or(-4.0);
        self.height - at.clamp(-4.0, self.height + 4.0)
    }

    fn draw(&self, canvas: &mut Canvas, series: &Series, mark: &Mark) {
        match mark {
            Mark::Line(points) => {
                let path = path_through(points.iter().map(|&(x, y)| self.at(x, y)));
                draw_line(canvas, series, "line", &path);
            }
            Mark::Joins(points) => {
                let path = path_through(points.iter().map(|&(x, y)| self.at(x, y)));
                draw_line(canvas, series, "line thin", &path);
            }
            Mark::Steps(points) => draw_line(canvas, series, "line", &self.steps(points)),
            Mark::Points(points) => self.points(canvas, series, points),
            Mark::Band(points) => {
                let mut path = String::new();
                let upper = points.iter().map(|p| (p.0, p.2));
                let lower = points.iter().rev().map(|p| (p.0, p.1));
                for (k, (x, y)) in upper.chain(lower).enumerate() {
                    let Some(x) = self.x.place(x) else { continue };
                    let letter = if k == 0 { 'M' } else { 'L' };
                    let _ = write!(path, "{letter}{} {}", place(x), place(self.height_of(y)));
                }
                path.push('Z');
                let class = format!("band {}", series.tone.class());
                canvas.element("path", &[("class", &class), ("d", &path)]);
            }
        }
    }

    fn steps(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        let mut last = None::<(f64, f64)>;
        for &(x, y) in points {
            let Some(x) = self.x.place(x) else { continue };
            let height = self.height_of(y);
            // Equal heights are one stroke.
            match last {
                None => {
                    let _ = write!(path, "M{} {}", place(x), place(height));
                }
                Some((_, before)) if before == height => {}
                Some(_) => {
                    let _ = write!(path, "H{}V{}", place(x), place(height));
                }
            }
            last = Some((x, height));
        }
        if let Some((x, _)) = last {
            let _ = write!(path, "H{}", place(x));
        }
        path
    }

    /// Where an error bar ends below. On a log axis a bar that reaches zero, or nearly, has no end:
    /// an arrow says so, where a long line would look like data.
    fn lower_end(&self, point: &Point) -> Option<f64> {
        const NEARLY: f64 = 0.01;
        let low = point.y - point.error;
        let logarithmic = self.y.place(0.0).is_none();
        (!logarithmic || low >= NEARLY * point.y).then(|| self.height_of(low))
    }

    fn points(&self, canvas: &mut Canvas, series: &Series, points: &[Point]) {
        let class = format!("bar {}", series.tone.class());
        for point in points {
            let Some((x, y)) = self.at(point.x, point.y) else { continue };
            let high = self.height_of(point.y + point.error);
            match self.lower_end(point) {
                Some(low) => canvas.line((x, low), (x, high), &class),
                None => {
                    canvas.line((x, y + ARROW), (x, high), &class);
                    let (x, tip) = (place(x), place(y + ARROW));
                    let d = format!("M{x} {tip}m-2.5 -4l2.5 4l2.5 -4");
                    canvas.element("path", &[("class", &class), ("d", &d)]);
                }
            }
            draw_point(canvas, series, (x, y));
        }
    }
}

fn draw_line(canvas: &mut Canvas, series: &Series, kind: &str, path: &str) {
    let class = format!("{kind} {}", series.tone.class());
    match series.dash.pattern() {
        None => canvas.element("path", &[("class", &class), ("d", &path)]),
        Some(pattern) => {
            let attributes: [(&str, &dyn std::fmt::Display); 3] =
                [("class", &class), ("stroke-dasharray", &pattern), ("d", &path)];
            canvas.element("path", &attributes);
        }
    }
}

fn draw_point(canvas: &mut Canvas, series: &Series, (x, y): (f64, f64)) {
    let (x, y) = (place(x), place(y));
    let d = match series.shape {
        Shape::Circle => format!("M{x} {y}m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z"),
        Shape::Square => format!("M{x} {y}m-2.7 -2.7h5.4v5.4h-5.4Z"),
        Shape::Triangle => format!("M{x} {y}m0 -3.6l3.4 6h-6.8Z"),
        Shape::Diamond => format!("M{x} {y}m0 -3.9l3.9 3.9l-3.9 3.9l-3.9 -3.9Z"),
    };
    canvas.element("path", &[("class", &format!("dot {}", series.tone.class())), ("d", &d)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tone::{Dash, Tone};

    fn chart() -> Chart {
        let points = vec![Point { x: 1.0, y: 0.5, error: 0.6 }];
        Chart::new("ε = 1", Axis::linear("v (nats)"), Axis::log("P(V > v)"))
            .with(
                Series::new("paper", Tone::Blue).dash(Dash::Dashed),
                Mark::Steps(vec![(0.0, 1.0), (1.0, 0.1), (2.0, 0.1), (3.0, 0.0)]),
            )
            .with(Series::new("paper", Tone::Blue), Mark::Points(points))
            .with(Series::new("<chen>", Tone::Vermilion), Mark::Line(vec![(0.0, 1.0), (3.0, 0.0)]))
            .with(
                Series::new("real", Tone::Grey),
                Mark::Band(vec![(0.0, 0.0, 0.5), (3.0, 0.1, 0.2)]),
            )
    }

    #[test]
    fn layers_of_one_name_share_an_entry() {
        let chart = chart();
        let names: Vec<_> = chart.legend().iter().map(|e| e.series.name.clone()).collect();
        assert_eq!(names, ["paper", "<chen>", "real"]);
    }

    #[test]
    fn every_mark_is_drawn_and_text_is_escaped() {
        let svg = chart().to_svg();
        for class in ["line blue", "dot blue", "bar blue", "line vermilion", "band grey", "frame"] {
            assert!(svg.as_str().contains(&format!("class=\"{class}\"")), "{class}");
        }
        assert!(svg.as_str().contains("&lt;chen&gt;") && !svg.as_str().contains("<chen>"));
        assert!(!svg.as_str().contains("NaN") && !svg.as_str().contains("inf"));
        assert_eq!(svg.as_str().matches("<svg").count(), svg.as_str().matches("</svg>").count());
    }

    #[test]
    fn what_a_log_axis_cannot_show_goes_to_its_edge() {
        let y = Axis::log("p").fit([0.01, 1.0].into_iter(), 100.0);
        let x = Axis::linear("v").fit([0.0, 10.0].into_iter(), 100.0);
        let frame = Frame { x, y, height: 100.0 };
        assert_eq!(frame.height_of(0.0), 104.0);
        assert_eq!(frame.steps(&[(0.0, 1.0), (5.0, 0.1), (10.0, 0.0)]), "M0 0H50V50H100V104H100");
        assert_eq!(frame.at(5.0, 0.0), None);
    }

    #[test]
    fn a_bar_that_reaches_zero_ends_in_an_arrow_on_a_log_axis() {
        let bar = |axis: Axis, error: f64| {
            let point = Point { x: 1.0, y: 0.5, error };
            let chart = Chart::new("t", Axis::linear("v"), axis.from(0.001).to(1.0));
            chart.with(Series::new("a", Tone::Blue), Mark::Points(vec![point])).to_svg()
        };
        let arrow = "m-2.5 -4l2.5 4l2.5 -4";
        assert!(bar(Axis::log("p"), 0.6).as_str().contains(arrow));
        assert!(bar(Axis::log("p"), 0.499).as_str().contains(arrow), "nearly");
        assert!(!bar(Axis::log("p"), 0.4).as_str().contains(arrow));
        assert!(!bar(Axis::linear("p"), 0.6).as_str().contains(arrow));
    }

    #[test]
    fn joins_are_thinner_than_lines() {
        let chart = Chart::new("t", Axis::linear("x"), Axis::linear("y"));
        let joins = Mark::Joins(vec![(0.0, 0.0), (1.0, 1.0)]);
        let svg = chart.with(Series::new("a", Tone::Blue), joins).to_svg();
        assert_eq!(svg.as_str().matches("class=\"line thin blue\"").count(), 2, "line and legend");
    }

    #[test]
    fn a_long_legend_takes_another_row() {
        let mut chart = Chart::new("t", Axis::linear("x"), Axis::linear("y"));
        for k in 0..8 {
            let name = format!("a series with a long name, number {k}");
            chart = chart.with(Series::new(name, Tone::Ink), Mark::Line(vec![(0.0, 0.0)]));
        }
        let legend = chart.legend();
        assert!(legend.last().unwrap().row >= 7);
        assert!(legend.iter().all(|entry| entry.x < WIDTH));
    }
}
