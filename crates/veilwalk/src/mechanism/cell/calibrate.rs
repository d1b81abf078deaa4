//! A scale for each last released state, with a certificate.
//!
//! The module [above](super) has the argument; here are the numbers: the closed form, the exact
//! scale, and what is certified of either.
//!
//! # Precision
//!
//! Write u = 2⁻⁵³, n for the number of candidates and C for the largest cost in nats. Every cost
//! comes from whole numbers by at most six roundings, so it is off by at most `6u·C`.
//!
//! *Exponential rule.* A factor is `least − ln Σ exp(least − c_j)`. Its derivatives by the costs are
//! probabilities, so the errors of costs and of the differences to the least move it by at most
//! `8u·C`. The exponential is good to a relative `91u`, the sum to `n·u`, and the logarithm and the
//! last difference add `u·(2 ln n + C)`: together `u·(9C + n + 2 ln n + 91)`.
//!
//! *Permute-and-flip.* A factor is a computed `ln K` and a cost, and `|ln K| ≤ C + ln n`. By
//! [`rounding`](crate::rounding) that is `u·(40n + 6C + 22 ln n + 8)` and `7u·C`.
//!
//! A loss is the difference of two factors and two costs. Taking these differences adds `8u·C` for
//! each factor at most. All of it is within [`log_kernel_error`] at C, `64u·(n + C + 1)`, for each of
//! the two factors; a test compares with kernels whose costs are computed in another order. Sums,
//! quotients and products that are compared with λ are rounded outward, and λ itself down.

use std::borrow::Cow;

use pulp::Arch;
use rayon::prelude::*;

use crate::chain::StateId;
use crate::distance::{Cells, DistanceTable};
use crate::mechanism::Calibration;
use crate::mechanism::log_total::LogTotal;
use crate::mechanism::{CostScale, Design, Promise, Rule, ScaleError, Unit, log_kernel_of};
use crate::model::Model;
use crate::nats::Nats;
use crate::rational::Rational;
use crate::rounding::{above, add_up, below, divide_up, log_kernel_error};
use crate::watch::{Counter, Stage, Stopped, Watch, part};

/// How many pairs of states one last state may have audited at a time; a scale that would need more
/// is not taken.
const MOST_AUDITED: usize = 4_000_000;

/// How a scale was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obtained {
    /// Half of what is allowed per nat: the general argument.
    Half,
    /// The closed form with the range of the rule's factor.
    ClosedForm,
    /// The largest scale whose audited loss is allowed.
    Audited,
    /// Randomised response: the scale is exact.
    Exact,
}

impl Obtained {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Half, Self::ClosedForm, Self::Audited, Self::Exact];

    /// A word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Half => "by the general bound",
            Self::ClosedForm => "in closed form",
            Self::Audited => "audited",
            Self::Exact => "exact",
        }
    }
}

/// The scale of one last released state, and what is certified of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellScale {
    /// The scale, η among its parts.
    pub scale: CostScale,
    /// At least the largest loss per nat (for substitutions: per substitution) at this scale.
    pub loss: f64,
    /// How the scale was found.
    pub obtained: Obtained,
}

/// What is allowed per nat, or per substitution: `λ = ε/ρ` or `ε/b`, rounded down.
pub(crate) fn allowed(promise: Promise) -> Rational {
    let epsilon = promise.epsilon.value();
    let unit = match promise.unit {
        Unit::Radius(radius) => radius.value(),
        Unit::Substitutions(b) => Rational::whole(b.get().into()),
    };
    Rational::floor_of_products(
        [epsilon.numerator().into(), unit.denominator().into()],
        [epsilon.denominator().into(), unit.numerator().into()],
    )
}

/// How much of the work it is, about, to make the distances to cells.
const DISTANCES: f64 = 0.2;

