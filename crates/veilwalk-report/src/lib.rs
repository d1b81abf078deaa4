//! Reports that people read: plots as SVG, tables that sort, one HTML file that needs nothing else.
//!
//! This crate knows nothing of walks, files or the terminal. It turns numbers into pictures and
//! puts pictures, tables and prose on a page.
//!
//! - [`Chart`]: lines, points with error bars and bands over two axes, linear or logarithmic;
//! - [`Strips`]: one thing over time, several times over, on a common scale;
//! - [`Map`]: places and the ways between them, with walks drawn over them;
//! - [`Table`]: sorts by a click on a column;
//! - [`Page`]: sections, a list of contents, light and dark.
//!
//! # Why the plots are made by hand
//!
//! A plotting library would draw these charts in fewer lines. But all of them write colours and
//! sizes into the picture, and a page that is light by day and dark by night needs them to be names
//! that the page's style decides. The young ones also put the legend over the data. What is needed
//! here is small: two kinds of axes, three kinds of marks. So it is made here, and tested.
//!
//! ```
//! use veilwalk_report::{Axis, Chart, Mark, Page, Section, Series, Tone};
//!
//! let falling = (0..20).map(|x| (f64::from(x), (-f64::from(x)).exp())).collect();
//! let chart = Chart::new("Decay", Axis::linear("time (s)"), Axis::log("share left"))
//!     .with(Series::new("exact", Tone::Blue), Mark::line(falling));
//! let mut page = Page::new("A report");
//! page.push(Section::new("decay", "Decay").figure(chart.to_svg(), "It falls."));
//! assert!(page.to_html().starts_with("<!doctype html>"));
//! ```

mod axis;
mod chart;
mod map;
mod number;
mod page;
mod strips;
mod svg;
mod table;
mod text;
mod tone;

pub use axis::{Axis, Ticks};
pub use chart::{Chart, Mark, Point};
pub use map::{Label, Map, Route};
pub use number::{chance, counted, estimate, figure, percent, power_of_ten, thousands};
pub use page::{Page, Section};
pub use strips::Strips;
pub use svg::{Svg, side_by_side};
pub use table::{Cell, Table};
pub use text::{escape, prose};
pub use tone::{Dash, Series, Shape, Tone};
