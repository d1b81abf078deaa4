//! The linear program for weights whose totals may change, but slowly.
//!
//! With η < λ the totals `A(x) = Σ μ(y)·exp(−η·m(y, x))` need not be the same for all x: it is
//! enough that `A(x) ≤ exp((λ − η)·m(x, x'))·A(x')` for all pairs, which is linear in μ. Whatever
//! linear gain is asked for can be made largest among all `μ ≥ 0` with `A ≤ 1`. With a gain of one
//! for each weight, the most is at least one or it is zero: at the state whose total is one, the
//! weights sum up to no less. Zero means that no weights will do for this η.
//!
//! # Method
//!
//! Mehrotra's predictor and corrector, on the normal equations. There are as many constraints as
//! ordered pairs, but each says something about two totals, so the normal matrix is `E·L·E + diag`
//! with E the matrix of all `exp(−η·m)` and L a matrix of the same size: two products and one
//! [`Lu`] an iteration, whatever the number of pairs. A solver that is told each constraint by
//! itself works on thousands of rows instead; so does the solver of a library, whose next version may
//! also end on other bits, and so change public weights. Here the bits are our own: beside `libm`'s
//! exponentials nothing but the four operations is used, each number by a fixed sequence of them,
//! whoever computes it.
//!
//! # Literature
//!
//! Mehrotra (1992); Wright (1997), *Primal-dual interior-point methods*, chapter 10.

use rayon::prelude::*;

use super::classes::Classes;
use super::lu::Lu;
use super::product::product;
use crate::watch::{Stage, Stopped, Watch, report_share, unwatched};

/// The most iterations. Twenty or thirty are usual.
const MOST_ITERATIONS: usize = 80;
/// How much of what is gained may be missing in the end, and by how much constraints may be broken.
const GAP: f64 = 1e-8;
const FEASIBLE: f64 = 1e-10;
/// By how much prices may be wrong.
const PRICED: f64 = 1e-6;
/// How much of the way to the nearest bound is taken.
const SHARE_OF_WAY: f64 = 0.995;
/// What is below this share of the largest weight stands for zero.
const NOTHING: f64 = 1e-9;

/// The program for some classes, η and `λ − η`.
pub(super) struct Program {
    classes: usize,
    /// `exp(−η·m)`, row by row.
    factors: Vec<f64>,
    /// `exp(−(λ − η)·m)`: what one total has to be at least of the other.
    ratios: Vec<f64>,
    /// What the constraint of each pair is multiplied by, so that those of near pairs are not lost
    /// beside the others.
    scales: Vec<f64>,
}

/// A number for each constraint: in row x and column x' that of the pair, on the diagonal that of
/// `A(x) ≤ 1`.
type Rows = Vec<f64>;

/// Where an iteration is.
struct Point {
    /// The weights, and what is left of each constraint.
    x: Vec<f64>,
    s: Rows,
    /// The prices of both.
    z: Vec<f64>,
    y: Rows,
}

/// A step from there.
type Step = Point;

impl Program {
    /// The program for this η, with `spare` for `λ − η`.
    pub(super) fn new(classes: &Classes<'_>, eta: f64, spare: f64) -> Self {
        let n = classes.len();
        let all = |f: &(dyn Fn(usize) -> Vec<f64> + Sync)| {
            (0..n).into_par_iter().flat_map_iter(f).collect()
        };
        Self {
            classes: n,
            factors: all(&|x| classes.factors(x, eta).collect()),
            ratios: all(&|x| classes.factors(x, spare).collect()),
            scales: all(&|x| classes.to(x).map(|m| 1.0 / m.min(1.0)).collect()),
        }
    }

