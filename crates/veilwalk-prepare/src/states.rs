//! Sorts events and makes walks of them, where no streets are matched.

use hashbrown::HashSet;
use veilwalk::StateId;

use crate::error::{EventError, PrepareError};
use crate::moment::Moment;
use crate::names::Names;
use crate::places::PlaceNumbers;
use crate::preparation::{AddError, Entry, EventAt};
use crate::settings::{Limits, Settings, Shaping};
use crate::shape::{Output, Shaper};
use crate::sorter::{InOrder, Numbered, Sorter};

/// Takes events in any order.
#[derive(Debug)]
pub(crate) struct StateEvents {
    places: PlaceNumbers,
    sorter: Sorter<Numbered>,
}

impl StateEvents {
    pub(crate) fn new(settings: &Settings) -> Self {
        let most = settings.limits.states.unwrap_or(Limits::STATES);
        Self {
            places: PlaceNumbers::new(settings.places, most),
            sorter: Sorter::new(settings.limits.memory),
        }
    }

    pub(crate) fn add(
        &mut self,
        at: EventAt<'_>,
        Entry { time, order, person }: Entry,
        settings: &Settings,
    ) -> Result<(), AddError> {
        if let Shaping::Events { padding: Some(padding), .. } = &settings.shaping
            && at == EventAt::State(&padding.end)
        {
            return Err(EventError::EndIsAState(padding.end.clone()).into());
        }
        let state = self.places.number(at)?;
        self.sorter
            .push(Numbered { time: time.0, order, person, state })
            .map_err(PrepareError::from)?;
        Ok(())
    }

    /// The labels of the states, and the events in order. A log in which hardly any two events share a state is refused.
    pub(crate) fn finish(
        self,
        settings: &Settings,
        events: u64,
    ) -> Result<(Names, InOrder<Numbered>), PrepareError> {
        let states = self.places.len();
        let shared = settings.limits.states.is_some()
            || states <= Limits::FEW_STATES
            || 2 * states as u64 <= events;
        if !shared {
            let are = settings.places.states_are();
            return Err(PrepareError::EveryEventAState { states, events, are });
        }
        Ok((self.places.into_labels(), self.sorter.finish()?))
    }
}

/// Makes walks of events in order.
pub(crate) fn shape<E: From<PrepareError>>(
    events: InOrder<Numbered>,
    shaper: &mut Shaper,
    out: &mut Output<'_, E>,
) -> Result<(), E> {
    let mut same_time = SameTime::default();
    let mut person = None;
    for event in events {
        let event = event.map_err(PrepareError::from)?;
        if person.replace(event.person).is_some_and(|before| before != event.person) {
            shaper.person_over(out)?;
        }
        out.person = event.person;
        match same_time.look(&event) {
            Seen::Before => {
                out.summary.repeats += 1;
                continue;
            }
            Seen::Elsewhere => out.summary.at_one_time += 1,
            Seen::Never => {}
        }
        shaper.event(Moment(event.time), StateId::new(event.state as usize), out)?;
    }
    if person.is_some() { shaper.person_over(out) } else { Ok(()) }
}

/// The states of a person's events at one time.
#[derive(Default)]
struct SameTime {
    of: Option<(u32, i64)>,
    first: u32,
    others: HashSet<u32>,
}

enum Seen {
    /// Nothing of this person at this time.
    Never,
    /// The person in another state.
    Elsewhere,
    /// The same event.
    Before,
}

impl SameTime {
    fn look(&mut self, event: &Numbered) -> Seen {
        if self.of.replace((event.person, event.time)) != Some((event.person, event.time)) {
            self.first = event.state;
            self.others.clear();
            return Seen::Never;
        }
        let known = self.first == event.state || !self.others.insert(event.state);
        if known { Seen::Before } else { Seen::Elsewhere }
    }
}
