//! The paper's claims, each held against what was computed.

mod drift;
mod entropy;
mod errors;

use veilwalk::Preset;
use veilwalk_report::figure;

use super::checks::Checks;
use super::measure::Measured;
use super::plan::Basis;
use super::results::Results;
pub(super) use errors::singled_out;

/// A claim and what became of it.
pub(super) struct Claim {
    pub(super) claim: String,
    pub(super) chain: String,
    /// What the paper says.
    pub(super) paper: String,
    pub(super) ours: String,
    pub(super) verdict: Verdict,
    /// Why it does not agree, or not fully; empty where it does, or where nothing is known.
    pub(super) why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Agrees,
    Partly,
    Differs,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Agrees => "yes",
            Self::Partly => "partly",
            Self::Differs => "no",
        }
    }

    /// The reason, where one is asked for.
    fn explained(self, why: impl FnOnce() -> String) -> String {
        if self == Self::Agrees { String::new() } else { why() }
    }

    fn of(holds: bool) -> Self {
        if holds { Self::Agrees } else { Self::Differs }
    }

    /// All, some or none.
    fn share(holding: usize, all: usize) -> Self {
        match holding {
            n if n == all => Self::Agrees,
            0 => Self::Differs,
            _ => Self::Partly,
        }
    }
}

/// The paper's two mechanisms at equal ε.
fn both<'a>(chain: &'a Results, epsilon: &str) -> Option<(&'a Measured, &'a Measured)> {
    let of = |preset| chain.of(Basis::Epsilon, preset, epsilon);
    Some((of(Preset::Chen)?, of(Preset::Paper)?))
}

pub(super) fn all(chains: &[Results], checks: &Checks) -> Vec<Claim> {
    let mut claims = Vec::new();
    for chain in chains {
        for epsilon in ["1", "3"] {
            claims.extend(errors::lower_errors(chain, epsilon));
        }
    }
    claims.push(errors::largest_decrease(chains));
    claims.extend(errors::at_five_nats(chains));
    for chain in chains {
        claims.push(entropy::lower_entropy(chain));
        claims.push(entropy::growth(chain));
    }
    claims.push(entropy::entropy_decrease(chains));
    for chain in chains {
        claims.extend(errors::uniform_start(chain));
    }
    for chain in chains {
        claims.extend(drift::drift(chain));
    }
    claims.push(drift::lemma_on_credit(&chains[0]));
    claims.push(stronger_guarantee(&chains[0], checks));
    claims
}

fn stronger_guarantee(credit: &Results, checks: &Checks) -> Claim {
    let loss = |preset| {
        let promised = credit.of(Basis::Epsilon, preset, "1").and_then(|m| m.guarantee.as_ref());
        promised.map_or(f64::NAN, |p| p.substitution)
    };
    let (chen, paper) = (loss(Preset::Chen), loss(Preset::Paper));
    let fits = (1.0 / credit.about.closest).floor();
    let printed = (1.0 / checks.smallest_self_loop.1).floor();
    let verdict = Verdict::of(fits >= 1.0 && paper <= chen);
    Claim {
        claim: "At radius 1 `paper` protects up to 11 changed states, more than `chen`'s one"
            .to_owned(),
        chain: "credit".to_owned(),
        paper: format!("{printed} states; a stronger guarantee"),
        ours: format!(
            "{fits} states. Replacing one state loses up to {} under `paper` and {} under `chen`, at \
             ε = 1",
            figure(paper),
            figure(chen)
        ),
        why: verdict.explained(|| {
            format!(
                "the count divides the radius by the weight of a self-loop, {} nats, but a changed \
                 state costs at least {}, the distance of the closest two. At radius 1 no two \
                 different walks are adjacent, so nothing is promised",
                figure(checks.smallest_self_loop.1),
                figure(credit.about.closest)
            )
        }),
        verdict,
    }
}
