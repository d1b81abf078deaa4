//! Claims about the entropy of releases.

use veilwalk_report::{figure, percent};

use super::{Claim, Verdict, both};
use crate::measure::{Figures, Measured};
use crate::plan::EPSILONS;
use crate::results::Results;

/// The lengths at which the entropy of `paper` is not below that of `chen`, and how many there are.
fn not_lower(chen: &Figures, paper: &Figures) -> (Vec<usize>, usize) {
    let pairs: Vec<_> = chen.entropies().into_iter().zip(paper.entropies()).collect();
    let lower = |chen: f64, paper: f64, error: f64| paper + 2.0 * error < chen;
    let fails = pairs.iter().filter(|(c, p)| !lower(c.1, p.1, p.2.hypot(c.2)));
    (fails.map(|(chen, _)| chen.0).collect(), pairs.len())
}

pub(super) fn lower_entropy(chain: &Results) -> Claim {
    let (mut failing, mut all) = (0, 0);
    let mut fails = Vec::new();
    let mut crossing = Some(0);
    for epsilon in EPSILONS {
        let Some((chen, paper)) = both(chain, epsilon) else { continue };
        let (lengths, compared) = not_lower(&chen.fixed, &paper.fixed);
        (failing, all) = (failing + lengths.len(), all + compared);
        let Some(&last) = lengths.last() else { continue };
        fails.push(format!("{} at ε = {epsilon}", lengths.len()));
        // From the first length on without a gap: the two curves cross once.
        let once = lengths.len() == last && last < compared;
        crossing = crossing.filter(|_| once).map(|before| last.max(before));
    }
    let but =
        if fails.is_empty() { String::new() } else { format!("; not for {}", fails.join(", ")) };
    let verdict = Verdict::share(all - failing, all);
    Claim {
        claim: "Mean entropy is below that of `chen` for every ε and length".to_owned(),
        chain: chain.subject.key.to_owned(),
        paper: "for every ε and length".to_owned(),
        ours: format!("in {} of {all} cases{but}", all - failing),
        why: verdict.explained(|| match crossing {
            Some(last) => format!(
                "only short walks fail, and beyond {last} steps it holds for every ε. `chen` \
                 follows the real walk until its first mistake, which few short walks have made; \
                 `paper` makes small mistakes from the first step on"
            ),
            None => "the two cross more than once".to_owned(),
        }),
        verdict,
    }
}

/// A relative change and its error.
#[derive(Clone, Copy)]
struct Change {
    share: f64,
    error: f64,
}

/// How much entropy changes between two lengths, relative to the first.
fn change(figures: &Figures, from: usize, to: usize) -> Option<Change> {
    let entropies = figures.entropies();
    let at = |n: usize| entropies.iter().find(|e| e.0 == n).map(|e| (e.1, e.2));
    let ((first, error), (last, last_error)) = (at(from)?, at(to)?);
    Some(Change { share: last / first - 1.0, error: error.hypot(last_error) / first })
}

/// How entropy changes with length, for every ε.
struct Growth {
    chen: Vec<Change>,
    paper: Vec<Change>,
}

impl Growth {
    /// `paper` has levelled off if less than this share changes.
    const LEVEL: f64 = 0.02;

    /// Growth is over nearly the whole range; a level is reached if the second half hardly changes.
    fn new(chain: &Results, pick: fn(&Measured) -> &Figures) -> Self {
        let (mut chens, mut papers) = (Vec::new(), Vec::new());
        for epsilon in EPSILONS {
            let Some((chen, paper)) = both(chain, epsilon) else { continue };
            chens.extend(change(pick(chen), 10, 100));
            papers.extend(change(pick(paper), 50, 100));
        }
        Self { chen: chens, paper: papers }
    }

    fn grows(&self) -> impl Iterator<Item = bool> {
        self.chen.iter().map(|c| c.share > 2.0 * c.error)
    }

    fn levels(&self) -> impl Iterator<Item = bool> {
        self.paper.iter().map(|c| c.share.abs() < Self::LEVEL)
    }

    /// For how many ε both hold.
    fn holding(&self) -> usize {
        self.grows().zip(self.levels()).filter(|(grows, levels)| *grows && *levels).count()
    }

    fn holds(&self) -> bool {
        self.holding() == EPSILONS.len()
    }

    /// Where `paper` falls, it does not level off, but does not grow either.
    fn falls_instead(&self) -> bool {
        self.grows().all(|grows| grows) && self.paper.iter().all(|c| c.share < Self::LEVEL)
    }

    fn words(&self) -> String {
        let list = |changes: &[Change]| {
            changes.iter().map(|c| signed(c.share)).collect::<Vec<_>>().join(", ")
        };
        format!("`chen` {}; `paper` {}", list(&self.chen), list(&self.paper))
    }
}