    /// The weights for which `Σ gains·μ` is largest. `None` if that is less than `least`, or cannot
    /// be computed.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    pub(super) fn solve(
        &self,
        gains: &[f64],
        least: f64,
        watch: Watch<'_>,
    ) -> Result<Option<Vec<f64>>, Stopped> {
        let n = self.classes;
        let count = (n * n + n) as f64;
        let mut at = self.start();
        for iteration in 0..MOST_ITERATIONS {
            report_share(watch, Stage::Weights, iteration as f64 / MOST_ITERATIONS as f64)?;
            let (missing, unpriced) = (self.missing(&at), self.unpriced(&at, gains));
            let gain = dot(&at.x, gains);
            // What the whole is worth at these prices, if they are right: the most that can be
            // gained.
            let most: f64 = at.y.iter().step_by(n + 1).sum();
            let (broken, mispriced) = (largest(&missing), largest(&unpriced));
            let gap = dot(&at.s, &at.y) + dot(&at.x, &at.z);
            let hopeless = mispriced <= PRICED && most < 0.9 * least;
            if hopeless || !gap.is_finite() {
                return Ok(None);
            }
            if broken <= FEASIBLE && mispriced <= PRICED && gap <= GAP * gain.abs().max(1.0) {
                break;
            }
            let Some(matrix) = self.normal(&at)? else { break };
            let to = Aim { matrix: &matrix, missing: &missing, unpriced: &unpriced };
            // Straight on, to see how far that goes, and then with an eye to the middle.
            let nothing = (vec![0.0; n], vec![0.0; n * n]);
            let ahead = self.step(&at, &to, 0.0, &nothing);
            let (far, dear) = at.reach(&ahead);
            let share = at.gap_after(&ahead, far, dear) / gap;
            let middle = share * share * share * gap / count;
            let second = (products(&ahead.x, &ahead.z), products(&ahead.s, &ahead.y));
            let step = self.step(&at, &to, middle, &second);
            let (far, dear) = at.reach(&step);
            at.go(&step, SHARE_OF_WAY * far, SHARE_OF_WAY * dear);
        }
        // If not quite the most, nothing forbids to take it.
        let usable = largest(&self.missing(&at)) <= FEASIBLE && dot(&at.x, gains) >= least;
        Ok(usable.then(|| cleared(at.x)))
    }

    /// Even weights with the largest total below one, and everything else as it comes.
    fn start(&self) -> Point {
        let n = self.classes;
        let sums = self.factors.chunks(n).map(|row| row.iter().sum::<f64>());
        let x = vec![0.5 / sums.fold(1.0, f64::max); n];
        let values = self.values(&x);
        let s: Rows = (0..n * n)
            .map(|i| {
                let bound = if i % (n + 1) == 0 { 1.0 } else { 0.0 };
                (bound - values[i]).max(0.1)
            })
            .collect();
        let middle = 1.0 / n as f64;
        let y = s.iter().map(|s| middle * middle / s).collect();
        let z = x.iter().map(|x| middle * middle / x).collect();
        Point { x, s, z, y }
    }

    /// The left-hand side of each constraint.
    fn values(&self, x: &[f64]) -> Rows {
        let n = self.classes;
        let totals = self.times_factors(x);
        let mut values = vec![0.0; n * n];
        values.par_chunks_mut(n).enumerate().for_each(|(i, out)| {
            for (j, out) in out.iter_mut().enumerate() {
                let (ratio, scale) = (self.ratios[i * n + j], self.scales[i * n + j]);
                *out = if i == j { totals[i] } else { (ratio * totals[i] - totals[j]) * scale };
            }
        });
        values
    }

    /// What the constraints make of these prices: a number for each weight.
    fn priced(&self, y: &[f64]) -> Vec<f64> {
        let n = self.classes;
        let of_total = |i: usize| {
            let pair = |j: usize| {
                let (ratio, scale) = (self.ratios[i * n + j], self.scales[i * n + j]);
                (ratio * y[i * n + j] - y[j * n + i]) * scale
            };
            (0..n).fold(0.0, |sum, j| sum + if i == j { y[i * n + i] } else { pair(j) })
        };
        let totals: Vec<f64> = (0..n).into_par_iter().map(of_total).collect();
        self.times_factors(&totals)
    }

    fn times_factors(&self, x: &[f64]) -> Vec<f64> {
        self.factors.par_chunks(self.classes).map(|row| dot(row, x)).collect()
    }

    /// What is missing for each constraint to hold with what is left of it.
    fn missing(&self, at: &Point) -> Rows {
        let n = self.classes;
        let mut missing = self.values(&at.x);
        for (i, (missing, s)) in missing.iter_mut().zip(&at.s).enumerate() {
            let bound = if i % (n + 1) == 0 { 1.0 } else { 0.0 };
            *missing = bound - *missing - s;
        }
        missing
    }

    /// What is missing of the price of each weight.
    fn unpriced(&self, at: &Point, gains: &[f64]) -> Vec<f64> {
        let priced = self.priced(&at.y);
        triples(&priced, &at.z, gains).map(|(p, z, gain)| gain - p + z).collect()
    }

    /// The normal matrix, taken apart.
    fn normal(&self, at: &Point) -> Result<Option<Lu>, Stopped> {
        let n = self.classes;
        let worth: Vec<f64> = at.y.iter().zip(&at.s).map(|(y, s)| y / s).collect();
        let mut inner = vec![0.0; n * n];
        inner.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
            let mut diagonal = worth[i * n + i];
            for j in (0..n).filter(|&j| j != i) {
                let (ratio, scale) = (self.ratios[i * n + j], self.scales[i * n + j]);
                let (there, back) =
                    (worth[i * n + j] * scale * scale, worth[j * n + i] * scale * scale);
                diagonal += there * ratio * ratio + back;
                row[j] = -ratio * (there + back);
            }
            row[i] = diagonal;
        });
        let whole = product(n, &self.factors, &product(n, &inner, &self.factors));
        let fill = |i: usize, row: &mut [f64]| {
            row.copy_from_slice(&whole[i * n..][..n]);
            row[i] += at.z[i] / at.x[i];
        };
        Lu::of(n, fill, &unwatched)
    }

    /// The step to where every product of a number and its price is `middle`, less what the
    /// products of an earlier step bring in.
    fn step(&self, at: &Point, to: &Aim<'_>, middle: f64, second: &(Vec<f64>, Rows)) -> Step {
        let wanted = |(value, price, second): (&f64, &f64, &f64)| middle - second - value * price;
        let for_x: Vec<f64> = triples(&at.x, &at.z, &second.0).map(wanted).collect();
        let for_s: Rows = triples(&at.s, &at.y, &second.1).map(wanted).collect();
        // What the prices of constraints come to if the numbers stay as they are.
        let stay = |i: usize| (for_s[i] - at.y[i] * to.missing[i]) / at.s[i];
        let priced = self.priced(&(0..for_s.len()).map(stay).collect::<Rows>());
        let right = |i: usize| to.unpriced[i] + for_x[i] / at.x[i] - priced[i];
        let x = to.matrix.solve(&(0..for_x.len()).map(right).collect::<Vec<f64>>());
        let s: Rows = to.missing.iter().zip(self.values(&x)).map(|(a, b)| a - b).collect();
        let z = (0..x.len()).map(|i| (for_x[i] - at.z[i] * x[i]) / at.x[i]).collect();
        let y = (0..s.len()).map(|i| (for_s[i] - at.y[i] * s[i]) / at.s[i]).collect();
        Step { x, s, z, y }
    }
}