/// Scales for all last states.
pub(in crate::mechanism) fn calibrated(
    model: &Model,
    cells: &Cells,
    design: Design,
    promise: Promise,
    calibration: Calibration,
    watch: Watch<'_>,
) -> Result<Vec<CellScale>, ScaleError> {
    let lambda = allowed(promise);
    if CostScale::new(lambda, design.chain_weight).eta().is_zero() {
        return Err(ScaleError::TooSmall { promise });
    }
    let randomised_response =
        design.rule == Rule::Exponential && design.chain_weight.value().is_zero();
    let pairs = match promise.unit {
        Unit::Substitutions(_) if randomised_response => {
            let scale = CostScale::new(lambda, design.chain_weight);
            let exact = CellScale { scale, loss: lambda.as_f64(), obtained: Obtained::Exact };
            return Ok(vec![exact; model.chain().len()]);
        }
        Unit::Substitutions(_) => Vec::new(),
        Unit::Radius(_) => {
            cells.make_distances(&part(watch, 0.0..DISTANCES))?;
            pairs_by_distance(cells.symmetric())
        }
    };
    let states: Vec<StateId> = model.chain().states().collect();
    let after = part(watch, DISTANCES..1.0);
    let done = Counter::new(&after, Stage::Scales, model.chain().transitions());
    let scales: Result<Vec<CellScale>, Stopped> = states
        .into_par_iter()
        .map(|z| {
            let state = State::new(model, cells, design, promise, lambda, &pairs, z);
            let scale = state.calibrate(calibration);
            done.add(state.weights.len())?;
            Ok(scale)
        })
        .collect();
    Ok(scales?)
}

/// All pairs of different states at a positive distance, closest first.
fn pairs_by_distance(symmetric: &DistanceTable) -> Vec<(Nats, u32, u32)> {
    let n = symmetric.states() as u32;
    let mut pairs: Vec<(Nats, u32, u32)> = (0..n)
        .into_par_iter()
        .flat_map_iter(|x| {
            let row = symmetric.to(StateId::new(x as usize));
            (x + 1..n).map(move |y| (row[y as usize], x, y)).filter(|p| p.0 > Nats::ZERO)
        })
        .collect();
    pairs.par_sort_unstable();
    pairs
}

/// One last state, with the costs of every kind of real state.
struct State<'a> {
    design: Design,
    lambda: Rational,
    weights: &'a [Nats],
    /// Distances of the candidates for each kind of real state. For a radius every real state is a
    /// kind of its own; for substitutions only the right answer matters.
    kinds: Vec<Cow<'a, [Nats]>>,
    /// Pairs of kinds with their distance, closest first.
    pairs: Pairs<'a>,
}

enum Pairs<'a> {
    Listed(&'a [(Nats, u32, u32)]),
    /// Every two kinds, one substitution apart.
    All,
}

/// What the rule makes of the costs of each kind at some scale.
struct Trial {
    scale: CostScale,
    factors: Factors,
    /// `A_z`, how much they vary, rounded up.
    range: f64,
    /// By how much a computed difference of two factors, or a loss, can be below the real one.
    error: f64,
}

/// `F_y(x)`, what the rule adds to the cost of `y` to give the logarithm of its probability.
enum Factors {
    /// One a kind, for the exponential rule.
    PerKind(Vec<f64>),
    /// One a kind and candidate.
    PerCandidate(Vec<f64>),
}

impl<'a> State<'a> {
    fn new(
        model: &'a Model,
        cells: &'a Cells,
        design: Design,
        promise: Promise,
        lambda: Rational,
        pairs: &'a [(Nats, u32, u32)],
        z: StateId,
    ) -> Self {
        let weights = model.chain().weights(z);
        let (kinds, pairs) = match promise.unit {
            Unit::Radius(_) => {
                let row = |x| Cow::Borrowed(cells.distances(z, StateId::new(x)));
                ((0..cells.states()).map(row).collect(), Pairs::Listed(pairs))
            }
            Unit::Substitutions(_) => {
                let one = Nats::from_units(Nats::PER_NAT);
                let row = |best| {
                    let cost = |y| if y == best { Nats::ZERO } else { one };
                    (0..weights.len()).map(cost).collect()
                };
                ((0..weights.len()).map(row).collect(), Pairs::All)
            }
        };
        Self { design, lambda, weights, kinds, pairs }
    }

