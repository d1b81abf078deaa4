//! What each person contributes: at most so many moves, one first state, one last state and one length, drawn from
//! that person's rows alone.

use std::collections::HashMap;
use std::num::NonZeroU32;

use thiserror::Error;

use super::place;
use crate::chain::{Chain, StateId};
use crate::random::{Randomness, WalkKey, uniform_below};

/// How much there was to count. These figures come from the real walks and are not protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FitTally {
    /// Persons with at least one row.
    pub persons: u64,
    /// Their walks.
    pub walks: u64,
    /// Rows whose state the public graph does not have.
    pub unknown_states: u64,
    /// Moves between states of the graph that the graph does not have.
    pub unknown_moves: u64,
    /// Moves that the graph has.
    pub moves: u64,
    /// Those of them that were drawn, and are counted.
    pub counted: u64,
    /// Persons of whom not every move is counted.
    pub clipped: u64,
}

/// A walk that is said to belong to two persons.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the walk {walk:?} belongs to {first:?} and to {second:?}; a walk has one person")]
pub struct TwoPersons {
    /// The walk.
    pub walk: String,
    /// Whose it was in an earlier row.
    pub first: String,
    /// Whose it is in this row.
    pub second: String,
}

/// The contributions of all persons so far.
#[derive(Debug)]
pub(super) struct Contributions {
    most: u64,
    numbers: HashMap<String, usize>,
    persons: Vec<Person>,
    walk_numbers: HashMap<String, usize>,
    /// In the order of their first rows.
    walks: Vec<Walk>,
    tally: FitTally,
    /// A digest of all rows, where anybody asks for it.
    rows: Option<blake3::Hasher>,
}

#[derive(Debug)]
struct Person {
    key: WalkKey,
    /// The public moves that are drawn so far, of so many that came.
    moves: Vec<usize>,
    moves_seen: u64,
    start: Option<StateId>,
    starts_seen: u64,
}

#[derive(Debug)]
struct Walk {
    person: usize,
    last: Option<StateId>,
    rows: u64,
}

impl Contributions {
    pub(super) fn new(most: NonZeroU32, with_digest: bool) -> Self {
        let rows = || blake3::Hasher::new_derive_key("veilwalk 2026 rows of a private fit v1");
        Self {
            most: most.get().into(),
            numbers: HashMap::new(),
            persons: Vec::new(),
            walk_numbers: HashMap::new(),
            walks: Vec::new(),
            tally: FitTally::default(),
            rows: with_digest.then(rows),
        }
    }

    /// Takes a row: a person, a walk and the label of a state, and the state if the graph has it.
    pub(super) fn add(
        &mut self,
        graph: &Chain,
        randomness: &mut Randomness,
        (name, walk, label): (&str, &str, &str),
        state: Option<StateId>,
    ) -> Result<(), TwoPersons> {
        let number = self.number(name, randomness);
        let known = self.walk_numbers.get(walk).copied();
        let known = known.unwrap_or_else(|| {
            self.walk_numbers.insert(walk.to_owned(), self.walks.len());
            self.walks.push(Walk { person: number, last: None, rows: 0 });
            self.tally.walks += 1;
            self.walks.len() - 1
        });
        let known = &mut self.walks[known];
        if known.person != number {
            let owner = self.numbers.iter().find(|&(_, &number)| number == known.person);
            let first = owner.map(|(name, _)| name.clone()).unwrap_or_default();
            return Err(TwoPersons { walk: walk.to_owned(), first, second: name.to_owned() });
        }
        if let Some(rows) = &mut self.rows {
            for field in [name, walk, label] {
                rows.update(&(field.len() as u64).to_le_bytes()).update(field.as_bytes());
            }
        }
        let last = std::mem::replace(&mut known.last, state);
        let is_new = known.rows == 0;
        known.rows += 1;
        self.tally.unknown_states += u64::from(state.is_none());
        let person = &mut self.persons[number];
        if let (true, Some(state)) = (is_new, state) {
            person.take_start(state, randomness);
        }
        if let (Some(from), Some(to)) = (last, state) {
            match place(graph, from, to) {
                Some(place) => {
                    self.tally.moves += 1;
                    person.take_move(place, self.most, randomness);
                }
                None => self.tally.unknown_moves += 1,
            }
        }
        Ok(())
    }

