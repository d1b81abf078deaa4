//! What a ledger records of a release besides ε: the loss of one replaced state, and whether the loss grows
//! with the distance. The ledger needs both to add losses in different units.
//!
//! # Privacy
//!
//! **The loss of one replaced state.** Let two real walks differ in one state. The figure here is an
//! upper bound on the log-ratio of the probabilities of any release from the two, whichever states
//! they are. Every real state enters one factor of the release's probability, so walks that differ in
//! `k` states lose at most `k` times as much. The bound is the least of those that hold:
//!
//! - *b substitutions*: `ε/b`. The scale of the theorem is `ε` over `b` times (twice) the most that a
//!   replaced state can change the distance, a calibrated scale keeps the largest loss of a pair within
//!   `ε/b` ([`calibrate`](super::calibrate())), and cells keep the loss of each substitution within it.
//!   In blocks, `b` times the rounding of one block is taken off ε first.
//! - *the proof's rate*: a replaced state changes the distance by at most the symmetric distance of the
//!   two states (by one, for the 0/1 distance), and each rule at most doubles `η` times that. So the
//!   loss is at most `2η·D`, with `D` the largest distance there is; for cells with a certificate,
//!   `(ε/ρ)·D`. A block adds the rounding of its messages once. Where there is no table of all
//!   distances, `D` is at most twice the largest symmetric distance from any one state, by the
//!   triangle inequality.
//! - *the audit*: the largest exact loss over all pairs, rounded up, where comparing all pairs takes
//!   less than about a second.
//!
//! **A loss that is linear in the distance.** A promise of ε within a radius ρ says nothing of walks
//! that are farther apart, unless the loss is known to be at most `(ε/ρ)·d` for walks at distance `d`.
//! It is for the theorem's scale, because the bounds of all steps are linear in the distance and add
//! up, and for cells, whose certificate holds for all pairs. It is not for a scale found by audit, which
//! looks at pairs within the radius only; nor for the 0/1 distance, where the number of replaced states
//! is `⌊ρ/m⌋`, which may more than double when ρ doubles; nor for blocks of a fixed number of steps,
//! whose rounding is paid that many times. A block that is the whole walk pays for rounding once, so
//! for `d ≥ ρ` its loss is linear.

use super::loss::{Coverage, Effort, audited_loss};
use crate::chain::StateId;
use crate::mechanism::scale::theorem_scale;
use crate::mechanism::{
    Allowance, BlockLength, Blocks, ChainWeight, Distance, Mechanism, Promise, Rule, Start, Unit,
};
use crate::model::Model;
use crate::nats::Nats;
use crate::rational::Rational;
use crate::rounding::{add_up, divide_up};
use crate::watch::unwatched;

/// What may be spent on the exact loss: about a second.
const EFFORT: Effort = Effort::comparisons(1_000_000_000);

/// What a ledger has to know of a mechanism to add its releases to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// What is promised.
    pub promise: Promise,
    /// At least the loss of replacing one real state by any other. `None` if it is above a million, or
    /// cannot be bounded.
    pub one_state: Option<Rational>,
    /// Whether walks at `d ≥ ρ` nats lose at most `(ε/ρ)·d`. Of no meaning for substitutions.
    pub linear: bool,
    /// At least the loss of replacing the first state of a walk that starts privately.
    first_state: Option<Rational>,
}