/// What a step is to make up for, and the matrix that says how.
struct Aim<'a> {
    matrix: &'a Lu,
    missing: &'a [f64],
    unpriced: &'a [f64],
}

impl Point {
    /// How far a step can go, at most once, before a number is zero, and before a price is.
    fn reach(&self, step: &Step) -> (f64, f64) {
        let first = |reach: f64, (a, d): (&f64, &f64)| {
            if a + reach * d < 0.0 { -a / d } else { reach }
        };
        let far = self.x.iter().zip(&step.x).fold(1.0, first);
        let far = self.s.iter().zip(&step.s).fold(far, first);
        let dear = self.z.iter().zip(&step.z).fold(1.0, first);
        let dear = self.y.iter().zip(&step.y).fold(dear, first);
        (far, dear)
    }

    /// The sum of all products of a number and its price after a step of these lengths.
    fn gap_after(&self, step: &Step, far: f64, dear: f64) -> f64 {
        let sum = |a: &[f64], da: &[f64], b: &[f64], db: &[f64]| {
            let product = |i: usize| (a[i] + far * da[i]) * (b[i] + dear * db[i]);
            (0..a.len()).fold(0.0, |sum, i| sum + product(i))
        };
        sum(&self.x, &step.x, &self.z, &step.z) + sum(&self.s, &step.s, &self.y, &step.y)
    }

    fn go(&mut self, step: &Step, far: f64, dear: f64) {
        let add = |to: &mut [f64], length: f64, step: &[f64]| {
            to.iter_mut().zip(step).for_each(|(to, step)| *to += length * step);
        };
        add(&mut self.x, far, &step.x);
        add(&mut self.s, far, &step.s);
        add(&mut self.z, dear, &step.z);
        add(&mut self.y, dear, &step.y);
    }
}

