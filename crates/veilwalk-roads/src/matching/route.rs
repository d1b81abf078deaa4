//! The shortest ways along streets from one place, up to a bound.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::streets::Streets;

/// A search that is used again and again. What it knows of a state counts only if it is of the present search.
#[derive(Debug)]
pub(super) struct Routes {
    search: u32,
    of_search: Vec<u32>,
    /// How far it is to where each state starts, in metres.
    distance: Vec<f64>,
    /// The state before it on the way; itself for those right behind the start.
    before: Vec<u32>,
    waiting: BinaryHeap<Reverse<(Metres, u32)>>,
}

/// A length to put in order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Metres(f64);

impl Eq for Metres {}

impl Ord for Metres {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Metres {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Routes {
    pub(super) fn new(states: usize) -> Self {
        Self {
            search: 0,
            of_search: vec![0; states],
            distance: vec![0.0; states],
            before: vec![0; states],
            waiting: BinaryHeap::new(),
        }
    }

    /// Finds the ways from a place so far before the end of a state to the starts of others, up to `bound` metres, or until
    /// all of `wanted` are found.
    pub(super) fn search(
        &mut self,
        streets: &Streets,
        (start, left): (u32, f64),
        wanted: &[u32],
        bound: f64,
    ) {
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.of_search.fill(0);
            self.search = 1;
        }
        self.waiting.clear();
        for &next in streets.next(start) {
            self.see(next, left, next, bound);
        }
        let mut missing = wanted.len();
        while let Some(Reverse((Metres(distance), state))) = self.waiting.pop() {
            if distance > self.distance[state as usize] {
                continue;
            }
            if wanted.contains(&state) {
                missing -= 1;
                if missing == 0 {
                    break;
                }
            }
            let far = distance + streets.line(state).length();
            for &next in streets.next(state) {
                self.see(next, far, state, bound);
            }
        }
    }

    fn see(&mut self, state: u32, distance: f64, before: u32, bound: f64) {
        let at = state as usize;
        let known = self.of_search[at] == self.search && self.distance[at] <= distance;
        if distance > bound || known {
            return;
        }
        self.of_search[at] = self.search;
        self.distance[at] = distance;
        self.before[at] = before;
        self.waiting.push(Reverse((Metres(distance), state)));
    }

    /// How far it is to where a state starts, if it was found.
    pub(super) fn distance(&self, state: u32) -> Option<f64> {
        let at = state as usize;
        (self.of_search[at] == self.search).then(|| self.distance[at])
    }

    /// The states on the way to one that was found: those after the start, with the one itself.
    pub(super) fn way(&self, state: u32) -> Vec<u32> {
        let mut way = vec![state];
        let mut at = state;
        while self.before[at as usize] != at {
            at = self.before[at as usize];
            way.push(at);
        }
        way.reverse();
        way
    }
}
