//! The guarantee in plain words, for a reader who knows nothing of nats.

use std::fmt;

use super::cover::{SuggestedRadii, percent_down, radius_reaching};
use super::example::{Covered, Example};
use super::loss::{Coverage, FigureKind};
use super::report::{Alternatives, Guarantee, LossFigures, Release, ScaleInForce};
use super::stay::Stays;
use crate::nats::in_nats;
use crate::rounding::shown_up;

const WIDTH: usize = 96;

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let promised = Promised {
            mechanism: &self.mechanism,
            epsilon: self.epsilon,
            radius_nats: self.radius_nats,
            substitutions: self.substitutions,
            states: self.states,
            vacuous: self.vacuous,
            suggested_radii: self.suggested_radii,
        };
        paragraph(f, &promised.promise())?;
        paragraph(f, &promised.meaning())?;
        if let Some(example) = &self.example {
            paragraph(f, &example.sentence())?;
        }
        promised.limits(f, self.stays)?;
        let scale = match self.scale {
            ScaleInForce::Uniform(scale) => format!("{scale:.7}"),
            ScaleInForce::PerState { min, max } => {
                format!("{min:.7} to {max:.7}, by the last released state")
            }
        };
        let covered = (self.covered_states, self.covered_pairs);
        cover_lines(f, self.states, covered, self.alternatives, &scale)?;
        self.loss_lines(f)?;
        if !self.vacuous {
            release_lines(f, &self.releases)?;
        }
        radius_lines(f, self.radius_nats.and(self.suggested_radii))
    }
}

/// What is promised, whatever keeps it.
pub(super) struct Promised<'a> {
    pub(super) mechanism: &'a str,
    pub(super) epsilon: f64,
    pub(super) radius_nats: Option<f64>,
    pub(super) substitutions: Option<u32>,
    pub(super) states: usize,
    pub(super) vacuous: bool,
    pub(super) suggested_radii: Option<SuggestedRadii>,
}

