//! Counts of what became of events: read, repeated, merged, left out.

/// What became of events, in numbers. They depend on every event and are not protected: they are for whoever prepares the walks
/// and nobody else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Events that were read.
    pub events: u64,
    /// Persons of whom there is an event.
    pub persons: u64,
    /// States that events have.
    pub states: u64,
    /// Walks that were made.
    pub walks: u64,
    /// States of all walks together.
    pub rows: u64,
    /// Events that say the same as another: the same person, time and state. They are left out.
    pub repeats: u64,
    /// Events at the time of another of the same person, in another state. They are in the order of the input.
    pub at_one_time: u64,
    /// Events with the state of the one before them, which were merged.
    pub stays_merged: u64,
    /// Events in no window of a day. With a clock, what is known from them is known at the ticks after them.
    pub out_of_window: u64,
    /// Events in a window that no tick shows, because another came before the next tick.
    pub between_ticks: u64,
    /// Ticks at which the person is away: nothing was known, or the window of the next day had begun.
    pub ticks_away: u64,
    /// Ticks before a person's first event, which have its state.
    pub ticks_before_first: u64,
    /// Persons none of whose events is in a window, and who have no walk.
    pub persons_without_walk: u64,
    /// Without a clock, walks of one event: they have no move.
    pub walks_of_one_state: u64,
    /// Walks that were cut at their length.
    pub walks_cut: u64,
    /// States that were cut from them.
    pub states_cut: u64,
    /// Positions that did not fit those around them.
    pub outliers: u64,
    /// Positions on no street.
    pub off_the_map: u64,
    /// Whether events had to wait in a temporary file.
    pub spilled: bool,
}
