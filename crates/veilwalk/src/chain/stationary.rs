//! The stationary distribution, for analysis.
//!
//! Up to a thousand states it comes from elimination in the order of Grassmann, Taksar and Heyman
//! (1985), which only adds, multiplies and divides non-negative numbers, so every entry is accurate
//! to many digits even when it is tiny or the chain mixes slowly. Larger chains use Gauss–Seidel
//! sweeps until the residual is small. Where it stays large, as on the streets of a country, the same elimination is done
//! with sparse rows, the states with the fewest moves first: on a map few moves arise by it.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::Chain;

/// The iteration for the stationary distribution has not settled.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "the stationary distribution has not settled after {sweeps} sweeps (residual {residual:.1e}); \
     the chain mixes very slowly"
)]
pub struct NotConverged {
    /// How many sweeps were made.
    pub sweeps: usize,
    /// The L1 norm of `μP − μ` at the end.
    pub residual: f64,
}

const DENSE_LIMIT: usize = 1000;
const MAX_SWEEPS: usize = 20_000;
/// From more states than this on, all sweeps would take hours.
const LARGE: usize = 16_384;
/// Transitions looked at before giving up on a chain that is so large.
const MOST_WORK: usize = 500_000_000;
const FEWEST_SWEEPS: usize = 300;
const RESIDUAL: f64 = 1e-12;
/// Moves that arise by elimination before giving up: some seconds.
const MOST_MOVES: usize = 30_000_000;

pub(super) fn stationary(chain: &Chain) -> Result<Vec<f64>, NotConverged> {
    if chain.len() <= DENSE_LIMIT {
        return Ok(by_elimination(chain));
    }
    by_sweeps(chain).or_else(|error| match chain.len() <= LARGE {
        true => by_sparse_elimination(chain).ok_or(error),
        false => Err(error),
    })
}

fn by_elimination(chain: &Chain) -> Vec<f64> {
    let n = chain.len();
    let mut a = vec![0.0; n * n];
    for i in chain.states() {
        for (j, p) in chain.successors(i).iter().zip(chain.probabilities(i)) {
            a[i.index() * n + j.index()] = *p;
        }
    }
    // Remove the states from the last to the second; what remains is the chain watched only while
    // it is in the earlier states.
    for k in (1..n).rev() {
        let leave: f64 = a[k * n..k * n + k].iter().sum();
        for i in 0..k {
            a[i * n + k] /= leave;
            let through = a[i * n + k];
            if through > 0.0 {
                let (upper, lower) = a.split_at_mut(k * n);
                let row = &mut upper[i * n..i * n + k];
                row.iter_mut().zip(&lower[..k]).for_each(|(x, y)| *x += through * y);
            }
        }
    }
    let mut mu = vec![0.0; n];
    mu[0] = 1.0;
    for k in 1..n {
        mu[k] = (0..k).map(|i| mu[i] * a[i * n + k]).sum();
    }
    let total: f64 = mu.iter().sum();
    mu.iter_mut().for_each(|x| *x /= total);
    mu
}

/// The same with sparse rows; none if too many moves arise.
fn by_sparse_elimination(chain: &Chain) -> Option<Vec<f64>> {
    let n = chain.len();
    let mut moves: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); n];
    let mut from: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); n];
    for i in chain.states() {
        for (j, &p) in chain.successors(i).iter().zip(chain.probabilities(i)) {
            // What stays where it is takes longer, and changes nothing else.
            if i != *j {
                moves[i.index()].insert(j.index(), p);
                from[j.index()].insert(i.index());
            }
        }
    }
    let cost =
        |k: usize, moves: &[BTreeMap<_, _>], from: &[BTreeSet<_>]| moves[k].len() * from[k].len();
    let mut keys: Vec<usize> = (0..n).map(|k| cost(k, &moves, &from)).collect();
    let mut waiting: BTreeSet<(usize, usize)> = keys.iter().copied().zip(0..n).collect();
    let mut made = 0;
    // Each state that was removed, and the share of others' visits that gives its own.
    let mut removed: Vec<(usize, Vec<(usize, f64)>)> = Vec::with_capacity(n);
    while waiting.len() > 1 {
        let (_, k) = waiting.pop_first()?;
        let onward = std::mem::take(&mut moves[k]);
        let into = std::mem::take(&mut from[k]);
        let leave: f64 = onward.values().sum();
        made += onward.len() * into.len();
        if made > MOST_MOVES {
            return None;
        }
        let touched: BTreeSet<usize> = into.iter().chain(onward.keys()).copied().collect();
        for &state in &touched {
            waiting.remove(&(keys[state], state));
        }
        let mut shares = Vec::with_capacity(into.len());
        for &j in onward.keys() {
            from[j].remove(&k);
        }
        for &i in &into {
            let through = moves[i].remove(&k).unwrap_or(0.0) / leave;
            shares.push((i, through));
            for (&j, p) in onward.iter().filter(|(j, _)| **j != i) {
                *moves[i].entry(j).or_insert(0.0) += through * p;
                from[j].insert(i);
            }
        }
        for &state in &touched {
            keys[state] = cost(state, &moves, &from);
            waiting.insert((keys[state], state));
        }
        removed.push((k, shares));
    }
    let mut mu = vec![0.0; n];
    mu[waiting.pop_first()?.1] = 1.0;
    for (k, shares) in removed.iter().rev() {
        mu[*k] = shares.iter().map(|&(i, share)| mu[i] * share).sum();
    }
    let total: f64 = mu.iter().sum();
    mu.iter_mut().for_each(|x| *x /= total);
    Some(mu)
}

