//! Walks with a state for every tick of a day.
//!
//! The state of a tick is that of the latest event that is not after it, on whatever day, as long as it is not older than the
//! gap. Where there is none, the person is away; and where there is no state for that, the first event of the person is taken
//! to have been true before. Events come in the order of time, so no more than the days that are under way is held.
//!
//! Ticks after the next window has begun are the next day's, and say nothing of what was there then: the person is away, which
//! no stay can change, or stays where they were last.

use veilwalk::StateId;

use super::{Output, Which};
use crate::clock::{Days, Ticks};
use crate::moment::{Moment, SECOND};
use crate::summary::Summary;
use crate::zone::Day;

/// Makes walks of the events of one person after another.
#[derive(Debug)]
pub(crate) struct ByClock {
    ticks: Ticks,
    away: Option<StateId>,
    /// In microseconds.
    gap: Option<i64>,
    days: Days,
    /// The days there are, where everybody has a walk on each.
    range: (Day, Day),
    /// The next of them.
    next: Day,
    /// Days under way, in order.
    open: Vec<Open>,
    last: Option<Last>,
    has_walk: bool,
}

/// A day whose ticks up to some moment have their state.
#[derive(Debug)]
struct Open {
    day: Day,
    start: Moment,
    /// Where the part of the window ends that is no other day's.
    own_end: Moment,
    states: Vec<StateId>,
}

/// The latest event.
#[derive(Clone, Copy, Debug)]
struct Last {
    moment: Moment,
    state: StateId,
    /// Whether a tick has its state, or none need have it because it is in no window.
    settled: bool,
}

impl ByClock {
    /// For events between these moments.
    pub(crate) fn new(
        mut ticks: Ticks,
        away: Option<StateId>,
        gap: Option<u64>,
        days: Days,
        (first, last): (Moment, Moment),
    ) -> Self {
        let gap = gap.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX / SECOND));
        let gap = gap.map(|seconds| seconds.saturating_mul(SECOND));
        let range = ticks.range(first, last);
        let (open, last, next) = (Vec::new(), None, range.0);
        Self { ticks, away, gap, days, range, next, open, last, has_walk: false }
    }

    pub(super) fn event<E>(
        &mut self,
        moment: Moment,
        state: StateId,
        out: &mut Output<'_, E>,
    ) -> Result<(), E> {
        // What is known before the first event, if anything has to be.
        let first = self.last.is_none().then_some(state);
        if self.days == Days::All {
            self.open_days_up_to(moment);
        }
        let window = self.ticks.day_of(moment);
        let in_window = window.is_some();
        if let Some((day, start)) = window
            && self.days == Days::Seen
            && self.open.iter().all(|open| open.day != day)
        {
            self.open_day(day, start);
        }
        self.fill_before(moment, first, out.summary);
        out.summary.out_of_window += u64::from(!in_window);
        out.summary.between_ticks += u64::from(self.last.is_some_and(|last| !last.settled));
        self.last = Some(Last { moment, state, settled: !in_window });
        self.give_before(moment, out)
    }

    pub(super) fn person_over<E>(&mut self, out: &mut Output<'_, E>) -> Result<(), E> {
        let end = Moment(i64::MAX);
        if self.days == Days::All {
            while self.open_next_day() {
                self.fill_before(end, None, out.summary);
                self.give_before(end, out)?;
            }
        }
        self.fill_before(end, None, out.summary);
        self.give_before(end, out)?;
        out.summary.between_ticks += u64::from(self.last.is_some_and(|last| !last.settled));
        out.summary.persons_without_walk += u64::from(!self.has_walk);
        (self.last, self.next, self.has_walk) = (None, self.range.0, false);
        Ok(())
    }

    /// Opens all days whose windows begin no later than this.
    fn open_days_up_to(&mut self, moment: Moment) {
        while self.next <= self.range.1 {
            match self.ticks.start(self.next) {
                Some(start) if start > moment => break,
                _ => self.open_next_day(),
            };
        }
    }

    /// Opens the next day there is, and says whether there may be more.
    fn open_next_day(&mut self) -> bool {
        if self.next > self.range.1 {
            return false;
        }
        let day = self.next;
        if let Some(start) = self.ticks.start(day) {
            self.open_day(day, start);
        }
        self.next = Day(day.0 + 1);
        true
    }

    fn open_day(&mut self, day: Day, start: Moment) {
        let own_end = self.ticks.own_end(day, start);
        self.open.push(Open { day, start, own_end, states: Vec::new() });
    }

    /// Gives the days' own ticks before this moment their states.
    fn fill_before(&mut self, moment: Moment, first: Option<StateId>, summary: &mut Summary) {
        let Self { ticks, away, gap, open, last, .. } = self;
        for Open { start, own_end, states, .. } in open {
            let until = ticks.before(*start, moment.min(*own_end));
            if let Some(last) = last {
                // The first tick at which the latest event is too old.
                let forgotten = gap.map_or(usize::MAX, |gap| {
                    ticks
                        .before(*start, Moment(last.moment.0.saturating_add(gap).saturating_add(1)))
                });
                let known = until.min(forgotten);
                if states.len() < known {
                    states.resize(known, last.state);
                    last.settled = true;
                }
            }
            let unknown = until.saturating_sub(states.len());
            match (*away, last.as_ref()) {
                (Some(away), _) => {
                    summary.ticks_away += unknown as u64;
                    states.resize(states.len() + unknown, away);
                }
                // Without a state for it nothing is ever forgotten, so this is before the first event.
                (None, None) => {
                    if let Some(first) = first {
                        summary.ticks_before_first += unknown as u64;
                        states.resize(states.len() + unknown, first);
                    }
                }
                (None, Some(_)) => {}
            }
        }
    }

    /// Gives out the days whose own windows are over at this moment. All of their own ticks have a state; those beyond get the one
    /// that does not depend on any event, if there is one, so that no stay shows at more ticks than it lasts.
    fn give_before<E>(&mut self, moment: Moment, out: &mut Output<'_, E>) -> Result<(), E> {
        let over = self.open.iter().take_while(|open| open.own_end <= moment).count();
        for mut open in self.open.drain(..over) {
            self.has_walk = true;
            let beyond = self.ticks.count().saturating_sub(open.states.len());
            if self.away.is_some() {
                out.summary.ticks_away += beyond as u64;
            }
            if let Some(state) = self.away.or(open.states.last().copied()) {
                open.states.resize(self.ticks.count(), state);
            }
            out.give(Which::Day(open.day), &open.states)?;
        }
        Ok(())
    }
}
