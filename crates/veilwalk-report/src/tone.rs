//! Colours by name, lines by pattern, points by shape: each tells series apart without the others.
//!
//! The colours are those of Okabe and Ito, which people with any kind of colour vision can tell
//! apart. A picture only says which one: the page's style has the values, since two of them need a
//! lighter relative on a dark page.

/// A colour that the page's style knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// Orange red.
    Vermilion,
    /// Blue.
    Blue,
    /// Bluish green.
    Green,
    /// Reddish purple.
    Purple,
    /// The colour of text.
    Ink,
    /// Between ink and paper.
    Grey,
}

impl Tone {
    /// The class that the page's style gives the colour to.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::Vermilion => "vermilion",
            Self::Blue => "blue",
            Self::Green => "green",
            Self::Purple => "purple",
            Self::Ink => "ink",
            Self::Grey => "grey",
        }
    }
}

/// How a line is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    /// Not at all.
    #[default]
    Solid,
    /// Long dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// Dashes and dots.
    DashDot,
}

impl Dash {
    pub(crate) const fn pattern(self) -> Option<&'static str> {
        match self {
            Self::Solid => None,
            Self::Dashed => Some("6 3"),
            Self::Dotted => Some("1.5 2.5"),
            Self::DashDot => Some("7 2.5 1.5 2.5"),
        }
    }
}

/// How a point is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A circle.
    #[default]
    Circle,
    /// A square.
    Square,
    /// A triangle.
    Triangle,
    /// A square on its corner.
    Diamond,
}

/// What belongs together in a chart, and has one entry in its legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    pub(crate) name: String,
    pub(crate) tone: Tone,
    pub(crate) dash: Dash,
    pub(crate) shape: Shape,
}

impl Series {
    /// A series with a solid line and round points.
    #[must_use]
    pub fn new(name: impl Into<String>, tone: Tone) -> Self {
        Self { name: name.into(), tone, dash: Dash::Solid, shape: Shape::Circle }
    }

    /// The same with a broken line.
    #[must_use]
    pub fn dash(self, dash: Dash) -> Self {
        Self { dash, ..self }
    }

    /// The same with other points.
    #[must_use]
    pub fn shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }
}
