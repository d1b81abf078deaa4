//! The tables of losses in a guarantee.

use std::fmt;

use super::block_losses::BlockLosses;
use super::in_words::{steps_in_words, wrapped};
use super::loss::{Coverage, FigureKind};
use super::report::Guarantee;
use super::step_losses::{LossFigures, StepLosses};
use crate::measure::Measure;
use crate::rounding::shown_up;

impl Guarantee {
    pub(super) fn step_loss_lines(
        &self,
        losses: &StepLosses,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        writeln!(f, "Loss of replacing one state{:>26}{:>12}", "worst", "mean")?;
        let rows = [
            ("by a neighbour", &losses.neighbour_loss),
            ("by one that keeps the walk possible", &losses.feasible_loss),
            ("by any other", &losses.substitution_loss),
        ];
        for (name, loss) in rows {
            let LossFigures { max, mean, pairs, figures, .. } = loss;
            let outside = self.beyond_radius(*max);
            let note = match (figures, outside) {
                _ if losses.coverage.is_none() && max.is_infinite() => {
                    writeln!(f, "  {name:<37}{:>14}", "not computed")?;
                    continue;
                }
                _ if losses.coverage.is_some() && *pairs == 0 => {
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
        let per = format!("per {}", self.measure.one());
        let mut rate = |what: &str, loss: f64| {
            writeln!(f, "  {:<37}{:>14}", format!("{per}, {what}"), self.rate(loss))
        };
        rate("any pair", losses.loss_per_nat.exact)?;
        if let Some(within) = losses.loss_per_nat.within_radius.filter(|_| !self.vacuous) {
            rate("within the radius", within)?;
        }
        if let Some(bound) = losses.loss_per_nat.bound {
            rate("bound for this scale", bound)?;
        }
        if let Some(first) = losses.first_state_loss.filter(|_| !self.vacuous) {
            let (name, loss) = match first.per_nat {
                Some(per_nat) => (format!("the first state, {per}"), self.rate(per_nat)),
                None => ("the first state, by any other".to_owned(), shown_up(first.max, 4)),
            };
            writeln!(f, "  {name:<37}{loss:>14}")?;
        }
        // An empty promise loses nothing.
        if !self.vacuous {
            let walk = shown_up(losses.walk_loss.audited, 4);
            let promised = losses.walk_loss.promised;
            writeln!(f, "  {:<37}{walk:>14}  of {promised} promised", "two whole walks")?;
        }
        let compared = match losses.coverage {
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
        if let Some(words) = self.beyond_radius(worst) {
            wrapped(f, &words, "  ")?;
        }
        writeln!(f)
    }

    pub(super) fn block_loss_lines(
        &self,
        losses: &BlockLosses,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let per = format!("per {}", self.measure.one());
        writeln!(f, "Loss of replacing one state{:>26}{per:>12}", "worst")?;
        let rows = [
            ("by one within the radius", &losses.covered_replacement_loss),
            ("by any other", &losses.replacement_loss),
        ];
        for (name, loss) in rows {
            let Some(loss) = loss else { continue };
            let (max, per_nat) = (shown_up(loss.max, 4), self.rate(loss.per_nat));
            let outside = self.beyond_radius(loss.max);
            let note = outside.map_or("", |_| "  (beyond the radius)");
            writeln!(f, "  {name:<37}{max:>14}{per_nat:>12}{note}")?;
        }
        if let Some(bound) = losses.loss_per_nat_bound {
            writeln!(f, "  {:<37}{:>26}", "bound", self.rate(bound))?;
        }
        let epsilon = self.epsilon;
        writeln!(f, "  {:<37}{epsilon:>14}", "two whole walks, promised")?;
        writeln!(f, "  {:<37}{:>14.1e}", "of which rounding may take", losses.rounding_cost)?;
        let compared = match &losses.replacement_loss {
            Some(loss) if losses.block == u32::try_from(loss.steps).ok() => format!(
                "Exact, over all real blocks and last released states. The worst: {} instead of {} \
                 at step {} of {}. Figures are rounded up.",
                loss.other,
                loss.real[loss.step - 1],
                loss.step,
                loss.real.join(", "),
            ),
            Some(loss) => format!(
                "Exact for blocks of {} at the end of a walk, over all real ones and all last \
                 released states; longer blocks are too many to go through, and keep to the bound. \
                 Figures are rounded up.",
                steps_in_words(loss.steps),
            ),
            None => "There are too many blocks to go through for exact losses here; the bound is \
                     proven for all of them."
                .to_owned(),
        };
        wrapped(f, &compared, "  ")?;
        let worst = losses.replacement_loss.as_ref().map_or(0.0, |loss| loss.max);
        if let Some(words) = self.beyond_radius(worst) {
            wrapped(f, &words, "  ")?;
        }
        writeln!(f)
    }
}

impl Guarantee {
    /// A loss for each nat, as one for each of what distances are counted in. Small numbers keep four digits.
    fn rate(&self, loss: f64) -> String {
        let shown = self.measure.shown_rate(loss);
        match shown {
            shown
                if self.measure == Measure::Nats
                    || shown == 0.0
                    || !(0.0..0.1).contains(&shown) =>
            {
                shown_up(shown, 4)
            }
            _ => shown_up(shown, 4 + (-shown.log10().floor() as usize).min(9) - 1),
        }
    }

    /// What is to be said of a loss that is above epsilon; none if it is not. States within the radius
    /// never lose more, so such a loss is always one of states that are farther apart.
    fn beyond_radius(&self, loss: f64) -> Option<String> {
        let epsilon = self.epsilon;
        // Losses are rounded up, and one that uses up epsilon is not above it.
        let above = loss > epsilon * (1.0 + 1e-9);
        let radius = self.radius_nats.filter(|_| above)?;
        Some(format!(
            "A loss above epsilon {epsilon} is one of states that are farther apart than the radius of {}, \
             which the promise does not cover.",
            self.measure.in_words(radius)
        ))
    }
}
