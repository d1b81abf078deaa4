//! The long run: stationary law, second eigenvalue and mixing time of the pair.
//!
//! The real state moves by itself, so the pair inherits the real chain's own slow modes, and those
//! can be dealt with on |S| states. Everything else happens in the differences of two laws with
//! equal real marginals. Such differences stay such differences, which gives two shortcuts: the
//! search for the stationary law starts with the right real marginal and has to settle the rest
//! only, and the eigenvalues of the pair are those of the real chain together with those on that
//! subspace.

use rayon::prelude::*;
#[cfg(feature = "serde")]
use serde::Serialize;
use thiserror::Error;

use super::figures::{EntropyFigures, entropy_rate};
use super::joint::{JointChain, JointLaw, dot, map_rows};
use crate::chain::{Chain, NotConverged, StateId};
use crate::watch::{Stage, Stopped, Watch, report};

/// Why there are no long-run figures.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LongRunError {
    /// The chain goes round in a cycle of classes, and so does the pair.
    #[error(
        "the chain has period {period}, so the pair of walks does not settle; use figures over a \
         number of steps instead"
    )]
    Periodic {
        /// The period.
        period: usize,
    },
    /// The chain's own stationary distribution could not be computed.
    #[error(transparent)]
    Chain(#[from] NotConverged),
    /// The watcher asked for it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// An eigenvalue is wanted to a few digits: sums of squares do not show a smaller residual.
const EIGENVALUE_TOLERANCE: f64 = 1e-6;

/// When an iteration ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongRunEffort {
    /// The most sweeps that are made.
    pub sweeps: usize,
    /// The error that is small enough.
    pub tolerance: f64,
}

impl Default for LongRunEffort {
    /// At most five thousand sweeps, for an error of 10⁻¹⁰.
    fn default() -> Self {
        Self { sweeps: 5_000, tolerance: 1e-10 }
    }
}

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Convergence {
    /// How many sweeps were made.
    pub sweeps: usize,
    /// What the last sweep changed: for a law the sum of all changes, for an eigenvalue what the
    /// last vector leaves unexplained, relative to its size.
    pub residual: f64,
    /// The estimated error of the result.
    pub error: f64,
    /// Whether that is within the tolerance.
    pub converged: bool,
}

/// Figures of a walk without end.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct LongRun {
    /// The expected distance from the released to the real state.
    pub mean_distance_nats: f64,
    /// The share of steps at which the released state is not the real one.
    pub wrong_state_share: f64,
    /// Entropies per transition; here the real walk's is the rate.
    pub entropy_nats: EntropyFigures,
    /// How well the stationary law has settled.
    pub convergence: Convergence,
}

/// The modulus of the second largest eigenvalue of the pair.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct SecondEigenvalue {
    /// The modulus.
    pub modulus: f64,
    /// The part of the real chain: its own second eigenvalue's modulus.
    pub real_chain: f64,
    /// The part of the released walk: the largest modulus on differences of laws with equal real
    /// marginals.
    pub released_walk: f64,
    /// How well both have settled, by the worse of the two.
    pub convergence: Convergence,
}

/// The number of steps after which every start is within a quarter of the stationary law, in total
/// variation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct MixingTime {
    /// The number of steps.
    pub steps: u64,
    /// What the number is.
    pub kind: MixingKind,
}

/// How a mixing time is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum MixingKind {
    /// Computed from every start.
    Exact,
    /// From the second eigenvalue λ: the real one is at least `ln 2 / ln(1/|λ|)`, since
    /// `|λ|^t ≤ 2 d(t)` for every chain with total variation `d(t)`.
    LowerBound,
}