    fn number(&mut self, name: &str, randomness: &Randomness) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.persons.len();
        self.numbers.insert(name.to_owned(), number);
        self.persons.push(Person {
            key: randomness.walk(&[&b"person "[..], name.as_bytes()].concat()),
            moves: Vec::new(),
            moves_seen: 0,
            start: None,
            starts_seen: 0,
        });
        number
    }

    pub(super) fn persons(&self) -> impl Iterator<Item = &str> {
        self.numbers.keys().map(String::as_str)
    }

    pub(super) fn tally(&self) -> FitTally {
        let drawn = |person: &Person| person.moves.len() as u64;
        let clipped = self.persons.iter().filter(|person| drawn(person) < person.moves_seen);
        FitTally {
            persons: self.persons.len() as u64,
            counted: self.persons.iter().map(drawn).sum(),
            clipped: clipped.count() as u64,
            ..self.tally
        }
    }

    /// A digest of all rows; always the same where randomness is not derived.
    pub(super) fn digest(&self) -> [u8; 32] {
        self.rows.as_ref().map_or([0; 32], |rows| *rows.finalize().as_bytes())
    }

    /// The exact counts of the graph's transitions, and of first states.
    pub(super) fn counts(&self, graph: &Chain) -> (Vec<u64>, Vec<u64>) {
        let (mut moves, mut starts) = (vec![0; graph.transitions()], vec![0; graph.len()]);
        for person in &self.persons {
            person.moves.iter().for_each(|&place| moves[place] += 1);
            if let Some(start) = person.start {
                starts[start.index()] += 1;
            }
        }
        (moves, starts)
    }

    /// The exact counts of last states: of each person one, of those walks whose last state the graph has.
    pub(super) fn ends(&self, graph: &Chain, randomness: &mut Randomness) -> Vec<u64> {
        let mut counts = vec![0; graph.len()];
        let last = |walk: &Walk| walk.last.map(StateId::index);
        self.one_of_each(Once::End, last, randomness).for_each(|state| counts[state] += 1);
        counts
    }

    /// The exact counts of numbers of moves, whether or not the graph has them: of each person one walk's.
    pub(super) fn lengths(&self, longest: u32, randomness: &mut Randomness) -> Vec<u64> {
        let mut counts = vec![0; longest as usize + 1];
        let length = |walk: &Walk| Some((walk.rows - 1).min(longest.into()) as usize);
        self.one_of_each(Once::Length, length, randomness).for_each(|length| counts[length] += 1);
        counts
    }

    /// Something of one walk of each person, each of the person's walks that have it as likely as any other.
    fn one_of_each(
        &self,
        what: Once,
        of: impl Fn(&Walk) -> Option<usize>,
        randomness: &mut Randomness,
    ) -> impl Iterator<Item = usize> {
        let mut theirs = vec![Vec::new(); self.persons.len()];
        self.walks.iter().for_each(|walk| theirs[walk.person].extend(of(walk)));
        let drawn = theirs.into_iter().zip(&self.persons).filter(|(theirs, _)| !theirs.is_empty());
        drawn.map(move |(theirs, person)| {
            let words = randomness.at(&person.key, what as u64, None);
            theirs[uniform_below(words, theirs.len() as u64) as usize]
        })
    }
}

/// What is drawn once for a person, by the number of the person's random words. Those for moves and first states have
/// numbers from two up.
#[derive(Clone, Copy, Debug)]
enum Once {
    End = 0,
    Length = 1,
}

impl Person {
    /// Keeps a uniform sample of all moves so far (Vitter's algorithm R): the n-th move takes the place of one
    /// of those that were drawn with probability `most/n`.
    fn take_move(&mut self, place: usize, most: u64, randomness: &mut Randomness) {
        self.moves_seen += 1;
        if (self.moves.len() as u64) < most {
            self.moves.push(place);
            return;
        }
        let words = randomness.at(&self.key, 2 * self.moves_seen, None);
        let slot = uniform_below(words, self.moves_seen);
        if slot < most {
            self.moves[slot as usize] = place;
        }
    }

