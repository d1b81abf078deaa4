//! The paper's claims, each held against what was computed.

use veilwalk::Preset;
use veilwalk_report::{chance, figure, percent};

use super::checks::{Checks, SINGLED_OUT};
use super::measure::{Figures, Measured};
use super::plan::{Basis, EPSILONS};
use super::results::Results;

/// A claim and what became of it.
pub(super) struct Claim {
    pub(super) claim: String,
    pub(super) chain: String,
    /// What the paper says.
    pub(super) paper: String,
    pub(super) ours: String,
    pub(super) verdict: Verdict,
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
            claims.extend(lower_errors(chain, epsilon));
        }
    }
    claims.push(largest_decrease(chains));
    claims.extend(at_five_nats(chains));
    for chain in chains {
        claims.push(lower_entropy(chain));
        claims.push(growth(chain));
    }
    claims.push(entropy_decrease(chains));
    for chain in chains {
        claims.extend(uniform_start(chain));
    }
    for chain in chains {
        claims.extend(drift(chain));
    }
    claims.push(lemma_on_credit(&chains[0]));
    claims.push(stronger_guarantee(&chains[0], checks));
    claims
}

/// Of the levels that `chen` exceeds at all, how many `paper` exceeds less often. Simulated figures
/// have to differ by twice their error, and what is too rare to be seen well is not compared.
fn lower_at(chain: &Results, chen: &Figures, paper: &Figures) -> (usize, usize) {
    let pairs = chain.tail(chen).into_iter().zip(chain.tail(paper));
    let exceeded: Vec<_> =
        pairs.filter(|(chen, _)| chen.1 > 0.0 && chen.1 > 4.0 * chen.2).collect();
    let lower =
        exceeded.iter().filter(|(chen, paper)| paper.1 + 2.0 * paper.2.hypot(chen.2) < chen.1);
    (lower.count(), exceeded.len())
}

fn lower_errors(chain: &Results, epsilon: &str) -> Option<Claim> {
    let (chen, paper) = both(chain, epsilon)?;
    let (lower, all) = lower_at(chain, &chen.fixed, &paper.fixed);
    Some(Claim {
        claim: format!("Large errors are less likely than under `chen` at every v, ε = {epsilon}"),
        chain: chain.subject.key.to_owned(),
        paper: "at every v".to_owned(),
        ours: format!("at {lower} of the {all} values of v that `chen` exceeds at all"),
        verdict: Verdict::share(lower, all),
    })
}