impl JointChain<'_> {
    /// The stationary law of the pair, by repeated sweeps.
    ///
    /// # Errors
    ///
    /// If the chain is periodic, its own stationary distribution cannot be computed, or the
    /// watcher asks to stop. A law that has not settled is no error: the convergence says so.
    pub fn stationary(
        &self,
        effort: LongRunEffort,
        watch: Watch<'_>,
    ) -> Result<(JointLaw, LongRun), LongRunError> {
        let model = self.mechanism().model();
        let chain = model.chain();
        aperiodic(chain)?;
        let n = self.states();
        let real = chain.stationary()?;
        // Both walks together: for a good mechanism, not far from where it settles.
        let mut rows = vec![0.0; n * n];
        (0..n).for_each(|x| rows[x * n + x] = real[x]);
        let mut law = JointLaw::from_rows(n, rows);
        let mut between = vec![0.0; n * n];
        let mut before = law.raw().to_vec();
        let mut changes: Vec<f64> = Vec::new();
        let mut convergence = Convergence {
            sweeps: 0,
            residual: f64::INFINITY,
            error: f64::INFINITY,
            converged: false,
        };
        for sweep in 1..=effort.sweeps {
            report(watch, Stage::Stationary, sweep, effort.sweeps)?;
            self.sweep(law.raw_mut(), &mut between);
            restore_marginal(law.raw_mut(), n, &real);
            let change = distance_l1(n, law.raw(), &before);
            before.copy_from_slice(law.raw());
            changes.push(change);
            let error = remaining(&changes);
            let converged = error <= effort.tolerance;
            convergence = Convergence { sweeps: sweep, residual: change, error, converged };
            if converged {
                break;
            }
        }
        drop(before);
        let weights = self.released_weights();
        self.sweep(law.raw_mut(), &mut between);
        let rate = chain.entropy_rate(&real);
        let long_run = LongRun {
            mean_distance_nats: law.mean_distance(model),
            wrong_state_share: law.wrong_share(),
            entropy_nats: EntropyFigures {
                released: dot(n, &between, &weights),
                real: rate,
                rate: entropy_rate(chain),
            },
            convergence,
        };
        Ok((law, long_run))
    }

    /// The modulus of the second largest eigenvalue of the pair.
    ///
    /// Repeated sweeps of a difference of laws leave its slowest modes. Three consecutive vectors
    /// are fitted by `v'' = a v' + b v`, which two modes satisfy exactly, and the larger root of
    /// `λ² = a λ + b` is taken: this also settles where the two are a complex pair or of opposite
    /// sign, which a quotient of consecutive vectors would not.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop. An estimate that has not settled says so.
    pub fn second_eigenvalue(
        &self,
        effort: LongRunEffort,
        watch: Watch<'_>,
    ) -> Result<SecondEigenvalue, Stopped> {
        let n = self.states();
        let chain = self.mechanism().model().chain();
        let done = |_| Ok(());
        // The real chain by itself: differences of distributions.
        let mut scratch = vec![0.0; n];
        let (real_chain, real_fit) = slowest_mode(n, start_vector(n), effort, done, |v| {
            chain_step(chain, v, &mut scratch);
            v.copy_from_slice(&scratch);
            centre(v);
        })?;
        let mut between = vec![0.0; n * n];
        let observe = |sweep| report(watch, Stage::Eigenvalue, sweep, effort.sweeps);
        let mut first = start_vector(n * n);
        first.chunks_mut(n).for_each(centre);
        let (released_walk, fit) = slowest_mode(n, first, effort, observe, |v| {
            self.sweep(v, &mut between);
            v.par_chunks_mut(n).for_each(centre);
        })?;
        let worse = |a: f64, b: f64| if a > b { a } else { b };
        Ok(SecondEigenvalue {
            modulus: real_chain.max(released_walk),
            real_chain,
            released_walk,
            convergence: Convergence {
                sweeps: fit.sweeps,
                residual: worse(fit.residual, real_fit.residual),
                error: worse(fit.error, real_fit.error),
                converged: fit.converged && real_fit.converged,
            },
        })
    }

    /// The mixing time of the pair: from every start where that is affordable, else a lower bound
    /// from the second eigenvalue.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    ///
    /// # Complexity
    ///
    /// Exactly, 2·|S|³·|E| multiplications for each step until it is mixed; at most `operations`
    /// are made.
    pub fn mixing_time(
        &self,
        stationary: &JointLaw,
        second: &SecondEigenvalue,
        operations: f64,
        watch: Watch<'_>,
    ) -> Result<MixingTime, Stopped> {
        let n = self.states();
        let transitions = self.mechanism().model().chain().transitions();
        let per_step = (2 * n * transitions) as f64;
        let starts = n * n;
        let bound = lower_bound(second.modulus);
        // Every start takes about as long as the slowest mode says.
        if per_step * starts as f64 * bound.steps as f64 > operations {
            return Ok(bound);
        }
        let most = (operations / per_step / starts as f64).ceil() as u64 * 4;
        // Every start mixes at its own time; the slowest counts.
        const BATCH: usize = 64;
        let mut slowest = 0;
        for first in (0..starts).step_by(BATCH) {
            report(watch, Stage::Mixing, first, starts)?;
            let batch = (first..(first + BATCH).min(starts)).into_par_iter();
            let times = batch.map_init(
                || (vec![0.0; n * n], vec![0.0; n * n]),
                |(law, between), start| {
                    law.fill(0.0);
                    law[start] = 1.0;
                    time_to_quarter(law, stationary.raw(), most, |law| self.sweep(law, between))
                },
            );
            let times: Vec<Option<u64>> = times.collect();
            for time in times {
                let Some(time) = time else { return Ok(bound) };
                slowest = slowest.max(time);
            }
        }
        Ok(MixingTime { steps: slowest, kind: MixingKind::Exact })
    }
}