    /// Keeps one of all first states so far, each as likely as any other.
    fn take_start(&mut self, state: StateId, randomness: &mut Randomness) {
        self.starts_seen += 1;
        let words = randomness.at(&self.key, 2 * self.starts_seen + 1, None);
        if uniform_below(words, self.starts_seen) == 0 {
            self.start = Some(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Source;

    fn collected(rows: &[(&str, &str, &str)], most: u32, seed: u64) -> Contributions {
        let graph = Chain::credit();
        let mut randomness = Source::seeded(seed).open([0; 32]).unwrap();
        let mut contributions = Contributions::new(most.try_into().unwrap(), true);
        for &row in rows {
            contributions.add(&graph, &mut randomness, row, graph.state(row.2)).unwrap();
        }
        contributions
    }

    /// Whoever has millions of rows contributes as much as anybody else.
    #[test]
    fn a_person_with_millions_of_rows_is_clipped() {
        let mut rows = vec![("ann", "1", "B"), ("ann", "1", "Ba"), ("ann", "1", "B")];
        rows.extend((0..3_000_000).map(|i| ("eve", "2", if i % 2 == 0 { "Aaa" } else { "Aa" })));
        let all = collected(&rows, 5, 1);
        let (moves, starts) = all.counts(&Chain::credit());
        assert_eq!(moves.iter().sum::<u64>(), 2 + 5);
        assert_eq!(starts.iter().sum::<u64>(), 2);
        let tally = all.tally();
        assert_eq!((tally.moves, tally.counted, tally.clipped), (2 + 2_999_999, 7, 1));
    }

    #[test]
    fn a_person_with_thousands_of_walks_has_one_start() {
        let walks: Vec<String> = (0..5000).map(|i| i.to_string()).collect();
        let rows: Vec<_> = walks.iter().map(|walk| ("eve", walk.as_str(), "B")).collect();
        assert_eq!(collected(&rows, 5, 1).counts(&Chain::credit()).1.iter().sum::<u64>(), 1);
    }

    #[test]
    fn a_person_with_thousands_of_walks_has_one_end_and_one_length() {
        let graph = Chain::credit();
        let walks: Vec<String> = (0..5000).map(|i| i.to_string()).collect();
        let mut rows = vec![("ann", "a", "B"), ("ann", "a", "Ba")];
        for walk in &walks {
            rows.extend([("eve", walk.as_str(), "B"), ("eve", walk, "Ba"), ("eve", walk, "B")]);
        }
        let all = collected(&rows, 5, 1);
        let mut randomness = Source::seeded(1).open([0; 32]).unwrap();
        let ends = all.ends(&graph, &mut randomness);
        let place = |label| graph.state(label).unwrap().index();
        assert_eq!((ends[place("B")], ends[place("Ba")], ends.iter().sum()), (1, 1, 2));
        assert_eq!(all.lengths(4, &mut randomness), [0, 1, 1, 0, 0]);
        assert_eq!(all.lengths(1, &mut randomness), [0, 2], "longer ones count as the longest");
    }

    /// Each walk of a person is drawn as often. One that ends beyond the graph has a length and no end.
    #[test]
    fn every_end_and_every_length_is_as_likely() {
        let graph = Chain::credit();
        let rows = [
            ("ann", "1", "B"),
            ("ann", "2", "B"),
            ("ann", "2", "Ba"),
            ("ann", "3", "B"),
            ("ann", "3", "Ba"),
            ("ann", "3", "moon"),
        ];
        let (mut ends, mut lengths, rounds) = (vec![0; graph.len()], vec![0; 4], 20_000);
        for seed in 0..rounds {
            let all = collected(&rows, 2, seed);
            let mut randomness = Source::seeded(seed).open([0; 32]).unwrap();
            let add = |all: &mut Vec<u64>, one: Vec<u64>| {
                all.iter_mut().zip(one).for_each(|(all, one)| *all += one);
            };
            add(&mut ends, all.ends(&graph, &mut randomness));
            add(&mut lengths, all.lengths(3, &mut randomness));
        }
        let n = rounds as f64;
        let likely = |count: u64, p: f64| {
            let off = (count as f64 - n * p).abs();
            assert!(off < 5.0 * (n * p * (1.0 - p)).sqrt(), "{count} of {n} at {p}");
        };
        likely(ends[graph.state("B").unwrap().index()], 0.5);
        assert_eq!(ends.iter().sum::<u64>(), rounds);
        lengths.iter().take(3).for_each(|&count| likely(count, 1.0 / 3.0));
        assert_eq!(lengths.iter().sum::<u64>(), rounds);
    }

    /// Every move of a person is drawn as often, wherever it stands in the file.
    #[test]
    fn every_move_is_as_likely() {
        let states = ["Aaa", "Aa", "A", "Baa", "Ba", "B"];
        let rows: Vec<_> = states.iter().map(|&state| ("ann", "1", state)).collect();
        let graph = Chain::credit();
        let (mut counts, rounds) = (vec![0; graph.transitions()], 20_000);
        for seed in 0..rounds {
            let drawn = collected(&rows, 2, seed).counts(&graph).0;
            counts.iter_mut().zip(drawn).for_each(|(all, one)| *all += one);
        }
        let drawn: Vec<u64> = counts.into_iter().filter(|&count| count > 0).collect();
        assert_eq!(drawn.len(), 5);
        let (p, n) = (0.4, rounds as f64);
        let off = |count: u64| (count as f64 - n * p).abs() / (n * p * (1.0 - p)).sqrt();
        assert!(drawn.iter().all(|&count| off(count) < 5.0), "{drawn:?}");
    }

    /// What is drawn of a person does not depend on other persons' rows, nor on how they are mixed.
    #[test]
    fn others_do_not_matter() {
        let walk = |name, states: &[&'static str]| {
            states.iter().map(|&state| ("ann", name, state)).collect::<Vec<_>>()
        };
        let mut ann = walk("a", &["B", "Ba", "B", "Caa", "B", "Ba", "Baa"]);
        ann.extend(walk("x", &["B", "B"]));
        ann.extend(walk("y", &["Ba", "Caa", "Caa"]));
        let (mut mixed, mut bob) = (Vec::new(), Vec::new());
        for (i, &row) in ann.iter().enumerate() {
            let theirs = [("bob", "b", "Aaa"); 3].into_iter().take(i % 4);
            bob.extend(theirs.clone());
            mixed.extend(theirs);
            mixed.push(row);
        }
        let person = |all: &Contributions| {
            let ann = &all.persons[all.numbers["ann"]];
            (ann.moves.clone(), ann.start)
        };
        for seed in 0..50 {
            let [ann, bob, mixed] = [&ann, &bob, &mixed].map(|rows| collected(rows, 2, seed));
            assert_eq!(person(&ann), person(&mixed));
            let once = |all: &Contributions| {
                let mut randomness = Source::seeded(seed).open([0; 32]).unwrap();
                let ends = all.ends(&Chain::credit(), &mut randomness);
                [ends, all.lengths(20, &mut randomness)].concat()
            };
            let sum = once(&ann).into_iter().zip(once(&bob)).map(|(ann, bob)| ann + bob);
            assert_eq!(sum.collect::<Vec<_>>(), once(&mixed));
        }
    }

    #[test]
    fn what_the_graph_does_not_have_is_not_counted() {
        let rows = [
            ("ann", "1", "moon"),
            ("ann", "1", "B"),
            ("ann", "1", "moon"),
            ("ann", "1", "B"),
            ("ann", "1", "Aaa"),
            ("ann", "1", "Aaa"),
        ];
        let all = collected(&rows, 5, 1);
        let (moves, starts) = all.counts(&Chain::credit());
        assert_eq!((moves.iter().sum::<u64>(), starts.iter().sum::<u64>()), (1, 0));
        let tally = all.tally();
        assert_eq!((tally.unknown_states, tally.unknown_moves, tally.moves), (2, 1, 1));
    }

    #[test]
    fn a_walk_has_one_person() {
        let graph = Chain::credit();
        let mut randomness = Source::system().open([0; 32]).unwrap();
        let mut all = Contributions::new(NonZeroU32::MIN, false);
        all.add(&graph, &mut randomness, ("ann", "1", "B"), graph.state("B")).unwrap();
        let error = all.add(&graph, &mut randomness, ("bob", "1", "B"), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the walk \"1\" belongs to \"ann\" and to \"bob\"; a walk has one person"
        );
    }
}