/// With zeros for what is next to nothing.
fn cleared(mut weights: Vec<f64>) -> Vec<f64> {
    let least = NOTHING * largest(&weights);
    weights.iter_mut().filter(|weight| **weight < least).for_each(|weight| *weight = 0.0);
    weights
}

fn triples<'a>(
    a: &'a [f64],
    b: &'a [f64],
    c: &'a [f64],
) -> impl Iterator<Item = (&'a f64, &'a f64, &'a f64)> {
    a.iter().zip(b).zip(c).map(|((a, b), c)| (a, b, c))
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |most, number| f64::max(most, number.abs()))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

fn products(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a * b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::DistanceTable;
    use crate::mechanism::response::tight::tests::streets;
    use crate::nats::Nats;

    /// The largest sum over all corners: every choice of as many constraints as there are weights,
    /// met exactly.
    fn by_corners(distances: &DistanceTable, eta: f64, spare: f64) -> f64 {
        let classes = Classes::of(distances);
        let n = classes.len();
        let rows: Vec<Vec<f64>> = (0..n).map(|x| classes.factors(x, eta).collect()).collect();
        let mut constraints: Vec<(Vec<f64>, f64)> = Vec::new();
        for x in 0..n {
            constraints.push((rows[x].clone(), 1.0));
            constraints.push(((0..n).map(|y| if y == x { -1.0 } else { 0.0 }).collect(), 0.0));
            for (z, m) in classes.to(x).enumerate().filter(|&(z, _)| z != x) {
                let slope = (spare * m).exp();
                constraints.push(((0..n).map(|y| rows[x][y] - slope * rows[z][y]).collect(), 0.0));
            }
        }
        let mut most = 0f64;
        for choice in 0u32..1 << constraints.len() {
            if choice.count_ones() as usize == n {
                let met: Vec<&(Vec<f64>, f64)> = (0..constraints.len())
                    .filter(|i| choice >> i & 1 == 1)
                    .map(|i| &constraints[i])
                    .collect();
                let fill = |i: usize, row: &mut [f64]| row.copy_from_slice(&met[i].0);
                let Some(lu) = Lu::of(n, fill, &unwatched).unwrap() else { continue };
                let corner = lu.solve(&met.iter().map(|c| c.1).collect::<Vec<f64>>());
                if constraints.iter().all(|(row, bound)| dot(row, &corner) <= bound + 1e-9) {
                    most = most.max(corner.iter().sum());
                }
            }
        }
        most
    }

    /// One state in the middle and three at this distance from it.
    fn star(units: u32) -> DistanceTable {
        let distance = |i: usize, j: usize| match (i, j) {
            _ if i == j => 0,
            (0, _) | (_, 0) => units,
            _ => 2 * units,
        };
        let rows: Vec<Nats> =
            (0..16).map(|at| Nats::from_units(distance(at / 4, at % 4))).collect();
        DistanceTable::from_rows(4, rows.into()).unwrap()
    }

    #[test]
    fn no_corner_is_better() {
        let few =
            (0..40).map(|seed| (streets(2 + seed as usize % 2, seed), 0.2 + 0.1 * seed as f64));
        let stars = [20_000, 100_000, 1_000_000].map(|units| (star(units), 1.0));
        let mut without = 0;
        for (case, (distances, lambda)) in few.chain(stars).enumerate() {
            let share = [0.55, 0.7, 0.9][case % 3];
            let (eta, spare) = (lambda * share, lambda * (1.0 - share));
            let most = by_corners(&distances, eta, spare);
            let classes = Classes::of(&distances);
            let program = Program::new(&classes, eta, spare);
            let ones = vec![1.0; classes.len()];
            match program.solve(&ones, 0.5, &unwatched).unwrap() {
                Some(weights) => {
                    let sum: f64 = weights.iter().sum();
                    assert!((sum - most).abs() <= 1e-6 * most, "{case}: {sum} {most}");
                }
                None => {
                    assert!(most < 1e-6, "{case}: {most}");
                    without += 1;
                }
            }
        }
        assert!(without > 0);
    }
}
