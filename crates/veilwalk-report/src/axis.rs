//! Axes: from numbers to places, and where the ticks are.

use crate::number::power_of_ten;

/// An axis with a label; its range may be left to the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) kind: Kind,
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
    pub(crate) ticks: Ticks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Linear,
    Log,
}

/// How the numbers at the ticks are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ticks {
    /// As numbers.
    #[default]
    Numbers,
    /// Shares as percent.
    Percent,
}

impl Axis {
    /// An axis on which equal steps are equal differences. The label should name the unit.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        let ticks = Ticks::Numbers;
        Self { label: label.into(), kind: Kind::Linear, from: None, to: None, ticks }
    }

    /// An axis on which equal steps are equal factors. Numbers that are not positive are not
    /// drawn.
    #[must_use]
    pub fn log(label: impl Into<String>) -> Self {
        Self { kind: Kind::Log, ..Self::linear(label) }
    }

    /// The same from here at the least.
    #[must_use]
    pub fn from(self, from: f64) -> Self {
        Self { from: Some(from), ..self }
    }

    /// The same up to here.
    #[must_use]
    pub fn to(self, to: f64) -> Self {
        Self { to: Some(to), ..self }
    }

    /// The same with its ticks written in another way.
    #[must_use]
    pub fn ticks(self, ticks: Ticks) -> Self {
        Self { ticks, ..self }
    }

    /// The axis with a range that holds these numbers, laid along `length`.
    pub(crate) fn fit(&self, numbers: impl Iterator<Item = f64>, length: f64) -> Fitted {
        let usable = |v: &f64| v.is_finite() && (self.kind == Kind::Linear || *v > 0.0);
        let (least, most) = numbers
            .filter(usable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        let fallback = match self.kind {
            Kind::Linear => (0.0, 1.0),
            Kind::Log => (0.1, 1.0),
        };
        let (least, most) = if least > most { fallback } else { (least, most) };
        let (mut from, mut to) = (self.from.unwrap_or(least), self.to.unwrap_or(most));
        match self.kind {
            Kind::Log => {
                // Whole decades, and at least one.
                from = 10f64.powf((from.log10() + 1e-9).floor());
                to = 10f64.powf((to.log10() - 1e-9).ceil()).max(from * 10.0);
            }
            Kind::Linear => {
                if to <= from {
                    to = from + if from == 0.0 { 1.0 } else { from.abs() };
                }
                let step = nice_step(to - from, 5.0);
                if self.from.is_none() {
                    from = (from / step + 1e-9).floor() * step;
                }
                if self.to.is_none() {
                    to = (to / step - 1e-9).ceil() * step;
                }
            }
        }
        Fitted { kind: self.kind, from, to, length, ticks: self.ticks }
    }
}

/// An axis whose range is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fitted {
    kind: Kind,
    pub(crate) from: f64,
    pub(crate) to: f64,
    length: f64,
    ticks: Ticks,
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    /// Empty for a mark between two numbers.
    pub(crate) label: String,
}

impl Fitted {
    /// How far along the axis a number is; none for numbers that it cannot show.
    pub(crate) fn place(&self, number: f64) -> Option<f64> {
        let share = match self.kind {
            Kind::Linear => (number - self.from) / (self.to - self.from),
            Kind::Log if number <= 0.0 => return None,
            Kind::Log => (number / self.from).ln() / (self.to / self.from).ln(),
        };
        share.is_finite().then_some(share * self.length)
    }

    /// The ticks, no more labelled ones than are readable.
    pub(crate) fn ticks(&self, most: usize) -> Vec<Tick> {
        match self.kind {
            Kind::Linear => self.linear_ticks(most),
            Kind::Log => self.log_ticks(most),
        }
    }