/// The largest quotient of the two error probabilities at ε = 1, and where it is.
pub(super) fn largest_quotient(chain: &Results) -> Option<(f64, f64, f64, f64)> {
    let (chen, paper) = both(chain, "1")?;
    let pairs = chain.tail(&chen.fixed).into_iter().zip(chain.tail(&paper.fixed));
    // Below this nothing would be seen in any number of walks.
    let seen = pairs.filter(|(chen, paper)| paper.1 > 1e-12 && chen.1 > 1e-9);
    let quotients = seen.map(|(chen, paper)| (chen.1 / paper.1, chen.0, chen.1, paper.1));
    quotients.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Both error probabilities on credit at the distance that the paper singles out.
pub(super) fn singled_out(credit: &Results) -> Option<(f64, f64)> {
    let (chen, paper) = both(credit, "1")?;
    let at = |figures: &Figures| {
        credit.tail(figures).into_iter().find(|p| p.0 == SINGLED_OUT).map(|p| p.1)
    };
    Some((at(&chen.fixed)?, at(&paper.fixed)?))
}

fn largest_decrease(chains: &[Results]) -> Claim {
    let (chen, paper) = singled_out(&chains[0]).unwrap_or((f64::NAN, f64::NAN));
    let orders = (chen / paper).log10();
    let best = chains.iter().filter_map(|c| Some((c, largest_quotient(c)?)));
    let best = best.max_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let largest = best.map_or(String::new(), |(chain, (quotient, v, ..))| {
        format!(
            "; the largest anywhere is {:.1} orders, on {} at v = {v}",
            quotient.log10(),
            chain.subject.key
        )
    });
    Claim {
        claim: "The largest decrease of an error probability, at v = 15 and ε = 1".to_owned(),
        chain: "credit".to_owned(),
        paper: "0.003 to 2·10⁻⁷: four orders of magnitude".to_owned(),
        ours: format!("{} to {}: {orders:.1} orders{largest}", chance(chen), chance(paper)),
        verdict: match orders {
            o if o >= 3.5 => Verdict::Agrees,
            o if o >= 2.5 => Verdict::Partly,
            _ => Verdict::Differs,
        },
    }
}

/// On street networks: how often five nats are exceeded, at a step and ever.
fn at_five_nats(chains: &[Results]) -> Vec<Claim> {
    const FIVE: f64 = 5.0;
    let mut claims = Vec::new();
    for chain in chains.iter().filter(|c| ["downtown", "roads"].contains(&c.subject.key)) {
        let Some((chen, paper)) = both(chain, "1") else { continue };
        let at = |figures: &Figures| {
            chain.tail(figures).into_iter().find(|p| p.0 == FIVE).map_or(0.0, |p| p.1)
        };
        let (chen, paper) = (at(&chen.fixed), at(&paper.fixed));
        let less = 1.0 - paper / chen;
        claims.push(Claim {
            claim: "In city traffic, errors above 5 nats at ε = 1 are far less likely".to_owned(),
            chain: chain.subject.key.to_owned(),
            paper: "0.39 to 0.06, 84 % less (Gainesville)".to_owned(),
            ours: match chen > 0.0 {
                true => format!(
                    "{} to {}, {} {}",
                    chance(chen),
                    chance(paper),
                    percent(less.abs()),
                    if less >= 0.0 { "less" } else { "more" }
                ),
                false => "no distance is that large here".to_owned(),
            },
            verdict: match less {
                l if l >= 0.5 => Verdict::Agrees,
                l if l > 0.0 => Verdict::Partly,
                _ => Verdict::Differs,
            },
        });
    }
    claims
}

fn lower_entropy(chain: &Results) -> Claim {
    let (mut lower, mut all) = (0, 0);
    let mut fails = Vec::new();
    for epsilon in EPSILONS {
        let Some((chen, paper)) = both(chain, epsilon) else { continue };
        let pairs = chen.fixed.entropies().into_iter().zip(paper.fixed.entropies());
        let mut failing = 0;
        for (chen, paper) in pairs {
            all += 1;
            let holds = paper.1 + 2.0 * paper.2.hypot(chen.2) < chen.1;
            lower += usize::from(holds);
            failing += usize::from(!holds);
        }
        if failing > 0 {
            fails.push(format!("{failing} at ε = {epsilon}"));
        }
    }
    let but =
        if fails.is_empty() { String::new() } else { format!("; not at {}", fails.join(", ")) };
    Claim {
        claim: "Mean entropy is below that of `chen` for every ε and length".to_owned(),
        chain: chain.subject.key.to_owned(),
        paper: "for every ε and length".to_owned(),
        ours: format!("in {lower} of {all} cases{but}"),
        verdict: Verdict::share(lower, all),
    }
}

/// How much entropy changes between two lengths, relative to the first.
fn change(figures: &Figures, from: usize, to: usize) -> Option<f64> {
    let entropies = figures.entropies();
    let at = |n: usize| entropies.iter().find(|e| e.0 == n).map(|e| e.1);
    Some(at(to)? / at(from)? - 1.0)
}

/// Growth is over nearly the whole range; a level is reached if the second half hardly changes.
fn growth(chain: &Results) -> Claim {
    const LEVEL: f64 = 0.02;
    let (mut holding, mut partly, mut all) = (0, 0, 0);
    let mut words = Vec::new();
    for epsilon in EPSILONS {
        let Some((chen, paper)) = both(chain, epsilon) else { continue };
        let (Some(grows), Some(levels)) =
            (change(&chen.fixed, 10, 100), change(&paper.fixed, 50, 100))
        else {
            continue;
        };
        all += 1;
        holding += usize::from(grows > 0.0 && levels.abs() < LEVEL);
        // Where `paper` falls, it does not level off, but does not grow either.
        partly += usize::from(grows > 0.0 && levels < LEVEL);
        words.push(format!("ε = {epsilon}: {} and {}", signed(grows), signed(levels)));
    }
    Claim {
        claim: "Entropy of `chen` grows with length where that of `paper` levels off".to_owned(),
        chain: chain.subject.key.to_owned(),
        paper: "grows; constant beyond a length".to_owned(),
        ours: format!("`chen` from 10 to 100 steps, `paper` from 50 to 100: {}", words.join("; ")),
        verdict: match (holding, partly) {
            (n, _) if n == all => Verdict::Agrees,
            (0, 0) => Verdict::Differs,
            _ => Verdict::Partly,
        },
    }
}

fn signed(share: f64) -> String {
    let sign = if share >= 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(share))
}

