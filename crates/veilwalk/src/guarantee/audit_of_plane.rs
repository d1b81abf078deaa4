//! The check of a sampler that draws points on a plane.
//!
//! The points have no end, so they are judged by what kind of a point they are, seen from the real place: how far away
//! (down to rings that come up once in a hundred million draws), in which of four directions, and whether the steps
//! north and east are even or odd. The last is where noise that is made of floats gives itself away: not every number
//! can come out of it, and which ones can depends on the real place. The probability of each kind is known.
//!
//! The loss of two real states is estimated by how often points lie near the one or the other of their places.

use std::collections::BTreeMap;

use super::audit::{
    AuditPlan, AuditReport, Finding, LossEstimate, Probe, Sampler, claim, label, report_of,
};
use super::confidence::{Coin, Count};
use crate::chain::StateId;
use crate::mechanism::Mechanism;
use crate::mechanism::plane::{NoiseLaw, Plane};
use crate::outcome::{LatticePoint, length};
use crate::watch::{Stage, Stopped, Watch, report_share};

/// The shares of draws that are farther away than each ring.
const BEYOND: [f64; 17] =
    [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8];
const DIRECTIONS: [&str; 4] = ["north", "east", "south", "west"];
const PARITIES: [&str; 4] = ["even and even", "even and odd", "odd and even", "odd and odd"];
/// How large the discs are in which points are counted for the loss, in nats.
const DISCS: [f64; 3] = [0.2, 0.7, 2.0];

/// A kind of points.
struct Kind {
    name: String,
    probability: f64,
}

/// The kinds of points around a real place: rings, then directions, then parities.
struct Kinds {
    /// The farthest of each ring but the last, in millimetres.
    rings: Vec<u64>,
    all: Vec<Kind>,
}

impl Kinds {
    fn of(law: &NoiseLaw) -> Self {
        let mut rings: Vec<u64> = BEYOND.iter().map(|&beyond| law.steps_within(beyond)).collect();
        rings.dedup();
        let metres = |steps: u64| steps as f64 / 1000.0;
        let mut all = Vec::new();
        let (mut nearer, mut left) = (None, 1.0);
        for &ring in &rings {
            let beyond = law.beyond_steps(ring);
            let name = match nearer {
                None => format!("a place at most {} m from it", metres(ring)),
                Some(from) => format!("a place {} to {} m from it", metres(from), metres(ring)),
            };
            all.push(Kind { name, probability: left - beyond });
            (nearer, left) = (Some(ring), beyond);
        }
        let farthest = metres(rings.last().copied().unwrap_or(0));
        all.push(Kind { name: format!("a place beyond {farthest} m"), probability: left });
        let direction = (1.0 - law.diagonal()) / 4.0;
        all.extend(
            DIRECTIONS.iter().map(|name| Kind {
                name: format!("a place in the {name}"),
                probability: direction,
            }),
        );
        let parities = law.parities();
        all.extend(PARITIES.iter().zip(parities).map(|(name, probability)| Kind {
            name: format!("a number of millimetres north and east that is {name}"),
            probability,
        }));
        Self { rings, all }
    }

    /// The places of the kinds that a point is of, by the steps to it.
    fn of_point(&self, (north, east): (i64, i64)) -> impl Iterator<Item = usize> + use<> {
        let (n, e) = (north.unsigned_abs(), east.unsigned_abs());
        let far = length(n.into(), e.into());
        let ring = self.rings.partition_point(|&ring| ring < far);
        let direction = match n.cmp(&e) {
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(if north > 0 { 0 } else { 2 }),
            std::cmp::Ordering::Less => Some(if east > 0 { 1 } else { 3 }),
        };
        let rings = self.rings.len() + 1;
        let parity = 2 * (n % 2) as usize + (e % 2) as usize;
        let direction = direction.map(|direction| rings + direction);
        [Some(ring), direction, Some(rings + DIRECTIONS.len() + parity)].into_iter().flatten()
    }
}

/// What came up for one real state.
struct Tally {
    kinds: Vec<u64>,
    /// What was no point.
    no_point: u64,
    /// How many points lay in each disc: around which place, how large, and how many.
    discs: BTreeMap<(LatticePoint, u64), u64>,
}

