//! The guarantee in plain words, for a reader who knows nothing of nats.

use std::fmt;

use super::block_losses::BlockLosses;
use super::cover::{percent_down, smallest_radius};
use super::example::{Covered, Example};
use super::report::{Guarantee, LossReport, ScaleInForce};
use crate::measure::Measure;
use crate::rounding::shown_up;

const WIDTH: usize = 96;

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        paragraph(f, &self.promise())?;
        match &self.losses {
            LossReport::Steps(losses) => {
                paragraph(f, &self.meaning())?;
                if let Some(example) = &losses.example {
                    paragraph(f, &example.sentence())?;
                }
            }
            LossReport::Blocks(losses) => {
                paragraph(f, &losses.delay())?;
                paragraph(f, &self.meaning())?;
            }
        }
        // An empty promise says nothing at all, so there is nothing that it does not say.
        if let Some(stays) = self.stays.filter(|_| !self.vacuous) {
            paragraph(f, &stays.in_words(self.substitutions))?;
            paragraph(f, CORRELATED)?;
        }
        self.cover_lines(f)?;
        match &self.losses {
            LossReport::Steps(losses) => self.step_loss_lines(losses, f)?,
            LossReport::Blocks(losses) => self.block_loss_lines(losses, f)?,
        }
        if !self.vacuous {
            self.release_lines(f)?;
        }
        self.radius_lines(f)
    }
}

const CORRELATED: &str = "Factors compare two walks that are given in full. They do not bound what \
     somebody who knows the chain learns about a single state: states of a walk are correlated, and \
     each released state tells about those before and after it, too.";

impl Guarantee {
    fn promise(&self) -> String {
        let unit = match (self.radius_nats, self.substitutions) {
            (Some(radius), _) => {
                format!("within a radius of {}", self.measure.in_words(radius))
            }
            (_, Some(1)) => "for one replaced state".to_owned(),
            (_, b) => format!("for {} replaced states", b.unwrap_or(0)),
        };
        let (mechanism, epsilon, states) = (&self.mechanism, self.epsilon, self.states);
        format!("{mechanism}: epsilon {epsilon} {unit}, on a chain of {states} states.")
    }

    fn meaning(&self) -> String {
        let factor = factor_words(self.epsilon.exp());
        match self.radius_nats {
            Some(radius) if self.vacuous => format!(
                "This guarantee is EMPTY. It speaks of walks whose states differ by at most {} \
                 in all, and no two states of this chain are that close{}.",
                self.measure.in_words(radius),
                match self.suggested_radii {
                    Some(radii) => format!(
                        ": the closest two are {} apart. Choose a radius of at least {}",
                        self.measure.distance(radii.something),
                        smallest_radius(radii.something, self.measure)
                    ),
                    None => ": there is only one".to_owned(),
                }
            ),
            Some(radius) => format!(
                "Two walks are protected from being told apart when their states differ by at most {} \
                 in all. {} Whatever someone \
                 believed about two such walks before, the release changes the odds between them \
                 by at most a factor {factor}.",
                self.measure.in_words(radius),
                self.near(radius)
            ),
            None if self.vacuous => {
                "This guarantee is EMPTY: the chain has only one state.".to_owned()
            }
            None => format!(
                "Two walks are protected from being told apart when they differ in at most {} of \
                 their states, whichever these are. Whatever someone believed about two such walks \
                 before, the release changes the odds between them by at most a factor {factor}.",
                self.substitutions.unwrap_or(0)
            ),
        }
    }

    /// What it means that two states are near each other.
    fn near(&self, radius: f64) -> String {
        match (self.measure, self.metric.as_deref()) {
            (Measure::Nats, _) => format!(
                "Two states are that close when each can be reached from the other by moves whose \
                 chances multiply to 1 in {} or better.",
                factor_words(radius.exp())
            ),
            (_, Some("street")) => {
                "How far two states are apart is the length of the shortest way \
                 along the streets, whatever direction they are for."
                    .to_owned()
            }
            (_, Some("line")) => {
                "How far two states are apart is the length of the straight line between them."
                    .to_owned()
            }
            (_, Some("plane")) => {
                "How far two states are apart is the length of the straight line \
                 between the lattice points that they are at."
                    .to_owned()
            }
            _ => "How far two states are apart is said by the table of distances that was given."
                .to_owned(),
        }
    }