fn by_sweeps(chain: &Chain) -> Result<Vec<f64>, NotConverged> {
    let n = chain.len();
    let mut incoming: Vec<Vec<(u32, f64)>> = vec![Vec::new(); n];
    let mut stay = vec![0.0; n];
    for i in chain.states() {
        for (j, &p) in chain.successors(i).iter().zip(chain.probabilities(i)) {
            if i == *j {
                stay[i.index()] = p;
            } else {
                incoming[j.index()].push((i.index() as u32, p));
            }
        }
    }
    let mut mu = vec![1.0 / n as f64; n];
    let mut residual = f64::INFINITY;
    let sweeps = match n > LARGE {
        true => (MOST_WORK / chain.transitions()).clamp(FEWEST_SWEEPS, MAX_SWEEPS),
        false => MAX_SWEEPS,
    };
    for _ in 0..sweeps {
        for j in 0..n {
            let inflow: f64 = incoming[j].iter().map(|&(i, p)| mu[i as usize] * p).sum();
            mu[j] = inflow / (1.0 - stay[j]);
        }
        let total: f64 = mu.iter().sum();
        mu.iter_mut().for_each(|x| *x /= total);
        residual = (0..n)
            .map(|j| {
                let inflow: f64 = incoming[j].iter().map(|&(i, p)| mu[i as usize] * p).sum();
                (inflow + mu[j] * stay[j] - mu[j]).abs()
            })
            .sum();
        if residual < RESIDUAL {
            return Ok(mu);
        }
    }
    Err(NotConverged { sweeps, residual })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_ways_agree() {
        for chain in [Chain::credit(), Chain::downtown()] {
            let (a, b) = (by_elimination(&chain), by_sweeps(&chain).unwrap());
            for (x, y) in a.iter().zip(&b) {
                assert!((x - y).abs() < 1e-9, "{x} and {y}");
            }
        }
    }

    #[test]
    fn sparse_elimination_agrees_with_that_of_a_matrix() {
        let grid = |side: u32, seed| {
            let side = side.try_into().unwrap();
            Chain::grid(crate::chain::Grid { width: side, height: side, seed }).unwrap()
        };
        for chain in [Chain::credit(), Chain::downtown(), grid(5, 1), grid(12, 3)] {
            let (a, b) = (by_elimination(&chain), by_sparse_elimination(&chain).unwrap());
            for (x, y) in a.iter().zip(&b) {
                assert!((x - y).abs() <= 1e-12 * x, "{x} and {y}");
            }
        }
    }

    /// A line of 1,200 states that is seldom walked from end to end: sweeps do not settle.
    #[test]
    fn a_chain_that_mixes_slowly() {
        use crate::chain::{BuildOptions, ChainBuilder, Entries};
        let n = 1200;
        let mut builder = ChainBuilder::new(Entries::Counts);
        let states: Vec<_> = (0..n).map(|k| builder.state(&k.to_string())).collect();
        for k in 1..n {
            builder.transition(states[k - 1], states[k], 1.0).unwrap();
            builder.transition(states[k], states[k - 1], 1.0).unwrap();
        }
        let (chain, _) = builder.build(BuildOptions::default()).unwrap();
        assert!(by_sweeps(&chain).is_err());
        let mu = stationary(&chain).unwrap();
        // The ends have one neighbour, the others two.
        let inner = 1.0 / (n - 1) as f64;
        for (k, x) in mu.iter().enumerate() {
            let expected = if k == 0 || k == n - 1 { inner / 2.0 } else { inner };
            assert!((x - expected).abs() < 1e-12 * expected, "{k}: {x}");
        }
    }

    #[test]
    fn it_is_a_fixed_point() {
        let chain = Chain::downtown();
        let mu = chain.stationary().unwrap();
        let mut next = vec![0.0; mu.len()];
        for i in chain.states() {
            for (j, p) in chain.successors(i).iter().zip(chain.probabilities(i)) {
                next[j.index()] += mu[i.index()] * p;
            }
        }
        assert!(mu.iter().zip(&next).all(|(x, y)| (x - y).abs() < 1e-14));
    }
}