impl Price {
    /// The price of a walk; `None` if the mechanism makes no promise.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use veilwalk::guarantee::Price;
    /// use veilwalk::Rational;
    /// use veilwalk::{Chain, Mechanism, Model, Preset, Promise};
    ///
    /// let model = Arc::new(Model::new(Chain::credit())?);
    /// let promise = Promise::for_substitutions("1".parse()?, 2.try_into()?);
    /// let chen = Mechanism::new(model, Preset::Chen.design(), promise)?;
    /// assert_eq!(Price::of(&chen).unwrap().one_state, Rational::new(1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of(mechanism: &Mechanism) -> Option<Self> {
        let promise = mechanism.promise()?;
        let price = match mechanism.blocks() {
            None => Self::of_steps(mechanism, promise),
            Some(blocks) => Self::of_blocks(mechanism, blocks, promise),
        };
        if mechanism.observation().is_some() {
            // The first state is observed like every other.
            return Some(Self { first_state: price.one_state, ..price });
        }
        let first_state = mechanism.first_state_rate().and_then(|rate| match rate {
            Allowance::PerState(rate) => Some(rate),
            Allowance::PerNat(rate) => {
                let most = double_up(rate) * largest_distance(mechanism.model());
                Rational::at_least(most.next_up())
            }
        });
        Some(Self { first_state, ..price })
    }

    /// The price of a walk that starts so: with a private start, the replaced state may be the first one.
    #[must_use]
    pub fn starting(self, start: Start) -> Self {
        if start != Start::Private {
            return self;
        }
        let one_state = self.one_state.zip(self.first_state).map(|(steps, first)| steps.max(first));
        Self { one_state, ..self }
    }

    fn of_steps(mechanism: &Mechanism, promise: Promise) -> Self {
        let linear = match promise.unit {
            Unit::Substitutions(_) => true,
            Unit::Radius(_) => rate_is_proven(mechanism, promise),
        };
        let one_state = match promise.unit {
            Unit::Substitutions(b) => share(promise, b.get()),
            Unit::Radius(_) => {
                let bound = by_rate(mechanism, promise);
                Rational::at_least(audited(mechanism).map_or(bound, |exact| exact.min(bound)))
            }
        };
        Self { promise, one_state, linear, first_state: None }
    }

    fn of_blocks(mechanism: &Mechanism, blocks: &Blocks, promise: Promise) -> Self {
        let by_nats = mechanism.design().distance != Distance::Hamming;
        let linear = match (promise.unit, blocks.length()) {
            (Unit::Substitutions(_), _) | (Unit::Radius(_), BlockLength::Whole { .. }) => by_nats,
            (Unit::Radius(_), BlockLength::Steps(steps)) => by_nats && steps.get() == 1,
        };
        let one_state = match promise.unit {
            Unit::Substitutions(b) => share(promise, b.get()),
            Unit::Radius(_) => {
                let change = if by_nats { largest_distance(mechanism.model()) } else { 1.0 };
                let rate = 2.0 * double_up(mechanism.scale(StateId::new(0)).eta());
                let rounding = (2.0 * blocks.log_law_error()).next_up();
                Rational::at_least(add_up((rate * change).next_up(), rounding))
            }
        };
        Self { promise, one_state, linear, first_state: None }
    }
}

/// `ε/b`, rounded up if it does not fit.
fn share(promise: Promise, b: u32) -> Option<Rational> {
    promise.epsilon.value().multiply_rounding_up(Rational::new(1, b.into())?)
}

/// Whether the general proof or a certificate bounds the loss for each nat by ε over the radius.
fn rate_is_proven(mechanism: &Mechanism, promise: Promise) -> bool {
    let design = mechanism.design();
    if mechanism.certificate().is_some() || mechanism.observation().is_some() {
        return true;
    }
    if design.distance == Distance::Hamming {
        return false;
    }
    let largest = mechanism.model().chain().states().map(|z| mechanism.scale(z).eta()).max();
    let proven = theorem_scale(mechanism.model(), design, promise);
    matches!((largest, proven), (Some(largest), Ok(proven)) if largest <= proven)
}

/// What the proof bounds the loss of one replaced state by.
fn by_rate(mechanism: &Mechanism, promise: Promise) -> f64 {
    let (design, model) = (mechanism.design(), mechanism.model());
    let etas = model.chain().states().map(|z| mechanism.scale(z).eta());
    let eta = double_up(etas.max().unwrap_or(Rational::ZERO));
    let (rate, change) = match (design.distance, promise.unit) {
        (Distance::Hamming, _) => {
            let single =
                design.rule == Rule::Exponential && design.chain_weight == ChainWeight::ZERO;
            (if single { eta } else { 2.0 * eta }, 1.0)
        }
        (_, Unit::Radius(radius))
            if mechanism.certificate().is_some() || mechanism.observation().is_some() =>
        {
            let radius = double_down(radius.value());
            (divide_up(double_up(promise.epsilon.value()), radius), largest_distance(model))
        }
        _ => (2.0 * eta, largest_distance(model)),
    };
    (rate * change).next_up()
}

/// The largest exact loss of all pairs, where that is affordable.
fn audited(mechanism: &Mechanism) -> Option<f64> {
    mechanism.model().require_tables().ok()?;
    if EFFORT.coverage(mechanism) != Coverage::AllPairs {
        return None;
    }
    audited_loss(mechanism, EFFORT, &unwatched).ok().map(|losses| losses.any.max)
}

/// At least the largest symmetric distance of two states, in nats.
fn largest_distance(model: &Model) -> f64 {
    let units = match model.searches() {
        None => u64::from(model.diameter().distance.units()),
        Some(searches) => {
            let states: Vec<StateId> = model.chain().states().collect();
            let mut around = vec![Nats::ZERO; states.len()];
            searches.fill_symmetric(&states, StateId::new(0), &mut around);
            2 * around.iter().map(|d| u64::from(d.units())).max().unwrap_or(0)
        }
    };
    // Both are powers of two or below 2⁵³: exact.
    units as f64 / f64::from(Nats::PER_NAT)
}

