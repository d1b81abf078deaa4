//! Positions to walks along streets: which streets somebody took, from positions that are a few metres off.
//!
//! The streets near a position are the states of a hidden Markov chain, after P. Newson and J. Krumm, "Hidden Markov map
//! matching through noise and sparseness" (2009). How far a street is from the position says how likely it is, by the
//! normal distribution. How much longer the way along the streets is than the straight line between two positions says how
//! likely it is to go from one to the other, by the exponential distribution. (There a way that is shorter than the straight
//! line is unlikely too. Here it is not: that positions are off makes straight lines longer, and of positions one second apart it would
//! make detours of standing still.) The likeliest streets of all positions
//! together are found as they come (Viterbi), and given out as soon as no later position can change them.
//!
//! Positions that are closer together than they are off say nothing of the way between them: they are taken as one, at their mean,
//! which is less far off than each.
//!
//! Positions that lie on no street, or to which no way leads in the time, are outliers if those after them fit again soon. If
//! they do not, a piece of the walk ends there, and another begins.

mod group;
mod route;
#[cfg(test)]
mod tests;
mod window;

use veilwalk::StateId;
use veilwalk::chain::Coordinates;

use crate::geometry;
use crate::streets::{Nearby, Streets};
use group::Group;
use route::Routes;
use window::{Layer, Window};

/// A position of somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// When it was, in microseconds since whenever.
    pub moment: i64,
    /// Where it was.
    pub place: Coordinates,
}

/// What positions are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatchSettings {
    /// How far positions are off, in metres: the standard deviation in each direction.
    pub sigma: f64,
    /// How much longer ways are than straight lines between positions, in metres, on average.
    pub beta: f64,
    /// How far streets may be from a position, in metres.
    pub radius: f64,
    /// How fast anybody is, in metres a second. `None` if times do not matter.
    pub fastest: Option<f64>,
    /// The longest time, in microseconds, between two positions of one piece.
    pub gap: Option<i64>,
}

impl MatchSettings {
    /// How far positions of a phone are off in a street, if nobody says otherwise.
    pub const SIGMA: f64 = 10.0;

    /// Settings for positions that are this far off.
    #[must_use]
    pub fn with_sigma(sigma: f64) -> Self {
        Self {
            sigma,
            beta: (sigma / 2.0).max(1.0),
            radius: (5.0 * sigma).max(50.0),
            fastest: Some(60.0),
            gap: None,
        }
    }
}

impl Default for MatchSettings {
    fn default() -> Self {
        Self::with_sigma(Self::SIGMA)
    }
}

/// Something that was found out about a walk, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A piece of a walk begins on this street.
    Begins {
        /// The street.
        state: StateId,
        /// When the position was.
        moment: i64,
    },
    /// The walk goes on to this street, which the one before leads to.
    Enters {
        /// The street.
        state: StateId,
        /// About when: between two positions, at an even speed.
        moment: i64,
    },
    /// The walk turns back in the middle of a street, which is no move of the chain.
    TurnsBack {
        /// The street, in the other direction.
        state: StateId,
        /// When the position was.
        moment: i64,
    },
    /// The walk is still on this street.
    Stays {
        /// The street.
        state: StateId,
        /// When the position was.
        moment: i64,
    },
    /// From here on, positions are on no street.
    Leaves {
        /// When the first of these positions was.
        moment: i64,
    },
}

/// What became of positions, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchCounts {
    /// Positions that were taken.
    pub positions: u64,
    /// Positions that did not fit those around them, and were left out.
    pub outliers: u64,
    /// Positions on no street.
    pub off_the_map: u64,
    /// Pieces of walks.
    pub pieces: u64,
}

/// Matches the positions of one person after another.
#[derive(Debug)]
pub struct Matcher<'s> {
    streets: &'s Streets,
    settings: MatchSettings,
    routes: Routes,
    window: Window,
    /// The latest positions, as long as they are close together.
    group: Option<Group>,
    /// Positions since the last that fits.
    waiting: Vec<Group>,
    /// Whether it was said that positions are on no street.
    left: bool,
    counts: MatchCounts,
}

impl<'s> Matcher<'s> {
    /// Streets that are looked at for each position.
    const MOST_CANDIDATES: usize = 24;
    /// So many positions may be outliers in a row.
    const MOST_OUTLIERS: usize = 30;
    /// For so long, in microseconds, positions may be outliers: as long as Newson and Krumm look for a way on.
    const LONGEST_OUTLIERS: i64 = 180_000_000;
    /// What turning back in the middle of a street is taken to be worth, in metres.
    const TURNING_BACK: f64 = 200.0;

    /// A matcher that has seen nothing.
    #[must_use]
    pub fn new(streets: &'s Streets, settings: MatchSettings) -> Self {
        Self {
            streets,
            settings,
            routes: Routes::new(streets.len()),
            window: Window::default(),
            group: None,
            waiting: Vec::new(),
            left: false,
            counts: MatchCounts::default(),
        }
    }

    /// What became of the positions so far.
    #[must_use]
    pub fn counts(&self) -> MatchCounts {
        self.counts
    }

    /// The likeliest street at the latest position that fits, as far as is known now. A later position may change it.
    pub fn now(&mut self) -> Option<StateId> {
        let latest = self.group.clone().and_then(|group| {
            let near = self.near(&group);
            match self.window.is_empty() {
                true => near.first().map(|near| near.state),
                false => Some(self.follow(group, near)?.best().state),
            }
        });
        latest.or_else(|| self.window.best().map(|near| near.state))
    }