/// Samples as planned and judges the counts.
pub(super) fn audit(
    mechanism: &Mechanism,
    plane: &Plane,
    sampler: &mut dyn Sampler,
    plan: &AuditPlan,
    watch: Watch<'_>,
) -> Result<AuditReport, Stopped> {
    let law = plane.law();
    let kinds = Kinds::of(&law);
    let discs: Vec<u64> = DISCS.iter().map(|&nats| law.steps_of(nats)).collect();
    let tallies = sample(plane, sampler, plan, &kinds, &discs, watch)?;
    let chain = mechanism.model().chain();
    let outcomes = kinds.all.len() * tallies.len();
    // Two sides for each kind.
    let tolerated = (4.0 * outcomes.max(1) as f64 / AuditPlan::FALSE_ALARMS).ln();
    let (mut findings, mut too_rare_to_notice) = (Vec::new(), 0);
    for (&real, (previous, tally)) in &tallies {
        let names = || (label(chain, *previous), label(chain, real));
        if tally.no_point > 0 {
            let ((previous, real), seen) = (names(), tally.no_point);
            let outcome = "what is no place".to_owned();
            let finding = Finding::ImpossibleMove { previous, real, outcome, seen };
            findings.push((f64::INFINITY, finding));
        }
        for (kind, &seen) in kinds.all.iter().zip(&tally.kinds) {
            let coin = Coin { heads: kind.probability, tails: 1.0 - kind.probability };
            let surprise = Count { seen, draws: plan.draws }.exponent(coin);
            if (Count { seen: 0, draws: plan.draws }).exponent(coin) <= tolerated {
                too_rare_to_notice += 1;
            }
            if surprise > tolerated {
                let (previous, real) = names();
                let finding = Finding::WrongFrequency {
                    previous,
                    real,
                    outcome: kind.name.clone(),
                    seen,
                    expected: kind.probability * plan.draws as f64,
                    ln_chance: (2.0 * outcomes as f64).ln() - surprise,
                };
                findings.push((surprise, finding));
            }
        }
    }
    let losses = estimates(mechanism, plane, plan, &discs, &tallies);
    Ok(report_of(plan, tallies.len(), outcomes, too_rare_to_notice, tolerated, findings, losses))
}

type Tallies = BTreeMap<StateId, (StateId, Tally)>;

fn sample(
    plane: &Plane,
    sampler: &mut dyn Sampler,
    plan: &AuditPlan,
    kinds: &Kinds,
    discs: &[u64],
    watch: Watch<'_>,
) -> Result<Tallies, Stopped> {
    const BETWEEN_REPORTS: u64 = 1 << 16;
    let mut tallies = Tallies::new();
    for &Probe { previous, real, other } in &plan.probes {
        for state in [real, other] {
            let (_, tally) = tallies.entry(state).or_insert_with(|| {
                let kinds = vec![0; kinds.all.len()];
                (previous, Tally { kinds, no_point: 0, discs: BTreeMap::new() })
            });
            for centre in [real, other].map(|state| plane.point_of(state)) {
                tally.discs.extend(discs.iter().map(|&radius| ((centre, radius), 0)));
            }
        }
    }
    let total = tallies.len() as f64;
    for (round, (&real, (previous, tally))) in tallies.iter_mut().enumerate() {
        let own = plane.point_of(real);
        for draw in 0..plan.draws {
            if draw % BETWEEN_REPORTS == 0 {
                let share = draw as f64 / plan.draws as f64;
                report_share(watch, Stage::Audit, (round as f64 + share) / total)?;
            }
            let Some(point) = sampler.sample(*previous, real).point() else {
                tally.no_point += 1;
                continue;
            };
            let steps = (
                i64::from(point.north()) - i64::from(own.north()),
                i64::from(point.east()) - i64::from(own.east()),
            );
            kinds.of_point(steps).for_each(|kind| tally.kinds[kind] += 1);
            for ((centre, radius), seen) in &mut tally.discs {
                *seen += u64::from(point.distance(*centre) <= *radius);
            }
        }
    }
    report_share(watch, Stage::Audit, 1.0)?;
    Ok(tallies)
}

/// Lower bounds on the loss of every probe, from the discs.
fn estimates(
    mechanism: &Mechanism,
    plane: &Plane,
    plan: &AuditPlan,
    discs: &[u64],
    tallies: &Tallies,
) -> Vec<LossEstimate> {
    let chain = mechanism.model().chain();
    let bounds: usize = tallies.values().map(|(_, tally)| tally.discs.len()).sum();
    // Two bounds for each disc.
    let allowed = (4.0 * bounds.max(1) as f64 / AuditPlan::FALSE_ALARMS).ln();
    let mut estimates: Vec<LossEstimate> = plan
        .probes
        .iter()
        .map(|&Probe { previous, real, other }| {
            let count = |state: &StateId, disc| Count {
                seen: tallies[state].1.discs[&disc],
                draws: plan.draws,
            };
            let ratio = |a: &StateId, b: &StateId, disc| {
                let low = count(a, disc).lower_bound(allowed);
                let high = count(b, disc).upper_bound(allowed);
                if low > 0.0 { (low / high).ln() } else { 0.0 }
            };
            let mut at_least = 0f64;
            for centre in [real, other].map(|state| plane.point_of(state)) {
                for &radius in discs {
                    let disc = (centre, radius);
                    let sides = ratio(&real, &other, disc).max(ratio(&other, &real, disc));
                    at_least = at_least.max(sides);
                }
            }
            LossEstimate {
                previous: label(chain, previous),
                real: label(chain, real),
                other: label(chain, other),
                at_least,
                exact: plane.pair_loss(real, other),
                claim: claim(mechanism, real, other),
            }
        })
        .collect();
    estimates.sort_by(|a, b| b.at_least.total_cmp(&a.at_least));
    estimates
}