/// The mixing time of the real chain by itself.
///
/// # Errors
///
/// If the chain is periodic, its stationary distribution cannot be computed, or the watch stops
/// it.
///
/// # Complexity
///
/// |S|·|E| multiplications for each step until it is mixed; if that takes more than `operations`
/// in all, a lower bound from the second eigenvalue is given.
pub fn chain_mixing_time(
    chain: &Chain,
    second: &SecondEigenvalue,
    operations: f64,
    watch: Watch<'_>,
) -> Result<MixingTime, LongRunError> {
    aperiodic(chain)?;
    let stationary = chain.stationary()?;
    let n = chain.len();
    let most = (operations / (n * chain.transitions()) as f64).ceil() as u64;
    report(watch, Stage::Mixing, 0, n)?;
    let times = (0..n).into_par_iter().map_init(
        || (vec![0.0; n], vec![0.0; n]),
        |(law, scratch), start| {
            law.fill(0.0);
            law[start] = 1.0;
            time_to_quarter(law, &stationary, most, |law| {
                chain_step(chain, law, scratch);
                law.copy_from_slice(scratch);
            })
        },
    );
    let slowest = times.collect::<Option<Vec<u64>>>().and_then(|times| times.into_iter().max());
    report(watch, Stage::Mixing, n, n)?;
    Ok(match slowest {
        Some(steps) => MixingTime { steps, kind: MixingKind::Exact },
        None => lower_bound(second.real_chain),
    })
}

fn aperiodic(chain: &Chain) -> Result<(), LongRunError> {
    match chain.period() {
        1 => Ok(()),
        period => Err(LongRunError::Periodic { period }),
    }
}

/// The first step at which a law is within a quarter of the stationary one; `None` after `most`.
fn time_to_quarter(
    law: &mut [f64],
    stationary: &[f64],
    most: u64,
    mut step: impl FnMut(&mut [f64]),
) -> Option<u64> {
    for time in 0..=most {
        let apart: f64 = law.iter().zip(stationary).map(|(p, q)| (p - q).max(0.0)).sum();
        if apart <= 0.25 {
            return Some(time);
        }
        step(law);
    }
    None
}

fn lower_bound(modulus: f64) -> MixingTime {
    let steps = if modulus <= 0.0 { 0.0 } else { 2f64.ln() / -modulus.min(1.0).ln() };
    MixingTime { steps: steps.max(0.0).ceil() as u64, kind: MixingKind::LowerBound }
}

/// `out = v P`.
fn chain_step(chain: &Chain, v: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (i, &mass) in v.iter().enumerate() {
        let i = StateId::new(i);
        for (j, p) in chain.successors(i).iter().zip(chain.probabilities(i)) {
            out[j.index()] += mass * p;
        }
    }
}

/// Undoes what rounding did to the real marginal, which is known.
fn restore_marginal(rows: &mut [f64], n: usize, real: &[f64]) {
    rows.par_chunks_mut(n).zip(real).for_each(|(row, mass)| {
        let sum: f64 = row.iter().sum();
        if sum > 0.0 {
            row.iter_mut().for_each(|p| *p *= mass / sum);
        }
    });
}

fn distance_l1(n: usize, a: &[f64], b: &[f64]) -> f64 {
    let row = |x: usize, row: &[f64]| {
        row.iter().zip(&b[x * n..]).map(|(p, q)| (p - q).abs()).sum::<f64>()
    };
    map_rows(a, n, row).iter().sum()
}