    /// Takes the next position of a person, not earlier than the one before, and adds what is certain now to `found`.
    pub fn push(&mut self, position: Position, found: &mut Vec<Found>) {
        self.counts.positions += 1;
        let until = self.group.as_ref().map(Group::until);
        if let (Some(gap), Some(until)) = (self.settings.gap, until)
            && position.moment - until > gap
        {
            self.end(found);
        }
        let close = 2.0 * self.settings.sigma;
        match &mut self.group {
            Some(group) if geometry::distance(group.place(), position.place) < close => {
                group.add(position);
            }
            group => {
                if let Some(over) = group.replace(Group::of(position)) {
                    self.take_group(over, found);
                }
            }
        }
    }

    /// Says that the person has no more positions, and adds what is left to `found`. The next position is of another person.
    pub fn finish(&mut self, found: &mut Vec<Found>) {
        self.end(found);
        self.left = false;
    }

    /// Ends the walk that is under way.
    fn end(&mut self, found: &mut Vec<Found>) {
        if let Some(group) = self.group.take() {
            self.take_group(group, found);
        }
        while !self.window.is_empty() || !self.waiting.is_empty() {
            self.end_piece(found);
        }
    }

    fn take_group(&mut self, group: Group, found: &mut Vec<Found>) {
        let until = self.window.until();
        let late = until.is_some_and(|until| group.until() - until > Self::LONGEST_OUTLIERS);
        self.take(group, found);
        while !self.waiting.is_empty() && (late || self.waiting.len() > Self::MOST_OUTLIERS) {
            self.end_piece(found);
        }
    }

    /// Ends the piece that is under way. Positions that did not fit it are taken again.
    fn end_piece(&mut self, found: &mut Vec<Found>) {
        self.window.give_all(self.streets, found);
        for group in std::mem::take(&mut self.waiting) {
            self.take(group, found);
        }
    }

    fn take(&mut self, group: Group, found: &mut Vec<Found>) {
        let near = self.near(&group);
        if self.window.is_empty() {
            if near.is_empty() {
                self.counts.off_the_map += group.count();
                if !std::mem::replace(&mut self.left, true) {
                    found.push(Found::Leaves { moment: group.moment() });
                }
            } else {
                self.left = false;
                self.counts.pieces += 1;
                let sigma = group.sigma(self.settings.sigma);
                self.window.begin(Layer::first(group, near, |near| fit(near, sigma)));
            }
            return;
        }
        match self.follow(group.clone(), near) {
            Some(layer) => {
                self.counts.outliers += self.waiting.iter().map(Group::count).sum::<u64>();
                self.waiting.clear();
                self.window.push(layer, self.streets, found);
            }
            None => self.waiting.push(group),
        }
    }

    fn near(&self, group: &Group) -> Vec<Nearby> {
        self.streets.near(group.place(), self.settings.radius, Self::MOST_CANDIDATES)
    }

    /// The best way to each of these streets from those of the position before; `None` if there is none at all.
    fn follow(&mut self, group: Group, near: Vec<Nearby>) -> Option<Layer> {
        let before = self.window.last()?;
        let straight = geometry::distance(before.place(), group.place());
        let mut bound = 1000.0 + 4.0 * straight;
        if let Some(fastest) = self.settings.fastest {
            let seconds = (group.moment() - before.until()).max(0) as f64 / 1e6;
            bound = bound.min(4.0 * self.settings.radius + fastest * seconds);
        }
        let sigma = group.sigma(self.settings.sigma);
        let mut layer = Layer::after(group, near);
        let wanted: Vec<u32> = layer.states().collect();
        for (number, candidate) in before.candidates().enumerate() {
            let from = candidate.near;
            let state = from.state.index() as u32;
            let length = self.streets.line(state).length();
            let left = (length - from.offset).max(0.0);
            self.routes.search(self.streets, (state, left), &wanted, bound);
            for (at, &to) in wanted.iter().enumerate() {
                let near = layer.near(at);
                let mut best: Option<(f64, Step)> = None;
                let mut consider = |metres: f64, extra: f64, step: Step| {
                    let unlikely = ((metres - straight).max(0.0) + extra) / self.settings.beta;
                    let score = candidate.score - unlikely;
                    if metres <= bound && best.is_none_or(|(known, _)| score > known) {
                        best = Some((score, step));
                    }
                };
                let ahead = near.offset - from.offset;
                if to == state && ahead >= -4.0 * self.settings.sigma {
                    consider(ahead.abs(), 0.0, Step::Same);
                }
                if self.streets.line(state).back == Some(to) {
                    let turned = (length - near.offset - from.offset).abs();
                    consider(turned, Self::TURNING_BACK, Step::Back);
                }
                if let Some(metres) = self.routes.distance(to) {
                    consider(metres + near.offset, 0.0, Step::Way);
                }
                if let Some((score, step)) = best {
                    layer.offer(at, score + fit(&near, sigma), number, || match step {
                        Step::Same => window::Way::Same,
                        Step::Back => window::Way::Back,
                        Step::Way => window::Way::Over(self.routes.way(to)),
                    });
                }
            }
        }
        layer.settled()
    }
}

/// How one goes from a street to another.
#[derive(Clone, Copy, Debug)]
enum Step {
    Same,
    Back,
    Way,
}

/// How well a street fits a position: the logarithm of the density, but for what is the same for all.
fn fit(near: &Nearby, sigma: f64) -> f64 {
    let off = near.distance / sigma;
    -0.5 * off * off
}
