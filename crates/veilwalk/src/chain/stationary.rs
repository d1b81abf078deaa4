//! The stationary distribution, for analysis.
//!
//! Up to a thousand states it comes from elimination in the order of Grassmann, Taksar and Heyman
//! (1985), which only adds, multiplies and divides non-negative numbers, so every entry is accurate
//! to many digits even when it is tiny or the chain mixes slowly. Larger chains use Gauss–Seidel
//! sweeps until the residual is small.

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

pub(super) fn stationary(chain: &Chain) -> Result<Vec<f64>, NotConverged> {
    if chain.len() <= DENSE_LIMIT { Ok(by_elimination(chain)) } else { by_sweeps(chain) }
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