    fn calibrate(&self, calibration: Calibration) -> CellScale {
        let lambda = below(self.lambda);
        let half = CostScale::new(halved(self.lambda), self.design.chain_weight);
        let (mut best, mut trial, mut obtained) = (half, self.trial(half), Obtained::Half);
        // One candidate only: nothing can be told from it.
        if self.weights.len() == 1 {
            let scale = CostScale::new(self.lambda, self.design.chain_weight);
            return CellScale { scale, loss: 0.0, obtained: Obtained::ClosedForm };
        }
        let mut search = |accepts: &dyn Fn(CostScale, &Trial) -> bool, how| {
            let (mut low, mut high) = (best.eta().as_f64() / self.lambda.as_f64(), 1.0);
            // Up to 2^-11 of λ: beyond that nothing is gained that anyone could see.
            for round in 0..12 {
                let middle = if round == 0 { high } else { (low + high) / 2.0 };
                let scale = CostScale::new(share(self.lambda, middle), self.design.chain_weight);
                let candidate = self.trial(scale);
                if accepts(scale, &candidate) {
                    (low, best, trial, obtained) = (middle, scale, candidate, how);
                    if round == 0 {
                        break;
                    }
                } else {
                    high = middle;
                }
            }
        };
        // Whatever the closed form takes, the audit takes as well, so of two searches over the same
        // places the exact one never ends lower.
        match calibration {
            Calibration::Theorem => {
                search(&|scale, trial| self.closed_form_holds(scale, trial), Obtained::ClosedForm);
            }
            Calibration::Exact => {
                let allowed =
                    |scale, trial: &Trial| self.largest_loss(scale, trial, lambda) <= lambda;
                search(&allowed, Obtained::Audited);
            }
        }
        let settled = if self.is_small() { 0.0 } else { lambda };
        // Never above λ, however its last bits were rounded.
        let most = self.lambda.as_f64().min(2.0 * above(best.eta()));
        let loss = self.largest_loss(best, &trial, settled).min(most);
        CellScale { scale: best, loss, obtained }
    }

    /// Whether all pairs can be looked at without anyone waiting for it.
    fn is_small(&self) -> bool {
        match self.pairs {
            Pairs::Listed(pairs) => pairs.len() <= 100_000,
            Pairs::All => true,
        }
    }

    fn trial(&self, scale: CostScale) -> Trial {
        let (factors, range) = match self.design.rule {
            Rule::Exponential => {
                let per_nat = 1.0 / scale.denominator() as f64;
                let offset = |&w: &Nats| scale.cost(Nats::ZERO, w) as f64 * per_nat;
                let offsets: Vec<f64> = self.weights.iter().map(offset).collect();
                let factor = |kind: &Cow<[Nats]>| self.exponential_factor(kind, &offsets, scale);
                let factors: Vec<f64> = self.kinds.iter().map(factor).collect();
                let range = range(factors.iter().copied());
                (Factors::PerKind(factors), range)
            }
            Rule::PermuteAndFlip => {
                let factors = self.factors_by_kernel(scale);
                let width = self.weights.len();
                let column = |y| range(factors.iter().copied().skip(y).step_by(width));
                let range = (0..width).map(column).fold(0.0, f64::max);
                (Factors::PerCandidate(factors), range)
            }
        };
        let error = self.error(scale);
        Trial { scale, factors, range: add_up(range, error), error }
    }

    /// What the difference of two computed factors can be off by.
    fn error(&self, scale: CostScale) -> f64 {
        let farthest = match self.pairs {
            // The distance to a set of states is at most that to any of them.
            Pairs::Listed(pairs) => pairs.last().map_or(Nats::ZERO, |pair| pair.0),
            Pairs::All => Nats::from_units(Nats::PER_NAT),
        };
        let heaviest = self.weights.iter().copied().max().unwrap_or(Nats::ZERO);
        let cost = divide_up(scale.cost(farthest, heaviest) as f64, scale.denominator() as f64);
        2.0 * log_kernel_error(self.weights.len(), cost)
    }

    /// `−ln Z` of one kind.
    fn exponential_factor(&self, kind: &[Nats], offsets: &[f64], scale: CostScale) -> f64 {
        let per_unit =
            scale.cost(Nats::from_units(1), Nats::ZERO) as f64 / scale.denominator() as f64;
        -Arch::new().dispatch(LogTotal { distances: kind, offsets, per_unit })
    }

    /// The factors of all kinds from their kernels, whatever the rule.
    fn factors_by_kernel(&self, scale: CostScale) -> Vec<f64> {
        let width = self.weights.len();
        let denominator = scale.denominator() as f64;
        let mut factors = vec![0.0; self.kinds.len() * width];
        let mut costs = Vec::with_capacity(width);
        for (kind, out) in self.kinds.iter().zip(factors.chunks_exact_mut(width)) {
            costs.clear();
            costs.extend(kind.iter().zip(self.weights).map(|(&d, &w)| scale.cost(d, w)));
            log_kernel_of(self.design.rule, &costs, scale, out);
            out.iter_mut().zip(&costs).for_each(|(f, &cost)| *f += cost as f64 / denominator);
        }
        factors
    }