pub(super) fn growth(chain: &Results) -> Claim {
    let (fixed, uniform) = (Growth::new(chain, |m| &m.fixed), Growth::new(chain, |m| &m.uniform));
    let from = chain.subject.label(chain.subject.from);
    let verdict = match (fixed.holds(), fixed.holding() + uniform.holding()) {
        (true, _) => Verdict::Agrees,
        (false, 0) if !fixed.falls_instead() => Verdict::Differs,
        _ => Verdict::Partly,
    };
    Claim {
        claim: "Entropy of `chen` grows with length where that of `paper` levels off".to_owned(),
        chain: chain.subject.key.to_owned(),
        paper: "grows; constant beyond a length".to_owned(),
        ours: format!(
            "changes at ε = {}, of `chen` from 10 to 100 steps and of `paper` from 50 to 100. From \
             {from}: {}. From a uniform start: {}",
            EPSILONS.join(", "),
            fixed.words(),
            uniform.words()
        ),
        why: verdict.explained(|| why_no_growth(chain, &fixed, &uniform)),
        verdict,
    }
}

/// Entropy per step also depends on where the real walks are: their own shows it.
fn why_no_growth(chain: &Results, fixed: &Growth, uniform: &Growth) -> String {
    let own = &chain.about.own_fixed;
    let at = |n: usize| own.get(n - 1).map_or(f64::NAN, |o| o.mean);
    let mut reasons = Vec::new();
    if fixed.falls_instead() {
        reasons.push(
            "`chen` grows, as claimed; `paper` does not stay level but goes on falling".to_owned(),
        );
    } else if at(1) > chain.about.entropy_rate {
        reasons.push(format!(
            "the first move from {} carries {} nats, a move in the long run {}, so even the entropy \
             of real walks falls with length, by {} from 10 to 100 steps, and that of releases with \
             it. The paper follows one real walk, which it does not print",
            chain.subject.label(chain.subject.from),
            figure(at(1)),
            figure(chain.about.entropy_rate),
            percent(1.0 - at(100) / at(10))
        ));
    }
    reasons.push(match uniform.holding() {
        n if n == EPSILONS.len() => "from a uniform start the claim holds for every ε".to_owned(),
        0 => {
            let own = |n: usize| chain.about.own_uniform.get(n - 1).map_or(f64::NAN, |o| o.mean);
            let falls = 1.0 - own(100) / own(10);
            match falls > 0.0 {
                true => format!(
                    "from a uniform start that of real walks falls too, by {}, and the claim does \
                     not hold either",
                    percent(falls)
                ),
                false => "from a uniform start it does not hold either".to_owned(),
            }
        }
        n => format!("from a uniform start it holds for {n} of {} ε", EPSILONS.len()),
    });
    reasons.join("; ")
}

fn signed(share: f64) -> String {
    let sign = if share >= 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(share))
}

pub(super) fn entropy_decrease(chains: &[Results]) -> Claim {
    let mut best: Option<(f64, String)> = None;
    let (mut traffic, mut room) = (Vec::new(), Vec::new());
    for chain in chains {
        for epsilon in EPSILONS {
            let Some((chen, paper)) = both(chain, epsilon) else { continue };
            let (chen, paper) = (chen.fixed.entropies(), paper.fixed.entropies());
            let pairs = chen.iter().zip(&paper);
            let decrease =
                pairs.map(|(chen, paper)| 1.0 - paper.1 / chen.1).fold(f64::MIN, f64::max);
            if epsilon == "3" && ["downtown", "roads"].contains(&chain.subject.key) {
                traffic.push(format!("{} on {}", percent(decrease), chain.subject.key));
                let own = |n: usize| chain.about.own_fixed.get(n - 1).map_or(f64::NAN, |o| o.mean);
                let most = chen.iter().map(|c| 1.0 - own(c.0) / c.1).fold(f64::MIN, f64::max);
                room.push(format!("{} on {}", percent(most), chain.subject.key));
            }
            if best.as_ref().is_none_or(|(most, _)| decrease > *most) {
                best = Some((decrease, format!("{} at ε = {epsilon}", chain.subject.key)));
            }
        }
    }
    let (most, at) = best.unwrap_or_default();
    let verdict = match most {
        m if m >= 0.7 => Verdict::Agrees,
        m if m >= 0.3 => Verdict::Partly,
        _ => Verdict::Differs,
    };
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
        why: verdict.explained(|| {
            format!(
                "the Gainesville data are not public, and on the street networks here there is less \
                 to gain: at ε = 3 the real walks themselves are below `chen` by no more than {}",
                room.join(", ")
            )
        }),
        verdict,
    }
}
