//! The exact distribution of a released walk, path by path: for small chains, and to check everything
//! else.

use super::Sampler;
use super::release::{From, Keep, Layer};
use crate::chain::StateId;
use crate::mechanism::exponential::Weighed;
use crate::mechanism::{Mechanism, Workspace};

impl Mechanism {
    /// Every walk that can be released for these real states, after `previous` was, with the logarithm
    /// of its probability. In blocks it is one block, with the probability with which it is drawn,
    /// rounded messages and all.
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
        let mut space = Workspace::default();
        let block = self.sampler().map(|sampler| {
            sampler.check_length(reals);
            let start = sampler.frontier(From::After(previous));
            (sampler, sampler.layers(&start, reals, None, Keep::All, &mut space))
        });
        let block = block.as_ref().map(|(sampler, layers)| (sampler, &layers[..]));
        self.extended(vec![(Vec::new(), 0.0)], previous, reals, block, &mut space)
    }

    /// The same for a walk from a private start: every walk with the logarithm of its probability. In
    /// blocks it is the first block.
    ///
    /// # Panics
    ///
    /// If there is no real state, more than a block has, or the mechanism cannot start privately.
    #[must_use]
    pub fn log_law_from_start(&self, reals: &[StateId]) -> Vec<(Vec<StateId>, f64)> {
        let mut space = Workspace::default();
        let (&first, reals) = reals.split_first().expect("a walk has a first state");
        let response = self.private_start().expect("a mechanism that can start privately");
        let starts = |logs: Vec<f64>| {
            let states = response.candidates().iter().map(|&y| vec![y]);
            states.zip(logs).collect::<Vec<_>>()
        };
        let Some(sampler) = self.sampler().filter(|_| self.starts_in_a_block()) else {
            let paths = starts(response.log_kernel(first));
            return self.extended(paths, first, reals, None, &mut space);
        };
        sampler.check_length(reals);
        let frontier = sampler.frontier(From::Start(first));
        let layers = sampler.layers(&frontier, reals, None, Keep::AllWithFirst, &mut space);
        sampler.fill_first_candidates(first, &layers[0], &mut space);
        let denominator = response.scale().denominator() as f64;
        let paths = starts(log_shares(&space.block.candidates, denominator));
        self.extended(paths, first, reals, Some((&sampler, &layers)), &mut space)
    }

    /// Paths made longer by all that can follow them. The last state of an empty path is `previous`.
    fn extended(
        &self,
        mut paths: Vec<(Vec<StateId>, f64)>,
        previous: StateId,
        reals: &[StateId],
        block: Option<(&Sampler<'_>, &[Layer])>,
        space: &mut Workspace,
    ) -> Vec<(Vec<StateId>, f64)> {
        for (t, &real) in reals.iter().enumerate() {
            let longer = paths.iter().flat_map(|(path, log)| {
                let last = path.last().copied().unwrap_or(previous);
                let choices = match &block {
                    None => self.log_kernel(last, real),
                    Some((sampler, layers)) => {
                        sampler.log_choices(last, real, &layers[t + 1], space)
                    }
                };
                let successors = self.model().chain().successors(last).iter();
                let extended = successors.zip(choices).map(|(&y, choice)| {
                    let path: Vec<StateId> = path.iter().copied().chain([y]).collect();
                    (path, log + choice)
                });
                extended.collect::<Vec<_>>()
            });
            paths = longer.collect();
        }
        paths
    }
}

impl Sampler<'_> {
    fn log_choices(
        &self,
        previous: StateId,
        real: StateId,
        layer: &Layer,
        space: &mut Workspace,
    ) -> Vec<f64> {
        self.fill_candidates(previous, real, layer, space);
        let denominator = self.mechanism.scale(previous).denominator() as f64;
        log_shares(&space.block.candidates, denominator)
    }
}

/// The logarithms of the shares of what candidates weigh, given what their costs are over.
fn log_shares(candidates: &[Weighed], denominator: f64) -> Vec<f64> {
    let largest = candidates.iter().map(|candidate| candidate.weight.exponent()).max();
    let largest = largest.expect("every state has a successor");
    let log = |candidate: &Weighed| {
        candidate.weight.ln_above(largest) - candidate.cost as f64 / denominator
    };
    let logs: Vec<f64> = candidates.iter().map(log).collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let log_total = most + logs.iter().map(|l| (l - most).exp()).sum::<f64>().ln();
    logs.into_iter().map(|l| l - log_total).collect()
}
