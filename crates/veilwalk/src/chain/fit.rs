//! Fitting a chain: counting the transitions of given walks.

use std::collections::HashMap;

use super::{BuildOptions, BuildReport, Chain, ChainBuilder, ChainError, Entries, StateId};

/// Counts of the transitions seen in walks.
///
/// The fitted chain becomes public with everything released under it, and it tells about the walks
/// it was fitted on. Fit on walks that need no protection.
///
/// ```
/// use veilwalk::chain::TransitionCounts;
///
/// let mut counts = TransitionCounts::new();
/// counts.add_walk(["home", "shop", "home", "work", "home"]);
/// let (chain, _) = counts.build(Default::default())?;
/// let home = chain.state("home").unwrap();
/// assert_eq!(chain.probabilities(home), [0.5, 0.5]);
/// # Ok::<(), veilwalk::chain::ChainError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TransitionCounts {
    builder: ChainBuilder,
    counts: HashMap<(StateId, StateId), u64>,
}

impl Default for TransitionCounts {
    fn default() -> Self {
        Self::new()
    }
}

impl TransitionCounts {
    /// No transitions yet.
    #[must_use]
    pub fn new() -> Self {
        Self { builder: ChainBuilder::new(Entries::Counts), counts: HashMap::new() }
    }

    /// The state with this label, made if it is new.
    pub fn state(&mut self, label: &str) -> StateId {
        self.builder.state(label)
    }

    /// Counts one move.
    pub fn add(&mut self, from: StateId, to: StateId) {
        *self.counts.entry((from, to)).or_insert(0) += 1;
    }

    /// Counts the moves of a whole walk.
    pub fn add_walk<'a>(&mut self, labels: impl IntoIterator<Item = &'a str>) {
        let mut previous = None;
        for label in labels {
            let state = self.state(label);
            if let Some(previous) = previous.replace(state) {
                self.add(previous, state);
            }
        }
    }

    /// How many moves were counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The chain whose probabilities are the shares of the counts.
    ///
    /// # Errors
    ///
    /// If the transitions do not make a chain, as [`ChainBuilder::build`] says.
    pub fn build(self, options: BuildOptions) -> Result<(Chain, BuildReport), ChainError> {
        let (chain, _, report) = self.build_counted(options)?;
        Ok((chain, report))
    }

    /// The same, with the count of each of the chain's transitions in its order.
    ///
    /// # Errors
    ///
    /// As [`TransitionCounts::build`].
    pub fn build_counted(
        self,
        options: BuildOptions,
    ) -> Result<(Chain, Vec<f64>, BuildReport), ChainError> {
        let Self { mut builder, counts } = self;
        for (&(from, to), &count) in &counts {
            builder.transition(from, to, count as f64)?;
        }
        let labels = builder.labels().clone();
        let (chain, report) = builder.build(options)?;
        // States may have been dropped, and the others have new numbers.
        let own = |state| labels.find(chain.label(state));
        let count = |from, to| Some(*counts.get(&(own(from)?, own(to)?))? as f64);
        let counts = chain
            .states()
            .flat_map(|from| chain.successors(from).iter().map(move |&to| (from, to)))
            .map(|(from, to)| count(from, to).unwrap_or_default())
            .collect();
        Ok((chain, counts, report))
    }
}
