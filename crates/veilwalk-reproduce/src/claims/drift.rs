//! Claims about drift.

use veilwalk::Preset;
use veilwalk_report::percent;

use super::{Claim, Verdict};
use crate::measure::DriftShares;
use crate::results::Results;

/// Of the pairs that can drift together, how many are nearly all.
const NEARLY_ALL: f64 = 0.95;

pub(super) fn drift(chain: &Results) -> Option<Claim> {
    let shares: Vec<f64> = chain.drift(Preset::Paper).iter().map(|(_, d)| d.negative).collect();
    let least = shares.iter().copied().reduce(f64::min)?;
    let most = shares.iter().copied().reduce(f64::max)?;
    let possible = 1.0 - 1.0 / chain.about.states as f64;
    let verdict = match least {
        s if s >= NEARLY_ALL * possible => Verdict::Agrees,
        s if s >= 0.5 => Verdict::Partly,
        _ => Verdict::Differs,
    };
    Some(Claim {
        claim: "Nearly all joint states have negative drift under `paper`, for ε from 0.5 to 10"
            .to_owned(),
        chain: chain.subject.key.to_owned(),
        paper: "nearly the entire space".to_owned(),
        ours: format!(
            "{} of all; {} can, since equal states cannot come nearer",
            match least == most {
                true => percent(least),
                false => format!("{} to {}", percent(least), percent(most)),
            },
            percent(possible)
        ),
        why: verdict.explained(|| why_no_drift(chain)),
        verdict,
    })
}

/// The mechanism that nearly always takes the nearest candidate shows what the chain allows.
fn why_no_drift(chain: &Results) -> String {
    let Some(&(epsilon, nearest)) = chain.drift(Preset::Cell).last() else { return String::new() };
    format!(
        "part of it is the chain. `cell` at ε = {epsilon} nearly always takes the candidate nearest to \
         the real state, and even so only {} drift together: from the other pairs no candidate \
         keeps up with the real walk, on average. The rest is chance, which is largest at small ε",
        percent(nearest.negative)
    )
}

pub(super) fn lemma_on_credit(credit: &Results) -> Claim {
    let points = credit.drift(Preset::Paper);
    let range = |pick: fn(&DriftShares) -> Option<f64>| {
        let shares: Vec<f64> = points.iter().filter_map(|(_, d)| pick(d)).collect();
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        (least, shares.iter().copied().fold(0.0, f64::max))
    };
    let (published, corrected) = (range(|d| d.published), range(|d| d.corrected));
    let verdict = Verdict::of(published.1 >= NEARLY_ALL);
    Claim {
        claim: "On credit the sufficient condition predicts nearly all of it".to_owned(),
        chain: "credit".to_owned(),
        paper: "nearly 100 %".to_owned(),
        ours: format!(
            "as printed {} to {}; corrected {} to {}",
            percent(published.0),
            percent(published.1),
            percent(corrected.0),
            percent(corrected.1)
        ),
        why: verdict.explained(|| {
            "only the printed matrix and the printed formula enter here, so neither a walk nor a start \
             can be the reason"
                .to_owned()
        }),
        verdict,
    }
}
