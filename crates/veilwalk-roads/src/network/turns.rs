//! Rules for turning, by the point they hold at and the way that one comes from.

use hashbrown::HashMap;

use crate::osm::{Restriction, Rule};

/// All rules of a map.
pub(super) struct Turns<'m> {
    rules: HashMap<(i64, i64), Vec<(usize, &'m Restriction)>>,
}

/// The rules for whoever comes to a point on a way.
pub(super) struct RulesHere<'m> {
    rules: Vec<(usize, &'m Restriction)>,
}

impl<'m> Turns<'m> {
    pub(super) fn new(restrictions: &'m [Restriction]) -> Self {
        let mut rules: HashMap<_, Vec<_>> = HashMap::new();
        for (number, rule) in restrictions.iter().enumerate() {
            rules.entry((rule.from, rule.via)).or_default().push((number, rule));
        }
        Self { rules }
    }

    /// The rules at a point from which these ways lead on. A rule about any other way does not count.
    pub(super) fn at(&self, from: i64, via: i64, ahead: &[i64]) -> RulesHere<'m> {
        let here = self.rules.get(&(from, via)).map(Vec::as_slice).unwrap_or_default();
        let rules = here.iter().copied().filter(|(_, rule)| ahead.contains(&rule.to)).collect();
        RulesHere { rules }
    }
}

impl RulesHere<'_> {
    /// The numbers of the rules.
    pub(super) fn applied(&self) -> impl Iterator<Item = usize> {
        self.rules.iter().map(|(number, _)| *number)
    }

    /// Whether one may go on along a way.
    pub(super) fn allow(&self, way: i64) -> bool {
        let of = |wanted| self.rules.iter().filter(move |(_, rule)| rule.rule == wanted);
        // Turning back from one carriageway to the other is a move between two ways.
        let forbids = |rule: &Restriction| match rule.rule {
            Rule::No => true,
            Rule::NoUTurn => rule.from != rule.to,
            Rule::Only => false,
        };
        let forbidden = self.rules.iter().any(|(_, rule)| forbids(rule) && rule.to == way);
        let only = of(Rule::Only).next().is_some();
        !forbidden && (!only || of(Rule::Only).any(|(_, rule)| rule.to == way))
    }

    /// Whether one may turn back.
    pub(super) fn allow_u_turn(&self) -> bool {
        let forbids = |rule: &Restriction| rule.rule == Rule::NoUTurn && rule.from == rule.to;
        !self.rules.iter().any(|(_, rule)| forbids(rule))
    }
}