fn entropy_decrease(chains: &[Results]) -> Claim {
    let mut best: Option<(f64, String)> = None;
    let mut traffic = Vec::new();
    for chain in chains {
        for epsilon in EPSILONS {
            let Some((chen, paper)) = both(chain, epsilon) else { continue };
            let pairs = chen.fixed.entropies().into_iter().zip(paper.fixed.entropies());
            let decrease =
                pairs.map(|(chen, paper)| 1.0 - paper.1 / chen.1).fold(f64::MIN, f64::max);
            if epsilon == "3" && ["downtown", "roads"].contains(&chain.subject.key) {
                traffic.push(format!("{} on {}", percent(decrease), chain.subject.key));
            }
            if best.as_ref().is_none_or(|(most, _)| decrease > *most) {
                best = Some((decrease, format!("{} at ε = {epsilon}", chain.subject.key)));
            }
        }
    }
    let (most, at) = best.unwrap_or_default();
    Claim {
        claim: "Mean entropy decreases by up to 80 % against `chen`, at ε = 3 in city traffic"
            .to_owned(),
        chain: "all".to_owned(),
        paper: "up to 80 % (Gainesville, ε = 3)".to_owned(),
        ours: format!(
            "at ε = 3 up to {}; the most is {} on {at}",
            traffic.join(", "),
            percent(most)
        ),
        verdict: match most {
            m if m >= 0.7 => Verdict::Agrees,
            m if m >= 0.3 => Verdict::Partly,
            _ => Verdict::Differs,
        },
    }
}

fn uniform_start(chain: &Results) -> Option<Claim> {
    let (chen, paper) = both(chain, "1")?;
    let (lower, all) = lower_at(chain, &chen.uniform, &paper.uniform);
    let entropy = |m: &Measured| m.uniform.last_entropy().map_or(f64::NAN, |e| e.0);
    let (chen, paper) = (entropy(chen), entropy(paper));
    Some(Claim {
        claim: "With a uniform start the results are similar (ε = 1)".to_owned(),
        chain: chain.subject.key.to_owned(),
        paper: "errors and entropy below `chen`".to_owned(),
        ours: format!(
            "errors less likely at {lower} of {all} values of v; entropy {} against {}",
            figure(paper),
            figure(chen)
        ),
        verdict: match (lower == all, paper < chen) {
            (true, true) => Verdict::Agrees,
            (false, false) => Verdict::Differs,
            _ => Verdict::Partly,
        },
    })
}

fn drift(chain: &Results) -> Option<Claim> {
    let shares: Vec<f64> = chain.drift(Preset::Paper).iter().map(|(_, d)| d.negative).collect();
    let least = shares.iter().copied().reduce(f64::min)?;
    let most = shares.iter().copied().reduce(f64::max)?;
    let possible = 1.0 - 1.0 / chain.about.states as f64;
    Some(Claim {
        claim: "Nearly all joint states have negative drift under `paper`, for ε from 0.5 to 10"
            .to_owned(),
        chain: chain.subject.key.to_owned(),
        paper: "nearly the entire space".to_owned(),
        ours: format!(
            "{}; at most {} can, since equal states cannot come nearer",
            match least == most {
                true => percent(least),
                false => format!("{} to {}", percent(least), percent(most)),
            },
            percent(possible)
        ),
        verdict: match least {
            s if s >= 0.95 * possible => Verdict::Agrees,
            s if s >= 0.5 => Verdict::Partly,
            _ => Verdict::Differs,
        },
    })
}

fn lemma_on_credit(credit: &Results) -> Claim {
    let points = credit.drift(Preset::Paper);
    let range = |pick: fn(&super::measure::DriftShares) -> Option<f64>| {
        let shares: Vec<f64> = points.iter().filter_map(|(_, d)| pick(d)).collect();
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        (least, shares.iter().copied().fold(0.0, f64::max))
    };
    let (published, corrected) = (range(|d| d.published), range(|d| d.corrected));
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
        verdict: Verdict::of(published.1 >= 0.9),
    }
}

fn stronger_guarantee(credit: &Results, checks: &Checks) -> Claim {
    let loss = |preset| {
        let promised = credit.of(Basis::Epsilon, preset, "1").and_then(|m| m.guarantee.as_ref());
        promised.map_or(f64::NAN, |p| p.substitution)
    };
    let (chen, paper) = (loss(Preset::Chen), loss(Preset::Paper));
    let fits = (1.0 / credit.about.closest).floor();
    let printed = (1.0 / checks.smallest_self_loop.1).floor();
    Claim {
        claim: "At radius 1 `paper` protects up to 11 changed states, more than `chen`'s one"
            .to_owned(),
        chain: "credit".to_owned(),
        paper: format!("{printed} states; a stronger guarantee"),
        ours: format!(
            "{fits} states: the closest two are {} nats apart. Replacing one state loses up to {} \
             under `paper` and {} under `chen`, at ε = 1",
            figure(credit.about.closest),
            figure(paper),
            figure(chen)
        ),
        verdict: Verdict::of(fits >= 1.0 && paper <= chen),
    }
}
