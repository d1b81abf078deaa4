//! Even chains: every move of a state is as likely as the others. It is what somebody knows who has a map and nothing else.

use super::{BuildOptions, Chain, ChainBuilder, ChainError, Entries};

impl Chain {
    /// Whether every move of a state is as likely as the state's other moves, so that the chain says where one can go and
    /// not where people do.
    #[must_use]
    pub fn is_even(&self) -> bool {
        self.states().all(|from| {
            let row = self.probabilities(from);
            row.iter().all(|p| *p == row[0])
        })
    }

    /// The chain with the same states and moves, in which every move of a state is as likely as the others. It keeps how
    /// long moves are and where states lie; walks start anywhere.
    ///
    /// # Errors
    ///
    /// Never, for a chain that could be built.
    pub fn evened(&self) -> Result<Self, ChainError> {
        let mut builder = ChainBuilder::new(Entries::Counts);
        for state in self.states() {
            builder.new_state(self.label(state))?;
        }
        for from in self.states() {
            for &to in self.successors(from) {
                builder.transition(from, to, 1.0)?;
            }
        }
        let (mut even, _) = builder.build(BuildOptions::default())?;
        // The same moves in the same order, so what is known of places holds as it is.
        even.places.clone_from(&self.places);
        Ok(even)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evened_chains_have_the_same_moves() {
        for chain in [Chain::credit(), Chain::downtown()] {
            let even = chain.evened().unwrap();
            assert!(even.is_even() && !chain.is_even());
            assert_eq!(even.places(), chain.places());
            for from in chain.states() {
                assert_eq!(even.label(from), chain.label(from));
                assert_eq!(even.successors(from), chain.successors(from));
                let each = 1.0 / chain.successors(from).len() as f64;
                assert!(even.probabilities(from).iter().all(|p| (p - each).abs() < 1e-15));
            }
        }
    }
}