impl Promised<'_> {
    pub(super) fn promise(&self) -> String {
        let unit = match (self.radius_nats, self.substitutions) {
            (Some(radius), _) => format!("within a radius of {}", in_nats(radius)),
            (_, Some(1)) => "for one replaced state".to_owned(),
            (_, b) => format!("for {} replaced states", b.unwrap_or(0)),
        };
        let (mechanism, epsilon, states) = (&self.mechanism, self.epsilon, self.states);
        format!("{mechanism}: epsilon {epsilon} {unit}, on a chain of {states} states.")
    }

    pub(super) fn meaning(&self) -> String {
        let factor = factor_words(self.epsilon.exp());
        match self.radius_nats {
            Some(radius) if self.vacuous => format!(
                "This guarantee is EMPTY. It speaks of walks whose states differ by at most {} \
                 in all, and no two states of this chain are that close{}.",
                in_nats(radius),
                match self.suggested_radii {
                    Some(radii) => format!(
                        ": the closest two are {} apart. Choose a radius of at least {}",
                        in_nats(radii.something),
                        radius_reaching(radii.something)
                    ),
                    None => ": there is only one".to_owned(),
                }
            ),
            Some(radius) => format!(
                "Two walks are protected from being told apart when their states differ by at most {} \
                 in all. Two states are that close when each can be reached from \
                 the other by moves whose chances multiply to 1 in {} or better. Whatever someone \
                 believed about two such walks before, the release changes the odds between them \
                 by at most a factor {factor}.",
                in_nats(radius),
                factor_words(radius.exp())
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

    /// What the promise does not say; nothing of an empty one, which says nothing at all.
    pub(super) fn limits(&self, f: &mut fmt::Formatter<'_>, stays: Option<Stays>) -> fmt::Result {
        let Some(stays) = stays.filter(|_| !self.vacuous) else { return Ok(()) };
        paragraph(f, &stays.in_words(self.substitutions))?;
        paragraph(f, CORRELATED)
    }
}

const CORRELATED: &str = "Factors compare two walks that are given in full. They do not bound what \
     somebody who knows the chain learns about a single state: states of a walk are correlated, and \
     each released state tells about those before and after it, too.";

pub(super) fn cover_lines(
    f: &mut fmt::Formatter<'_>,
    states: usize,
    (covered_states, covered_pairs): (f64, u64),
    alternatives: Alternatives,
    scale: &str,
) -> fmt::Result {
    let all_pairs = states as u64 * (states as u64 - 1) / 2;
    writeln!(f, "Who is covered")?;
    let covered = (covered_states * states as f64).round() as usize;
    let share = format!("{covered} of {states} ({} %)", percent_down(covered, states));
    line(f, "states with an alternative", &share)?;
    line(f, "pairs of states", &format!("{covered_pairs} of {all_pairs}"))?;
    let typical = format!("{}, mean {:.1}", alternatives.median, alternatives.mean);
    line(f, "alternatives of a typical state", &typical)?;
    line(f, "scale", scale)?;
    writeln!(f)
}

impl Guarantee {
    fn loss_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Loss of replacing one state{:>26}{:>12}", "worst", "mean")?;
        let rows = [
            ("by a neighbour", &self.neighbour_loss),
            ("by one that keeps the walk possible", &self.feasible_loss),
            ("by any other", &self.substitution_loss),
        ];
        for (name, loss) in rows {
            let LossFigures { max, mean, pairs, figures, .. } = loss;
            let outside = beyond_radius(self.radius_nats, self.epsilon, *max);
            let note = match (figures, outside) {
                _ if self.coverage.is_none() && max.is_infinite() => {
                    writeln!(f, "  {name:<37}{:>14}", "not computed")?;
                    continue;
                }
                _ if self.coverage.is_some() && *pairs == 0 => {
                    writeln!(f, "  {name:<37}{:>14}  (no such pair)", "not covered")?;
                    continue;
                }
                (FigureKind::Exact, None) => "",
                (FigureKind::Exact, Some(_)) => "  (beyond the radius)",
                (FigureKind::UpperBound, None) => "  (bounds)",
                (FigureKind::UpperBound, Some(_)) => "  (bounds, beyond the radius)",
            };
            let (max, mean) = (shown_up(*max, 4), shown_up(*mean, 4));
            writeln!(f, "  {name:<37}{max:>14}{mean:>12}{note}")?;
        }
        let per_nat = shown_up(self.loss_per_nat.exact, 4);
        writeln!(f, "  {:<37}{per_nat:>14}", "per nat, any pair")?;
        if let Some(within) = self.loss_per_nat.within_radius.filter(|_| !self.vacuous) {
            writeln!(f, "  {:<37}{:>14}", "per nat, within the radius", shown_up(within, 4))?;
        }
        if let Some(bound) = self.loss_per_nat.bound {
            writeln!(f, "  {:<37}{:>14}", "per nat, bound for this scale", shown_up(bound, 4))?;
        }
        // Of an empty promise there is nothing to tell.
        if !self.vacuous {
            let walk = shown_up(self.walk_loss.audited, 4);
            let promised = self.walk_loss.promised;
            writeln!(f, "  {:<37}{walk:>14}  of {promised} promised", "two whole walks")?;
        }
        let compared = match self.coverage {
            None => {
                "The chain is too large to compare its states; these are the bounds that are proven. \
                 Figures are rounded up."
            }
            Some(Coverage::AllPairs) => "Every two states were compared. Figures are rounded up.",
            Some(Coverage::TransitionsOnly) => {
                "The ends of all transitions were compared; what is marked as bounds follows from \
                 them. Figures are rounded up."
            }
        };
        wrapped(f, compared, "  ")?;
        let known = rows.iter().map(|(_, loss)| loss.max).filter(|max| max.is_finite());
        let worst = known.fold(0.0, f64::max);
        if let Some(words) = beyond_radius(self.radius_nats, self.epsilon, worst) {
            wrapped(f, &words, "  ")?;
        }
        writeln!(f)
    }
}

/// What is to be said of a loss that is above epsilon; none if it is not. States within the radius
/// never lose more, so such a loss is always one of states that are farther apart.
pub(super) fn beyond_radius(radius: Option<f64>, epsilon: f64, loss: f64) -> Option<String> {
    // Losses are rounded up, and one that uses up epsilon is not above it.
    let above = loss > epsilon * (1.0 + 1e-9);
    let radius = radius.filter(|_| above)?;
    Some(format!(
        "A loss above epsilon {epsilon} is one of states that are farther apart than the radius of {}, \
         which the promise does not cover.",
        in_nats(radius)
    ))
}

pub(super) fn release_lines(f: &mut fmt::Formatter<'_>, releases: &[Release]) -> fmt::Result {
    writeln!(f, "One person's walks and releases add up")?;
    for release in releases {
        let times = match release.times {
            1 => "one walk, released once".to_owned(),
            times => format!("{times} walks, or one {times} times"),
        };
        line(f, &times, &format!("epsilon {}", release.epsilon))?;
    }
    writeln!(f)
}

pub(super) fn radius_lines(
    f: &mut fmt::Formatter<'_>,
    radii: Option<SuggestedRadii>,
) -> fmt::Result {
    let Some(radii) = radii else { return Ok(()) };
    writeln!(f, "Radii worth choosing, in nats")?;
    for (name, nats) in radii.list() {
        line(f, name, &radius_reaching(nats).to_string())?;
    }
    Ok(())
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