/// What is left to change, when the changes so far shrink as their last ones did. The slowest of
/// the last few quotients is taken, since the changes need not shrink evenly.
fn remaining(changes: &[f64]) -> f64 {
    const LOOK_BACK: usize = 8;
    let last = *changes.last().expect("at least one sweep");
    if last == 0.0 {
        return 0.0;
    }
    if changes.len() <= LOOK_BACK {
        return f64::INFINITY;
    }
    let tail = &changes[changes.len() - LOOK_BACK - 1..];
    let quotient = tail.windows(2).map(|w| w[1] / w[0]).fold(0.0, f64::max);
    // Rounding keeps the changes of a settled law from shrinking any further.
    if last < 1e-14 {
        return last;
    }
    if quotient < 1.0 { last * quotient / (1.0 - quotient) } else { f64::INFINITY }
}

/// Numbers without pattern around zero, the same every time.
fn start_vector(len: usize) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut v: Vec<f64> = (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 * 2f64.powi(-53) - 0.5
        })
        .collect();
    centre(&mut v);
    v
}

/// Takes the mean off, so that the numbers sum to zero.
fn centre(v: &mut [f64]) {
    let mean = v.iter().sum::<f64>() / v.len() as f64;
    v.iter_mut().for_each(|x| *x -= mean);
}

/// The modulus of the largest eigenvalue met from a start vector of rows of `n` numbers.
fn slowest_mode(
    n: usize,
    mut v: Vec<f64>,
    effort: LongRunEffort,
    observe: impl Fn(usize) -> Result<(), Stopped>,
    mut step: impl FnMut(&mut [f64]),
) -> Result<(f64, Convergence), Stopped> {
    const SETTLE: usize = 10;
    let nothing = Convergence { sweeps: 0, residual: 0.0, error: 0.0, converged: true };
    let mut older = vec![0.0; v.len()];
    let mut old = vec![0.0; v.len()];
    let mut history: Vec<f64> = Vec::new();
    let mut ended = Convergence { error: f64::INFINITY, converged: false, ..nothing };
    let mut modulus = 0.0;
    for sweep in 1..=effort.sweeps {
        observe(sweep)?;
        let size = dot(n, &v, &v).sqrt();
        // Everything has died out: there is no other mode.
        if size < 1e-280 {
            return Ok((0.0, Convergence { sweeps: sweep, ..nothing }));
        }
        // All three vectors keep a common scale, so that the recurrence is not disturbed.
        for vector in [&mut v, &mut old] {
            vector.par_iter_mut().for_each(|x| *x /= size);
        }
        std::mem::swap(&mut older, &mut old);
        old.copy_from_slice(&v);
        step(&mut v);
        if sweep < SETTLE {
            continue;
        }
        let fit = TwoModes::fit(n, &older, &old, &v);
        modulus = fit.modulus;
        history.push(modulus);
        let recent = &history[history.len().saturating_sub(SETTLE)..];
        let spread = recent.iter().fold(0.0f64, |worst, m| worst.max((m - modulus).abs()));
        let error = if recent.len() < SETTLE { f64::INFINITY } else { spread.max(fit.residual) };
        let converged = error <= effort.tolerance.max(EIGENVALUE_TOLERANCE);
        ended = Convergence { sweeps: sweep, residual: fit.residual, error, converged };
        if converged {
            break;
        }
    }
    Ok((modulus, ended))
}

struct TwoModes {
    modulus: f64,
    residual: f64,
}

impl TwoModes {
    /// Least squares for `v'' = a v' + b v`.
    fn fit(n: usize, v: &[f64], next: &[f64], last: &[f64]) -> Self {
        let (vv, vn, nn) = (dot(n, v, v), dot(n, v, next), dot(n, next, next));
        let (vl, nl, ll) = (dot(n, v, last), dot(n, next, last), dot(n, last, last));
        if nn == 0.0 {
            return Self { modulus: 0.0, residual: 0.0 };
        }
        // A single mode is left: two would be fitted to rounding.
        let quotient = nl / nn;
        let residual = ((ll - quotient * nl).max(0.0) / nn).sqrt();
        if residual <= EIGENVALUE_TOLERANCE {
            return Self { modulus: quotient.abs(), residual };
        }
        let determinant = vv * nn - vn * vn;
        let a = (nl * vv - vl * vn) / determinant;
        let b = (vl * nn - nl * vn) / determinant;
        let half = a / 2.0;
        let discriminant = half * half + b;
        let modulus =
            if discriminant < 0.0 { (-b).sqrt() } else { half.abs() + discriminant.sqrt() };
        let residual = ((ll - a * nl - b * vl).max(0.0) / nn).sqrt();
        Self { modulus, residual }
    }
}
