//! What `veilwalk prepare` says: how many walks it made, and what became of the events.

use veilwalk_prepare::{Days, Settings, Shaping};

use super::{Made, PERSON};
use crate::args::{counted, thousands};
use crate::terminal;

/// Says what was made, merged and left out, and what shows in a release.
pub(super) fn tell(name: &str, settings: &Settings, made: &Made) {
    let summary = &made.summary;
    let count = |number: u64, what: &str| counted(number as usize, what);
    terminal::note(format!(
        "{name}: {} of {}, with {} in all ({} different ones), from {}",
        count(summary.walks, "walk"),
        count(summary.persons - summary.persons_without_walk, "person"),
        count(summary.rows, "state"),
        thousands(summary.states as usize),
        count(summary.events, "event"),
    ));
    if summary.events == 0 {
        terminal::warning("there are no events, so there are no walks");
        return;
    }
    terminal::note_counts([
        (summary.repeats, "event", "left out: there is another of the same person, time and state"),
        (
            summary.at_one_time,
            "event",
            "at the time of another of the same person: in the order of the input",
        ),
        (
            summary.outliers,
            "position",
            "left out: no way leads there from those before it in the time",
        ),
        (summary.off_the_map, "position", "on no street of the map"),
        (summary.stays_merged, "event", "merged with the one before it: the same state"),
        (
            summary.out_of_window,
            "event",
            "out of the window: only what is known at later ticks may come from it",
        ),
        (
            summary.between_ticks,
            "event",
            "between two ticks: another event came before the next tick",
        ),
        (
            summary.ticks_away,
            "tick",
            "away: nothing is known, or the window of the next day has begun",
        ),
        (summary.ticks_before_first, "tick", "before the first event of a person, with its state"),
        (
            summary.persons_without_walk,
            "person",
            "without an event in the window, and without a walk",
        ),
        (summary.walks_of_one_state, "walk", "of a single event, without a move"),
        (summary.walks_cut, "walk", "cut at --length"),
        (summary.states_cut, "state", "left out of the walks that were cut"),
    ]);
    if summary.spilled {
        terminal::note("events did not fit into --sort-memory, and waited in a temporary file");
    }
    terminal::note("these numbers come from the real events and are not protected");
    terminal::note(what_shows(settings));
    if made.most_walks > 1 {
        terminal::note(format!(
            "a person has up to {}, and their losses add up; release with --person-column {PERSON}",
            count(made.most_walks, "walk"),
        ));
    }
}

/// What a release of these walks shows beside their states.
fn what_shows(settings: &Settings) -> &'static str {
    match &settings.shaping {
        Shaping::Clock(clock) => match clock.days {
            Days::Seen => {
                "all walks have the same length; a release shows who has a walk on which days, which --days all \
                 hides"
            }
            Days::All => "all persons have walks on the same days, of the same length",
        },
        Shaping::Events { padding: Some(_), .. } if settings.gap.is_none() => {
            "every person has one walk, and all have the same length"
        }
        Shaping::Events { padding: Some(_), .. } => {
            "all walks have the same length; a release shows how many a person has"
        }
        Shaping::Events { padding: None, .. } => {
            "a release shows how long walks are; --every, or --end with --length, gives all the same length"
        }
    }
}
