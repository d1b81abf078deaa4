//! Building a chain: from probabilities or counts, checked, with every repair asked for and told.

use std::sync::{Arc, OnceLock};

use thiserror::Error;

use super::{Chain, Initial, Length, Places, StateId, StateLabels, structure};
use crate::nats::Nats;
use crate::remedy::Remedy;

/// What the numbers given for transitions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Probabilities: every row has to sum to one.
    Probabilities,
    /// Counts: every row is divided by its sum.
    Counts,
}

/// What to do with rows of probabilities that do not sum to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowSums {
    /// Refuse a row that is off by more than [`ChainBuilder::TOLERANCE`].
    #[default]
    Check,
    /// Divide every row by its sum, whatever it is.
    Normalize,
}

/// Which states to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of them: a chain in which some state cannot be reached from another is refused.
    #[default]
    Whole,
    /// The largest set of states that can all reach each other; rows are divided by what remains.
    LargestComponent,
}

/// The choices a build makes on request only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildOptions {
    /// Rows that do not sum to one.
    pub row_sums: RowSums,
    /// Chains that are not irreducible.
    pub scope: Scope,
}

/// A row that was divided by a sum other than one.
#[derive(Clone, Debug, PartialEq)]
pub struct Rescaled {
    /// The state whose row it is.
    pub state: String,
    /// What the row summed to.
    pub sum: f64,
}

/// What a build did beyond taking the numbers as they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BuildReport {
    /// Rows of probabilities whose sum was off by more than the tolerance, and were rescaled.
    pub rescaled: Vec<Rescaled>,
    /// Labels of states outside the largest component.
    pub dropped_states: Vec<String>,
    /// Transitions that touch a dropped state.
    pub dropped_transitions: usize,
    /// The period of the chain; above one it is periodic, and long-run figures do not exist.
    pub period: usize,
}

/// Why something is not a chain.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ChainError {
    /// No transitions at all.
    #[error("there are no transitions; a chain needs at least one state that can move")]
    Empty,
    /// An entry that is not a finite number from zero up.
    #[error("the entry {value} from {from:?} to {to:?} is not a finite number from zero up")]
    BadEntry {
        /// Where the transition starts.
        from: String,
        /// Where it ends.
        to: String,
        /// The entry.
        value: f64,
    },
    /// The same transition twice.
    #[error("the transition from {from:?} to {to:?} is given twice; give each transition once")]
    Duplicate {
        /// Where the transition starts.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// A transition without a length beside others that have one.
    #[error(
        "the transition from {from:?} to {to:?} has no length, and others have one; give all of them a \
         length, or none"
    )]
    NoLength {
        /// Where the transition starts.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// Two states with one label.
    #[error("the label {0:?} stands for two states; give each state a label of its own")]
    DuplicateLabel(String),
    /// A row of probabilities that does not sum to one.
    #[error(
        "the probabilities out of {state:?} sum to {sum:.9}, not to 1; correct them, or rescale \
         every row with {}",
        Remedy::Normalize
    )]
    RowSum {
        /// The state whose row it is.
        state: String,
        /// What the row sums to.
        sum: f64,
    },
    /// A state that cannot be left.
    #[error(
        "the state {0:?} has no way out; add a transition from it (to itself, if it is final), or \
         keep only the part of the chain that can be walked forever with {how}",
        how = Remedy::LargestComponent
    )]
    NoWayOut(String),
    /// A state with more ways out than a step can choose from.
    #[error(
        "the state {state:?} can move to {moves} states, and the limit is {}; leave out the least \
         likely moves",
        Chain::MOST_SUCCESSORS
    )]
    TooManyMoves {
        /// The state.
        state: String,
        /// To how many states it can move.
        moves: usize,
    },
    /// Some state cannot be reached from another.
    #[error(
        "the state {to:?} cannot be reached from {from:?}; add the missing transitions, or keep \
         the largest part whose states all reach each other with {}",
        Remedy::LargestComponent
    )]
    NotIrreducible {
        /// A state from which `to` cannot be reached.
        from: String,
        /// The state that cannot be reached.
        to: String,
    },
}

/// Collects states and transitions, then checks them and makes a [`Chain`].
///
/// ```
/// use veilwalk::chain::{ChainBuilder, Entries};
///
/// let mut builder = ChainBuilder::new(Entries::Probabilities);
/// let (sun, rain) = (builder.state("sun"), builder.state("rain"));
/// builder.transition(sun, sun, 0.8)?;
/// builder.transition(sun, rain, 0.2)?;
/// builder.transition(rain, sun, 1.0)?;
/// let (chain, report) = builder.build(Default::default())?;
/// assert_eq!(chain.successors(sun), [sun, rain]);
/// assert_eq!(report.period, 1);
/// # Ok::<(), veilwalk::chain::ChainError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChainBuilder {
    entries: Entries,
    labels: StateLabels,
    edges: Vec<Edge>,
}

