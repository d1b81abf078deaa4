//! Claims about error probabilities.

use veilwalk_report::{chance, figure, percent};

use super::{Claim, Verdict, both};
use crate::checks::SINGLED_OUT;
use crate::measure::{Figures, Measured};
use crate::plan::STEPS;
use crate::results::Results;

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

pub(super) fn lower_errors(chain: &Results, epsilon: &str) -> Option<Claim> {
    let (chen, paper) = both(chain, epsilon)?;
    let (lower, all) = lower_at(chain, &chen.fixed, &paper.fixed);
    Some(Claim {
        claim: format!("Large errors are less likely than under `chen` at every v, ε = {epsilon}"),
        chain: chain.subject.key.to_owned(),
        paper: "at every v".to_owned(),
        ours: format!("at {lower} of the {all} values of v that `chen` exceeds at all"),
        verdict: Verdict::share(lower, all),
        why: String::new(),
    })
}

/// The largest quotient of the two error probabilities at ε = 1, and where it is.
fn largest_quotient(chain: &Results) -> Option<(f64, f64, f64, f64)> {
    let (chen, paper) = both(chain, "1")?;
    let pairs = chain.tail(&chen.fixed).into_iter().zip(chain.tail(&paper.fixed));
    // Below this nothing would be seen in any number of walks.
    let seen = pairs.filter(|(chen, paper)| paper.1 > 1e-12 && chen.1 > 1e-9);
    let quotients = seen.map(|(chen, paper)| (chen.1 / paper.1, chen.0, chen.1, paper.1));
    quotients.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Both error probabilities on credit at the distance that the paper singles out.
pub(crate) fn singled_out(credit: &Results) -> Option<(f64, f64)> {
    let (chen, paper) = both(credit, "1")?;
    let at = |figures: &Figures| {
        credit.tail(figures).into_iter().find(|p| p.0 == SINGLED_OUT).map(|p| p.1)
    };
    Some((at(&chen.fixed)?, at(&paper.fixed)?))
}

pub(super) fn largest_decrease(chains: &[Results]) -> Claim {
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
    let verdict = match orders {
        o if o >= 3.5 => Verdict::Agrees,
        o if o >= 2.5 => Verdict::Partly,
        _ => Verdict::Differs,
    };
    Claim {
        claim: "The largest decrease of an error probability, at v = 15 and ε = 1".to_owned(),
        chain: "credit".to_owned(),
        paper: "0.003 to 2·10⁻⁷: four orders of magnitude".to_owned(),
        ours: format!("{} to {}: {orders:.1} orders{largest}", chance(chen), chance(paper)),
        why: verdict.explained(|| {
            "the paper follows one real walk, which it does not print; here the average is over all \
             walks from Caa, and exact. The printed 2·10⁻⁷ is a fifth of the smallest share that \
             10,000 walks of 100 steps can show"
                .to_owned()
        }),
        verdict,
    }
}

/// On street networks: how often five nats are exceeded at a step.
pub(super) fn at_five_nats(chains: &[Results]) -> Vec<Claim> {
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
            why: String::new(),
        });
    }
    claims
}

pub(super) fn uniform_start(chain: &Results) -> Option<Claim> {
    let (chen, paper) = both(chain, "1")?;
    let (lower, all) = lower_at(chain, &chen.uniform, &paper.uniform);
    let entropy = |m: &Measured| m.uniform.last_entropy().unwrap_or((f64::NAN, 0.0));
    let (chen, paper) = (entropy(chen), entropy(paper));
    let below = paper.0 + 2.0 * paper.1.hypot(chen.1) < chen.0;
    Some(Claim {
        claim: "With a uniform start the results are similar (ε = 1)".to_owned(),
        chain: chain.subject.key.to_owned(),
        paper: "errors and entropy below `chen`".to_owned(),
        ours: format!(
            "errors less likely at {lower} of {all} values of v; entropy {} against {} after {STEPS} \
             steps",
            figure(paper.0),
            figure(chen.0)
        ),
        verdict: match (lower == all, below) {
            (true, true) => Verdict::Agrees,
            (false, false) => Verdict::Differs,
            _ => Verdict::Partly,
        },
        why: String::new(),
    })
}
