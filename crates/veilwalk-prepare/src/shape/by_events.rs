//! Walks with a state for every event, split where nothing was heard for too long.

use veilwalk::StateId;

use super::{Output, Which};
use crate::moment::{Moment, SECOND};
use crate::settings::Stays;

/// Makes walks of the events of one person after another.
#[derive(Debug)]
pub(crate) struct ByEvents {
    /// In microseconds.
    gap: Option<i64>,
    stays: Stays,
    /// The state and the length of padded walks.
    padding: Option<(StateId, usize)>,
    /// The walk that is under way.
    states: Vec<StateId>,
    /// How many states of it were cut.
    cut: u64,
    last: Option<(Moment, StateId)>,
    number: u64,
}

impl ByEvents {
    pub(crate) fn new(gap: Option<u64>, stays: Stays, padding: Option<(StateId, usize)>) -> Self {
        let gap = gap.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX / SECOND));
        let gap = gap.map(|seconds| seconds.saturating_mul(SECOND));
        Self { gap, stays, padding, states: Vec::new(), cut: 0, last: None, number: 0 }
    }

    pub(super) fn event<E>(
        &mut self,
        moment: Moment,
        state: StateId,
        out: &mut Output<'_, E>,
    ) -> Result<(), E> {
        let last = self.last.replace((moment, state));
        if let (Some((before, _)), Some(gap)) = (last, self.gap)
            && moment.0 - before.0 > gap
        {
            self.give_walk(out)?;
        } else if self.stays == Stays::Merge && last.is_some_and(|(_, last)| last == state) {
            out.summary.stays_merged += 1;
            return Ok(());
        }
        match self.padding {
            Some((_, length)) if self.states.len() >= length => self.cut += 1,
            _ => self.states.push(state),
        }
        Ok(())
    }

    pub(super) fn person_over<E>(&mut self, out: &mut Output<'_, E>) -> Result<(), E> {
        self.give_walk(out)?;
        (self.last, self.number) = (None, 0);
        Ok(())
    }

    pub(super) fn last_state(&self) -> Option<StateId> {
        self.states.last().copied()
    }

    pub(super) fn give_walk<E>(&mut self, out: &mut Output<'_, E>) -> Result<(), E> {
        if self.states.is_empty() {
            return Ok(());
        }
        self.number += 1;
        out.summary.walks_of_one_state += u64::from(self.states.len() as u64 + self.cut == 1);
        out.summary.walks_cut += u64::from(self.cut > 0);
        out.summary.states_cut += self.cut;
        if let Some((end, length)) = self.padding {
            self.states.resize(length, end);
        }
        let which = if self.gap.is_some() { Which::Number(self.number) } else { Which::Only };
        out.give(which, &self.states)?;
        self.states.clear();
        self.cut = 0;
        Ok(())
    }
}
