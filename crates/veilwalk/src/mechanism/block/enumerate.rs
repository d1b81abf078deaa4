//! The exact distribution of a block, path by path: for small chains, and to check everything else.

use super::BlockMechanism;
use super::reach::Frontier;
use super::release::{BlockWorkspace, Keep, Layer};
use crate::chain::StateId;
use crate::mechanism::exponential::Weighed;

impl BlockMechanism {
    /// Every block that can be released, in order, with the logarithm of the probability with which
    /// it is drawn, rounded messages and all.
    ///
    /// # Panics
    ///
    /// If there are more real states than a block has steps.
    ///
    /// # Complexity
    ///
    /// The number of paths, which grows exponentially with their length.
    #[must_use]
    pub fn log_law(&self, previous: StateId, reals: &[StateId]) -> Vec<(Vec<StateId>, f64)> {
        let most = self.length.most_steps().get() as usize;
        assert!(reals.len() <= most, "{} steps in a block of {most}", reals.len());
        let mut space = BlockWorkspace::default();
        let layers = self.layers(&Frontier::at(previous), reals, None, Keep::All, &mut space);
        let mut paths = vec![(Vec::new(), 0.0)];
        for (&real, layer) in reals.iter().zip(&layers[1..]) {
            let longer = paths.iter().flat_map(|(path, log)| {
                let last = path.last().copied().unwrap_or(previous);
                let choices = self.log_choices(last, real, layer, &mut space);
                let extended = choices.into_iter().map(|(y, choice)| {
                    let path: Vec<StateId> = path.iter().copied().chain([y]).collect();
                    (path, log + choice)
                });
                extended.collect::<Vec<_>>()
            });
            paths = longer.collect();
        }
        paths
    }

    fn log_choices(
        &self,
        previous: StateId,
        real: StateId,
        layer: &Layer,
        space: &mut BlockWorkspace,
    ) -> Vec<(StateId, f64)> {
        self.fill_candidates(previous, real, layer, space);
        let denominator = self.scale.denominator() as f64;
        let candidates = space.candidates();
        let largest = candidates.iter().map(|candidate| candidate.weight.exponent()).max();
        let largest = largest.expect("every state has a successor");
        let log = |candidate: &Weighed| {
            candidate.weight.ln_above(largest) - candidate.cost as f64 / denominator
        };
        let logs: Vec<f64> = candidates.iter().map(log).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_total = most + logs.iter().map(|l| (l - most).exp()).sum::<f64>().ln();
        let successors = self.model().chain().successors(previous).iter().copied();
        successors.zip(logs.into_iter().map(|l| l - log_total)).collect()
    }
}
