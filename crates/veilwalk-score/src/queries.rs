//! What somebody would ask for: how many walks pass through a part of the map.
//!
//! A part is a state with those around it: as many states as can be reached over the fewest moves in either
//! direction. The parts are drawn from the public chain alone, always the same for the same chain.

use std::collections::VecDeque;

use veilwalk::internal::random::uniform_below;
use veilwalk::{Chain, Source, StateId};

/// Some parts of the map.
#[derive(Clone, Debug)]
pub struct Queries {
    count: usize,
    /// For each state, the parts it is in.
    parts_of: Vec<Vec<u32>>,
}

impl Queries {
    /// So many parts of the map of a chain, each of up to a tenth of the states.
    #[must_use]
    pub fn new(chain: &Chain, count: usize) -> Self {
        let mut neighbours: Vec<Vec<StateId>> = vec![Vec::new(); chain.len()];
        for from in chain.states() {
            for &to in chain.successors(from) {
                neighbours[from.index()].push(to);
                neighbours[to.index()].push(from);
            }
        }
        let source = Source::seeded(0).open(chain.hash().0);
        let mut randomness = source.expect("a seed needs nothing of the operating system");
        let key = randomness.walk(b"parts of the map");
        let words = randomness.at(&key, 0, None);
        let mut parts_of = vec![Vec::new(); chain.len()];
        let largest = chain.len().div_ceil(10) as u64;
        for part in 0..count {
            let middle = uniform_below(words, chain.len() as u64) as usize;
            let size = 1 + uniform_below(words, largest) as usize;
            for state in around(&neighbours, middle, size) {
                parts_of[state].push(part as u32);
            }
        }
        Self { count, parts_of }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The parts that a state is in.
    pub(crate) fn of(&self, state: StateId) -> &[u32] {
        &self.parts_of[state.index()]
    }
}

/// A state and those that are nearest, in moves.
fn around(neighbours: &[Vec<StateId>], middle: usize, size: usize) -> Vec<usize> {
    let (mut met, mut next) = (vec![middle], VecDeque::from([middle]));
    while let Some(state) = next.pop_front() {
        for neighbour in &neighbours[state] {
            if met.len() == size {
                return met;
            }
            // Parts are small beside the chain, and looking through them is quick.
            if !met.contains(&neighbour.index()) {
                met.push(neighbour.index());
                next.push_back(neighbour.index());
            }
        }
    }
    met
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_near_and_always_the_same() {
        let chain = Chain::downtown();
        let (one, two) = (Queries::new(&chain, 50), Queries::new(&chain, 50));
        assert_eq!(one.parts_of, two.parts_of);
        let mut sizes = vec![0; 50];
        one.parts_of.iter().flatten().for_each(|&part| sizes[part as usize] += 1);
        assert!(sizes.iter().all(|&size| (1..=5).contains(&size)), "{sizes:?}");
        assert!(sizes.iter().any(|&size| size > 1));
        let ring: Vec<Vec<StateId>> =
            (0..6usize).map(|i| [(i + 1) % 6, (i + 5) % 6].map(StateId::new).to_vec()).collect();
        let mut part = around(&ring, 2, 3);
        part.sort_unstable();
        assert_eq!(part, [1, 2, 3]);
    }
}