/// A transition as it was given.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: StateId,
    to: StateId,
    entry: f64,
    length: Option<Length>,
}

impl ChainBuilder {
    /// How far a row of probabilities may be from one. Within it, a row is divided by its sum:
    /// that much is the rounding of decimals in a file.
    pub const TOLERANCE: f64 = 1e-6;

    /// A builder for entries of this kind.
    #[must_use]
    pub fn new(entries: Entries) -> Self {
        Self { entries, labels: StateLabels::default(), edges: Vec::new() }
    }

    /// The state with this label, made if it is new. States are numbered as they come.
    pub fn state(&mut self, label: &str) -> StateId {
        self.labels.add(label).unwrap_or_else(|known| known)
    }

    /// The states so far.
    pub(super) fn labels(&self) -> &StateLabels {
        &self.labels
    }

    /// A state that must be new.
    ///
    /// # Errors
    ///
    /// If the label is taken.
    pub fn new_state(&mut self, label: &str) -> Result<StateId, ChainError> {
        self.labels.add(label).map_err(|_| ChainError::DuplicateLabel(label.to_owned()))
    }

    /// Adds a transition. An entry of zero says that the move is impossible.
    ///
    /// # Errors
    ///
    /// If the entry is negative, infinite or not a number. (That a transition was given twice is
    /// found by [`ChainBuilder::build`].)
    pub fn transition(&mut self, from: StateId, to: StateId, entry: f64) -> Result<(), ChainError> {
        self.add(Edge { from, to, entry, length: None })
    }

    /// Adds a transition that is this long. In a chain that knows lengths every transition has one.
    ///
    /// # Errors
    ///
    /// As [`ChainBuilder::transition`]. (That another transition has no length is found by
    /// [`ChainBuilder::build`].)
    pub fn transition_of_length(
        &mut self,
        from: StateId,
        to: StateId,
        entry: f64,
        length: Length,
    ) -> Result<(), ChainError> {
        self.add(Edge { from, to, entry, length: Some(length) })
    }

    fn add(&mut self, edge: Edge) -> Result<(), ChainError> {
        let Edge { from, to, entry, .. } = edge;
        if !entry.is_finite() || entry < 0.0 {
            return Err(ChainError::BadEntry {
                from: self.labels.get(from.index()).to_owned(),
                to: self.labels.get(to.index()).to_owned(),
                value: entry,
            });
        }
        self.edges.push(edge);
        Ok(())
    }

    /// Checks everything and makes the chain, with a uniform initial distribution.
    ///
    /// # Errors
    ///
    /// Whatever makes it no chain, with the state's label and what to do.
    pub fn build(mut self, options: BuildOptions) -> Result<(Chain, BuildReport), ChainError> {
        self.refuse_duplicates()?;
        self.edges.retain(|edge| edge.entry > 0.0);
        if self.edges.is_empty() {
            return Err(ChainError::Empty);
        }
        let mut report = BuildReport::default();
        // A row of probabilities is judged as it was given, before any state is dropped.
        if self.entries == Entries::Probabilities {
            self.check_row_sums(options.row_sums, &mut report)?;
        }
        if options.scope == Scope::LargestComponent {
            self.keep_largest_component(&mut report);
            if self.edges.is_empty() {
                return Err(ChainError::Empty);
            }
        }
        self.refuse_dead_ends()?;
        let row_starts = row_starts(self.labels.len(), &self.edges);
        refuse_too_many_moves(&row_starts, |state| self.labels.get(state).to_owned())?;
        let targets: Vec<StateId> = self.edges.iter().map(|e| e.to).collect();
        if let Some((from, to)) = structure::unreachable_pair(&row_starts, &targets) {
            return Err(ChainError::NotIrreducible {
                from: self.labels.get(from.index()).to_owned(),
                to: self.labels.get(to.index()).to_owned(),
            });
        }
        let probabilities = self.divided_rows(&row_starts);
        let weights: Vec<Nats> = probabilities.iter().map(|&p| Nats::weight_of(p)).collect();
        let places = self
            .lengths()?
            .map(|lengths| Arc::new(Places { lengths: Some(lengths), ..Places::default() }));
        let initial = Initial::uniform(self.labels.len());
        let chain = Chain {
            labels: self.labels,
            row_starts,
            targets: targets.into(),
            probabilities: probabilities.into(),
            weights: weights.into(),
            initial,
            places,
            hash: OnceLock::new(),
        };
        report.period = chain.period();
        Ok((chain, report))
    }