/// At least this fraction: three roundings.
fn double_up(value: Rational) -> f64 {
    value.as_f64() * (1.0 + 4.0 * f64::EPSILON)
}

fn double_down(value: Rational) -> f64 {
    value.as_f64() * (1.0 - 4.0 * f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Chain;
    use crate::distance::CacheSize;
    use crate::guarantee::block::worst_replacement;
    use crate::guarantee::{calibrate, pair_loss};
    use crate::mechanism::{Design, Preset};
    use std::sync::Arc;

    fn promises() -> [Promise; 3] {
        let epsilon = "1.3".parse().unwrap();
        [
            Promise::within_radius(epsilon, "3.5".parse().unwrap()),
            Promise::within_radius(epsilon, "0.7".parse().unwrap()),
            Promise::for_substitutions(epsilon, 3.try_into().unwrap()),
        ]
    }

    fn worst_pair(mechanism: &Mechanism) -> f64 {
        let states = || mechanism.model().chain().states();
        let pairs = states().flat_map(|x| states().map(move |y| (x, y)));
        pairs.map(|(x, y)| pair_loss(mechanism, x, y).loss).fold(0.0, f64::max)
    }

    #[test]
    fn one_replaced_state_never_loses_more() {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        let searched = Arc::new(Model::on_demand(Chain::credit(), CacheSize::default()));
        for (_, preset) in Preset::NAMES {
            for promise in promises() {
                let Ok(mechanism) = Mechanism::new(model.clone(), preset.design(), promise) else {
                    continue;
                };
                let price = Price::of(&mechanism).unwrap();
                let exact = worst_pair(&mechanism);
                let said = price.one_state.unwrap().as_f64();
                assert!(said >= exact * (1.0 - 1e-9), "{preset} {promise}: {said} < {exact}");
                // The bound without an audit, and without a table.
                assert!(by_rate(&mechanism, promise) >= exact * (1.0 - 1e-9), "{preset} {promise}");
                if matches!(promise.unit, Unit::Radius(_))
                    && let Ok(far) = Mechanism::new(searched.clone(), preset.design(), promise)
                {
                    assert!(by_rate(&far, promise) >= by_rate(&mechanism, promise));
                }
            }
        }
    }

    #[test]
    fn linear_is_said_only_where_it_is_proven() {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        let [promise, ..] = promises();
        let make =
            |preset: Preset| Mechanism::new(model.clone(), preset.design(), promise).unwrap();
        let linear = |mechanism: &Mechanism| Price::of(mechanism).unwrap().linear;
        assert!(linear(&make(Preset::Sharp)) && linear(&make(Preset::Cell)));
        let (audited, _) = calibrate(&make(Preset::Sharp), Effort::default(), &unwatched).unwrap();
        assert!(!linear(&audited));
        assert!(!linear(&make(Preset::Chen)), "the number of replaced states is rounded down");
        // Where it is said, it holds: each pair keeps to the rate.
        for preset in [Preset::Sharp, Preset::Cell] {
            let mechanism = make(preset);
            for x in model.chain().states() {
                for y in model.chain().states() {
                    let apart = model.symmetric_between(x, y).as_f64();
                    let loss = pair_loss(&mechanism, x, y).loss;
                    assert!(loss <= 1.3 / 3.5 * apart * (1.0 + 1e-9), "{preset}");
                }
            }
        }
    }

    #[test]
    fn blocks_never_lose_more() {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        for distance in [Distance::Symmetric, Distance::Directed, Distance::Hamming] {
            let design = Design { rule: Rule::Exponential, distance, ..Preset::Sharp.design() };
            for promise in promises() {
                for length in ["1", "2"] {
                    let length = length.parse().unwrap();
                    let blocks = Mechanism::in_blocks(model.clone(), design, promise, length);
                    let Ok(blocks) = blocks else { continue };
                    let price = Price::of(&blocks).unwrap();
                    let steps = length.most_steps().get();
                    let all = |_, _| true;
                    let exact = worst_replacement(&blocks, steps as usize, all, &unwatched);
                    let exact = exact.unwrap().unwrap().max;
                    let said = price.one_state.unwrap().as_f64();
                    assert!(said >= exact * (1.0 - 1e-9), "{design} {promise}: {said} < {exact}");
                    let radius = matches!(promise.unit, Unit::Radius(_));
                    assert_eq!(
                        price.linear && radius,
                        radius && steps == 1 && distance != Distance::Hamming
                    );
                }
            }
        }
    }
}
