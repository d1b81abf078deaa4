//! What a walk costs, charged to a ledger before its first answer is stored.
//!
//! A process can be killed after a walk was charged and before its first answer is stored. The walk then starts
//! again, and the ledger has to know that this is the same release, of which nobody has seen anything. So
//! each charge carries a digest made of the store's release id and the walk's name: the same in every attempt
//! of this store, and of no other. What makes the attempts one release is not the digest but the store, which
//! releases each step once.

use std::fs;
use std::sync::Arc;

use veilwalk::{Mechanism, ReleaseId, Start};
use veilwalk_ledger::{Charge, Ledger, LedgerError, Limit, Problem, Terms};

use crate::refusal::Refusal;
use crate::request::WalkName;

/// A ledger, and what each walk costs.
#[derive(Debug)]
pub struct Charging {
    ledger: Ledger,
    terms: Terms,
    limit: Option<Limit>,
    place: String,
}

impl Charging {
    /// For walks that this mechanism releases, up to a limit for each person. None if the mechanism makes no
    /// promise that could be counted. The release id is the store's ([`Engine::release_id`](crate::Engine::release_id)).
    #[must_use]
    pub fn new(
        ledger: Ledger,
        mechanism: &Mechanism,
        start: Start,
        release_id: ReleaseId,
        limit: Option<Limit>,
    ) -> Option<Self> {
        let terms = Terms::of_release(mechanism, start, release_id.to_bytes())?;
        let place = fs::canonicalize(ledger.name())
            .map_or_else(|_| ledger.name().to_owned(), |path| path.display().to_string());
        Some(Self { ledger, terms, limit, place })
    }

    /// Where the ledger is, wherever it is named from.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Charges walks that start, all or none of them.
    pub(crate) fn charge(&self, walks: &[NewWalk<'_>]) -> Result<(), Refusal> {
        let charges = walks.iter().map(|walk| {
            let name = walk.name.as_str();
            let charge = Charge::of_walk(name).digest(Some(self.digest(name)));
            walk.person.map_or(charge, |person| charge.person(person))
        });
        let charges: Vec<Charge<'_>> = charges.collect();
        self.ledger.charge(&self.terms, &charges, self.limit).map(|_| ()).map_err(refusal)
    }

    fn digest(&self, walk: &str) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_derive_key("veilwalk 2026 live walk v1");
        hasher.update(&self.terms.release).update(walk.as_bytes());
        *hasher.finalize().as_bytes().first_chunk().expect("32 bytes have a first 16")
    }
}

/// A walk that starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewWalk<'a> {
    pub(crate) name: &'a WalkName,
    pub(crate) person: Option<&'a str>,
}

/// Whether it is this walk that is refused, or the ledger that cannot be used at all.
fn refusal(error: LedgerError) -> Refusal {
    match error.problem {
        Problem::OverBudget { .. }
        | Problem::NotCountable { .. }
        | Problem::TooMuch { .. }
        | Problem::OtherUnderId { .. }
        | Problem::TwoPersons { .. } => Refusal::Budget(Arc::new(error)),
        _ => Refusal::Ledger(Arc::new(error)),
    }
}