    /// Sorts the transitions, and refuses one that is there twice.
    fn refuse_duplicates(&mut self) -> Result<(), ChainError> {
        // Most come in order, which a stable sort notices.
        self.edges.sort_by_key(|edge| (edge.from, edge.to));
        match self.edges.windows(2).find(|w| (w[0].from, w[0].to) == (w[1].from, w[1].to)) {
            None => Ok(()),
            Some(w) => Err(ChainError::Duplicate {
                from: self.labels.get(w[0].from.index()).to_owned(),
                to: self.labels.get(w[0].to.index()).to_owned(),
            }),
        }
    }

    fn check_row_sums(&self, rule: RowSums, report: &mut BuildReport) -> Result<(), ChainError> {
        for row in self.edges.chunk_by(|a, b| a.from == b.from) {
            let sum: f64 = row.iter().map(|e| e.entry).sum();
            if (sum - 1.0).abs() <= Self::TOLERANCE {
                continue;
            }
            let state = self.labels.get(row[0].from.index()).to_owned();
            match rule {
                RowSums::Check => return Err(ChainError::RowSum { state, sum }),
                RowSums::Normalize => report.rescaled.push(Rescaled { state, sum }),
            }
        }
        Ok(())
    }

    fn refuse_dead_ends(&self) -> Result<(), ChainError> {
        let mut leaves = vec![false; self.labels.len()];
        for edge in &self.edges {
            leaves[edge.from.index()] = true;
        }
        match leaves.iter().position(|&can_leave| !can_leave) {
            None => Ok(()),
            Some(stuck) => Err(ChainError::NoWayOut(self.labels.get(stuck).to_owned())),
        }
    }

    /// Drops every state outside the largest strongly connected part, and renumbers the rest.
    fn keep_largest_component(&mut self, report: &mut BuildReport) {
        let row_starts = row_starts(self.labels.len(), &self.edges);
        let targets: Vec<StateId> = self.edges.iter().map(|e| e.to).collect();
        let keep = structure::largest_component(&row_starts, &targets);
        let mut new_id = vec![None; self.labels.len()];
        let mut kept = StateLabels::default();
        for (old, label) in self.labels.iter().enumerate() {
            if keep[old] {
                new_id[old] = kept.add(label).ok();
            } else {
                report.dropped_states.push(label.to_owned());
            }
        }
        let before = self.edges.len();
        self.edges = std::mem::take(&mut self.edges)
            .into_iter()
            .filter_map(|edge| {
                let (from, to) = (new_id[edge.from.index()]?, new_id[edge.to.index()]?);
                Some(Edge { from, to, ..edge })
            })
            .collect();
        report.dropped_transitions = before - self.edges.len();
        self.labels = kept;
    }

    /// The lengths of all transitions, or of none.
    fn lengths(&self) -> Result<Option<Vec<Length>>, ChainError> {
        if self.edges.iter().all(|edge| edge.length.is_none()) {
            return Ok(None);
        }
        let length = |edge: &Edge| {
            let label = |state: StateId| self.labels.get(state.index()).to_owned();
            let no_length = || ChainError::NoLength { from: label(edge.from), to: label(edge.to) };
            edge.length.ok_or_else(no_length)
        };
        self.edges.iter().map(length).collect::<Result<_, _>>().map(Some)
    }

    fn divided_rows(&self, row_starts: &[usize]) -> Vec<f64> {
        let mut probabilities = Vec::with_capacity(self.edges.len());
        for bounds in row_starts.windows(2) {
            let row = &self.edges[bounds[0]..bounds[1]];
            let sum: f64 = row.iter().map(|e| e.entry).sum();
            // A quotient can round to zero, or a lone entry to just above one; neither is a
            // probability of a possible move.
            probabilities.extend(row.iter().map(|e| (e.entry / sum).clamp(f64::MIN_POSITIVE, 1.0)));
        }
        probabilities
    }
}

fn refuse_too_many_moves(
    row_starts: &[usize],
    label: impl Fn(usize) -> String,
) -> Result<(), ChainError> {
    let moves = |row: &[usize]| row[1] - row[0];
    match row_starts.windows(2).position(|row| moves(row) > Chain::MOST_SUCCESSORS) {
        None => Ok(()),
        Some(state) => {
            let moves = moves(&row_starts[state..state + 2]);
            Err(ChainError::TooManyMoves { state: label(state), moves })
        }
    }
}