    fn linear_ticks(&self, most: usize) -> Vec<Tick> {
        let step = nice_step(self.to - self.from, most as f64);
        let first = (self.from / step - 1e-9).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        let values = (first..=last).map(|k| k as f64 * step);
        let (factor, unit) = match self.ticks {
            Ticks::Numbers => (1.0, ""),
            Ticks::Percent => (100.0, " %"),
        };
        let decimals = (-(step * factor).log10().floor()).max(0.0) as usize;
        let label = |v: f64| {
            let text = format!("{:.decimals$}{unit}", v.abs() * factor);
            if v < -1e-12 { format!("−{text}") } else { text }
        };
        values.map(|v| Tick { at: self.place(v).unwrap_or(0.0), label: label(v) }).collect()
    }

    fn log_ticks(&self, most: usize) -> Vec<Tick> {
        let first = self.from.log10().round() as i32;
        let last = self.to.log10().round() as i32;
        let every = ((last - first) as usize).div_ceil(most.max(1)).max(1) as i32;
        let mut ticks = Vec::new();
        for exponent in first..=last {
            let value = 10f64.powi(exponent);
            // Counted from the top, so that one is always among the labelled ones.
            let labelled = (last - exponent) % every == 0;
            let label = if labelled { self.decade(exponent) } else { String::new() };
            ticks.push(Tick { at: self.place(value).unwrap_or(0.0), label });
            if exponent < last && last - first <= 3 {
                let between = (2..=9).filter_map(|k| self.place(value * f64::from(k)));
                ticks.extend(between.map(|at| Tick { at, label: String::new() }));
            }
        }
        ticks
    }

    fn decade(&self, exponent: i32) -> String {
        match exponent {
            0 => "1".to_owned(),
            _ => power_of_ten(exponent),
        }
    }
}

/// The step of 1, 2 or 5 times a power of ten that makes at most so many intervals.
fn nice_step(range: f64, most: f64) -> f64 {
    let raw = range / most.max(1.0);
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|s| s * power >= raw * (1.0 - 1e-9));
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, data: &[f64], most: usize) -> Vec<String> {
        let fitted = axis.fit(data.iter().copied(), 100.0);
        let ticks = fitted.ticks(most).into_iter();
        ticks.map(|t| t.label).filter(|l| !l.is_empty()).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(
            labels(&Axis::linear("x"), &[0.0, 100.0], 5),
            ["0", "20", "40", "60", "80", "100"]
        );
        assert_eq!(
            labels(&Axis::linear("x"), &[0.0, 0.31], 4),
            ["0.0", "0.1", "0.2", "0.3", "0.4"]
        );
        assert_eq!(
            labels(&Axis::linear("x"), &[-1.0, 1.0], 4),
            ["−1.0", "−0.5", "0.0", "0.5", "1.0"]
        );
        let shares = Axis::linear("x").from(0.0).to(1.0).ticks(Ticks::Percent);
        assert_eq!(labels(&shares, &[], 4), ["0 %", "50 %", "100 %"]);
    }

    #[test]
    fn decades_are_labelled_and_thinned() {
        assert_eq!(labels(&Axis::log("p"), &[0.02, 0.9], 6), ["10⁻²", "10⁻¹", "1"]);
        let deep = labels(&Axis::log("p"), &[3e-9, 1.0], 5);
        assert_eq!(deep, ["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1"]);
    }

    #[test]
    fn a_range_is_never_empty() {
        for axis in [Axis::linear("x"), Axis::log("x")] {
            for data in [&[][..], &[0.0], &[5.0, 5.0], &[f64::NAN, f64::INFINITY]] {
                let fitted = axis.fit(data.iter().copied(), 100.0);
                assert!(fitted.to > fitted.from, "{axis:?} {data:?} {fitted:?}");
                assert!(!fitted.ticks(5).is_empty());
            }
        }
    }

    #[test]
    fn ends_are_at_the_ends() {
        let log = Axis::log("p").fit([1e-3, 1.0].into_iter(), 90.0);
        assert!((log.place(1e-3).unwrap()).abs() < 1e-9);
        assert!((log.place(1.0).unwrap() - 90.0).abs() < 1e-9);
        assert!((log.place(1e-2).unwrap() - 30.0).abs() < 1e-9);
        assert_eq!(log.place(0.0), None);
    }
}