    fn cover_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, alternatives, .. } = *self;
        let all_pairs = states as u64 * (states as u64 - 1) / 2;
        writeln!(f, "Who is covered")?;
        let covered = (self.covered_states * states as f64).round() as usize;
        let share = format!("{covered} of {states} ({} %)", percent_down(covered, states));
        line(f, "states with an alternative", &share)?;
        line(f, "pairs of states", &format!("{} of {all_pairs}", self.covered_pairs))?;
        let typical = format!("{}, mean {:.1}", alternatives.median, alternatives.mean);
        line(f, "alternatives of a typical state", &typical)?;
        let scale = match self.scale {
            ScaleInForce::Uniform(scale) => format!("{:.7}", self.measure.shown_rate(scale)),
            ScaleInForce::PerState { min, max } => {
                let (min, max) = (self.measure.shown_rate(min), self.measure.shown_rate(max));
                format!("{min:.7} to {max:.7}, by the last released state")
            }
        };
        line(f, "scale", &scale)?;
        writeln!(f)
    }

    fn release_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "One person's walks and releases add up")?;
        for release in &self.releases {
            let times = match release.times {
                1 => "one walk, released once".to_owned(),
                times => format!("{times} walks, or one {times} times"),
            };
            line(f, &times, &format!("epsilon {}", release.epsilon))?;
        }
        writeln!(f)
    }

    fn radius_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(radii) = self.radius_nats.and(self.suggested_radii) else { return Ok(()) };
        writeln!(f, "Radii worth choosing, in {}", self.measure.name())?;
        for (name, nats) in radii.list() {
            line(f, name, &smallest_radius(nats, self.measure).to_string())?;
        }
        Ok(())
    }
}

impl BlockLosses {
    fn delay(&self) -> String {
        let what = match self.block {
            Some(1) => "Each step is released by itself.".to_owned(),
            Some(steps) => format!(
                "Steps are released {steps} at a time, so that a state is answered up to {} \
                 late. The guarantee is the same as without the delay.",
                steps_in_words(steps as usize - 1)
            ),
            None => format!(
                "A walk is released when it is over, as a whole. It may have up to {} steps; longer \
                 ones are refused. The guarantee is the same as one step at a time.",
                self.longest_walk.unwrap_or(0)
            ),
        };
        if self.block == Some(1) { what } else { format!("{what} {}", self.borders) }
    }
}

impl Example {
    fn sentence(&self) -> String {
        let (real, other, factor) = (&self.real, &self.other, factor_words(self.odds_factor));
        let walks = format!(
            "two walks that differ in the third state only, {real} in one and {other} in the other"
        );
        let tells = match (self.covered, self.odds_factor) {
            (Covered::Yes, factor) if factor <= 4.0 => "can hardly tell",
            (Covered::Yes, factor) if factor <= 25.0 => "can tell to some degree",
            (Covered::Yes, _) => "may well be able to tell",
            (Covered::No, _) => {
                return format!(
                    "For example, nothing is promised about {walks}. (What this mechanism gives all \
                     the same: the odds between the two walks change by at most a factor {factor}.)"
                );
            }
        };
        format!(
            "For example, take {walks}. Someone who sees the release {tells} which of the two was \
             real: the odds between them change by at most a factor {factor}."
        )
    }
}

/// A factor with about three digits, rounded up.
fn factor_words(factor: f64) -> String {
    match factor {
        f if f < 10.0 => shown_up(f, 2),
        f if f < 100.0 => shown_up(f, 1),
        f if f < 1e6 => shown_up(f, 0),
        f if f.is_finite() => {
            let power = f.log10().floor();
            format!("{} · 10^{power}", shown_up(f / 10f64.powf(power), 1))
        }
        _ => "beyond all bounds".to_owned(),
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    writeln!(f, "  {name:<37}{value}")
}

pub(super) fn paragraph(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    wrapped(f, text, "")?;
    writeln!(f)
}

/// Breaks a text between words.
pub(super) fn wrapped(f: &mut fmt::Formatter<'_>, text: &str, indent: &str) -> fmt::Result {
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > WIDTH {
            writeln!(f)?;
            used = 0;
        }
        if used == 0 {
            write!(f, "{indent}{word}")?;
            used = indent.len() + length;
        } else {
            write!(f, " {word}")?;
            used += 1 + length;
        }
    }
    writeln!(f)
}

pub(super) fn steps_in_words(steps: usize) -> String {
    if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") }
}