/// Where each row starts in a list of transitions sorted by their first state.
fn row_starts(states: usize, edges: &[Edge]) -> Vec<usize> {
    let mut starts = vec![0; states + 1];
    for edge in edges {
        starts[edge.from.index() + 1] += 1;
    }
    for i in 0..states {
        starts[i + 1] += starts[i];
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(
        entries: Entries,
        edges: &[(&str, &str, f64)],
        options: BuildOptions,
    ) -> Result<(Chain, BuildReport), ChainError> {
        let mut builder = ChainBuilder::new(entries);
        for &(from, to, entry) in edges {
            let (from, to) = (builder.state(from), builder.state(to));
            builder.transition(from, to, entry)?;
        }
        builder.build(options)
    }

    fn refused(entries: Entries, edges: &[(&str, &str, f64)]) -> String {
        build(entries, edges, BuildOptions::default()).unwrap_err().to_string()
    }

    #[test]
    fn counts_become_shares() {
        let edges = [("a", "b", 3.0), ("a", "a", 1.0), ("b", "a", 7.0)];
        let (chain, report) = build(Entries::Counts, &edges, BuildOptions::default()).unwrap();
        let a = chain.state("a").unwrap();
        assert_eq!(chain.probabilities(a), [0.25, 0.75]);
        assert!(report.rescaled.is_empty());
    }

    #[test]
    fn what_is_no_chain_is_refused_by_name() {
        use Entries::Probabilities as P;
        assert!(refused(P, &[]).contains("no transitions"));
        assert!(refused(P, &[("a", "b", -0.5)]).contains("from \"a\" to \"b\""));
        assert!(refused(P, &[("a", "b", f64::NAN)]).contains("NaN"));
        assert!(refused(P, &[("a", "a", 0.5), ("a", "a", 0.5)]).contains("given twice"));
        assert!(refused(P, &[("a", "a", 0.9)]).contains("sum to 0.900000000"));
        assert!(refused(P, &[("a", "b", 1.0)]).contains("\"b\" has no way out"));
        let one_way = [("a", "b", 1.0), ("b", "b", 1.0)];
        assert!(refused(P, &one_way).contains("\"a\" cannot be reached from \"b\""));
        let mut builder = ChainBuilder::new(P);
        builder.state("a");
        assert_eq!(builder.new_state("a"), Err(ChainError::DuplicateLabel("a".into())));
    }

    #[test]
    fn rescaling_is_reported() {
        let options = BuildOptions { row_sums: RowSums::Normalize, ..Default::default() };
        let edges = [("a", "a", 0.5), ("a", "b", 0.4), ("b", "a", 1.0)];
        let (chain, report) = build(Entries::Probabilities, &edges, options).unwrap();
        assert_eq!(report.rescaled, [Rescaled { state: "a".into(), sum: 0.9 }]);
        let a = chain.state("a").unwrap();
        assert!((chain.probabilities(a).iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_largest_component_is_kept_and_the_rest_named() {
        let options = BuildOptions { scope: Scope::LargestComponent, ..Default::default() };
        let edges = [
            ("in", "a", 1.0),
            ("a", "b", 1.0),
            ("b", "a", 2.0),
            ("b", "out", 2.0),
            ("out", "out", 1.0),
        ];
        let (chain, report) = build(Entries::Counts, &edges, options).unwrap();
        assert_eq!(chain.len(), 2);
        assert_eq!(report.dropped_states, ["in", "out"]);
        assert_eq!(report.dropped_transitions, 3);
        assert_eq!(report.period, 2);
        assert_eq!(chain.probabilities(chain.state("b").unwrap()), [1.0]);
    }

    #[test]
    fn more_moves_than_a_step_can_choose_from_are_refused() {
        let most = Chain::MOST_SUCCESSORS;
        let label = |state: usize| ["hub", "end"][state].to_owned();
        assert_eq!(refuse_too_many_moves(&[0, most, most + 1], label), Ok(()));
        let refused = refuse_too_many_moves(&[0, 1, most + 2], label).unwrap_err();
        assert_eq!(refused, ChainError::TooManyMoves { state: "end".into(), moves: most + 1 });
        assert!(refused.to_string().contains("the limit is 16777215"), "{refused}");
    }

    #[test]
    fn zero_entries_are_no_transitions() {
        let edges = [("a", "a", 1.0), ("a", "b", 0.0), ("b", "a", 1.0)];
        let error = build(Entries::Probabilities, &edges, BuildOptions::default()).unwrap_err();
        assert!(matches!(error, ChainError::NotIrreducible { .. }));
    }
}