    fn smallest_distance(&self) -> f64 {
        match self.pairs {
            Pairs::Listed(pairs) => pairs.first().map_or(f64::INFINITY, |p| p.0.as_f64()),
            Pairs::All => 1.0,
        }
    }

    /// `A_z ≤ (λ − η)·m_min`.
    fn closed_form_holds(&self, scale: CostScale, trial: &Trial) -> bool {
        // So much below what is spare that the audit, which rounds its sums up, takes it as well.
        let spare = below(self.lambda) * (1.0 - 4.0 * f64::EPSILON) - above(scale.eta());
        trial.range <= spare * self.smallest_distance() * (1.0 - 4.0 * f64::EPSILON)
    }

    /// At least the largest loss per nat of distance (or per substitution). Pairs are looked at from
    /// the closest on, until the bound `η + A_z/m` for all that remain is at most `settled`, or at
    /// most what was found. Infinite where too many pairs would have to be looked at.
    fn largest_loss(&self, scale: CostScale, trial: &Trial, settled: f64) -> f64 {
        // What was found, and a bound for what was passed over.
        let (mut largest, mut unexamined) = (0f64, 0f64);
        match self.pairs {
            Pairs::All => {
                for a in 0..self.kinds.len() {
                    for b in 0..a {
                        largest = largest.max(self.loss(trial, a, b));
                    }
                }
            }
            Pairs::Listed(pairs) => {
                // Fractions are reduced each time they are asked for, and there are millions of pairs.
                let (eta, lambda) = (above(scale.eta()), below(self.lambda));
                for (audited, &(distance, a, b)) in pairs.iter().enumerate() {
                    let m = distance.as_f64();
                    let bound = add_up(eta, divide_up(trial.range, m));
                    if bound <= largest.max(settled) {
                        return largest.max(bound).max(unexamined);
                    }
                    if audited == MOST_AUDITED {
                        return f64::INFINITY;
                    }
                    let (a, b) = (a as usize, b as usize);
                    // The same bound with what the factor of these two kinds differs by.
                    if let Factors::PerKind(factors) = &trial.factors {
                        let apart = add_up((factors[a] - factors[b]).abs(), trial.error);
                        let bound = add_up(eta, divide_up(apart, m));
                        if bound <= largest.max(settled) {
                            unexamined = unexamined.max(bound);
                            continue;
                        }
                    }
                    largest = largest.max(divide_up(self.loss(trial, a, b), m));
                    if largest > lambda {
                        return largest;
                    }
                }
            }
        }
        largest.max(unexamined)
    }

    fn loss(&self, trial: &Trial, a: usize, b: usize) -> f64 {
        let width = self.weights.len();
        let per_nat = 1.0 / trial.scale.denominator() as f64;
        let mut largest = 0f64;
        for y in 0..width {
            let cost =
                |kind: usize| trial.scale.cost(self.kinds[kind][y], Nats::ZERO) as f64 * per_nat;
            let factor = |kind: usize| match &trial.factors {
                Factors::PerKind(factors) => factors[kind],
                Factors::PerCandidate(factors) => factors[kind * width + y],
            };
            largest = largest.max((factor(a) - factor(b) - (cost(a) - cost(b))).abs());
        }
        add_up(largest, trial.error)
    }
}

fn range(numbers: impl Iterator<Item = f64>) -> f64 {
    let (low, high) = numbers
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| (low.min(n), high.max(n)));
    high - low
}

fn halved(value: Rational) -> Rational {
    Rational::floor_of_products([value.numerator().into()], [value.denominator().into(), 2])
}

/// `λ` times a share of at most one, rounded down.
fn share(lambda: Rational, share: f64) -> Rational {
    const PARTS: u32 = 1 << 20;
    let parts = (share.min(1.0) * f64::from(PARTS)) as u128;
    Rational::floor_of_products(
        [lambda.numerator().into(), parts],
        [lambda.denominator().into(), PARTS.into()],
    )
}
