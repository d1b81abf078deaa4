//! Where veilwalk differs from the paper: what is printed, what was found, the number of this run
//! that shows it, and what veilwalk does.

use veilwalk::Preset;
use veilwalk::internal::nats::in_nats;
use veilwalk_report::{chance, estimate, figure, percent};

use crate::checks::{Checks, SINGLED_OUT, TYPICAL};
use crate::plan::STEPS;
use crate::results::Results;

pub(crate) struct Difference {
    pub(crate) place: &'static str,
    pub(crate) printed: &'static str,
    pub(crate) found: &'static str,
    /// What this run computed.
    pub(crate) number: String,
    pub(crate) remedy: &'static str,
}

pub(crate) fn all(chains: &[Results], checks: &Checks) -> Vec<Difference> {
    let credit = &chains[0];
    let by_chain = |words: &dyn Fn(&Results) -> String| -> String {
        let each = chains.iter().map(|c| format!("{} {}", c.subject.key, words(c)));
        each.collect::<Vec<_>>().join("; ")
    };
    let option = |number: Option<f64>| number.map_or("undefined".to_owned(), figure);
    vec![
        Difference {
            place: "Credit matrix",
            printed: "nine rows of probabilities",
            found: "four rows do not sum to one",
            number: {
                let rows = checks.row_sums.iter().map(|(state, sum)| format!("{state} {sum:.3}"));
                rows.collect::<Vec<_>>().join(", ")
            },
            remedy: "the built-in chain is normalised; a file with such rows is refused unless \
                     `--normalize` is given",
        },
        Difference {
            place: "Radius 1 in all experiments",
            printed: "guarantees are compared at equal ε",
            found: "hardly any two states are within one nat of each other, so at this radius next \
                    to nothing is protected, whatever ε is",
            number: format!(
                "closest states, and pairs within 1 nat: {}",
                by_chain(&|c| format!(
                    "{}, {}",
                    in_nats(figure(c.about.closest)),
                    c.about.covered_pairs
                ))
            ),
            remedy: "an empty guarantee is refused; mechanisms are compared at equal ε and radius \
                     *and* at equal exact loss",
        },
        Difference {
            place: "States that may change at radius 1",
            printed: "11 on credit",
            found: "the radius was divided by the weight of a self-loop; a changed state costs at \
                    least the distance of the closest two states",
            number: format!(
                "self-loop of {}: {} nats, so ⌊1/{}⌋ = {}; closest states: {} nats, so {}",
                checks.smallest_self_loop.0,
                figure(checks.smallest_self_loop.1),
                figure(checks.smallest_self_loop.1),
                (1.0 / checks.smallest_self_loop.1).floor(),
                figure(credit.about.closest),
                (1.0 / credit.about.closest).floor()
            ),
            remedy: "counted from distinct states",
        },
        Difference {
            place: "Empirical entropy",
            printed: "a sum of distances",
            found: "the information of a walk is the sum of its moves' own weights: a self-loop has \
                    weight but no distance, and a move can be longer than the shortest way",
            number: format!(
                "real walks on credit: {} nats a move by weights, {} by distances",
                figure(checks.entropy_by_weights),
                figure(checks.entropy_by_distances)
            ),
            remedy: "weights",
        },
        Difference {
            place: "Sufficient condition for negative drift",
            printed: "the smallest distance left counts as if it were gained",
            found: "it can hold where the drift is positive",
            number: format!(
                "on a chain of {} states at ε = 10 it is wrong for {} of the joint states; one of \
                 them drifts apart by {} nats a step. The largest such share for ε from 0.5 to 10: \
                 {}",
                checks.counterexample.states,
                percent(checks.counterexample.wrongly),
                figure(checks.counterexample.drift),
                by_chain(&|c| {
                    let shares = c.drift(Preset::Paper).into_iter();
                    let wrongly = shares.filter_map(|(_, d)| d.published_wrongly);
                    percent(wrongly.fold(0.0, f64::max))
                })
            ),
            remedy: "a corrected condition, proven in two lines",
        },
        Difference {
            place: "Share of states with negative drift",
            printed: "nearly all of them on credit, by the condition",
            found: "the condition as printed holds for few; the corrected one for most; the exact \
                    share leaves out the pairs of equal states, which cannot come nearer",
            number: lemma_range(credit),
            remedy: "the exact share is computed",
        },
        Difference {
            place: "Bound on large errors",
            printed: "α = 2γ/D and ζ = 1 − γ²/D",
            found: "a unit is off and factors are missing, and the constants do not follow from the \
                    theorem they are taken from",
            number: format!(
                "credit, v = {SINGLED_OUT}, step {STEPS}: as printed {}; with constants computed \
                 from the kernels {}; exact probability {}",
                match checks.error_bound.published {
                    Some(bound) if bound >= 1.0 => {
                        format!("{}, which says nothing of a probability", figure(bound))
                    }
                    Some(bound) => figure(bound),
                    None => format!(
                        "nothing (it speaks of distances above {} nats)",
                        option(checks.b_epsilon)
                    ),
                },
                checks.error_bound.corrected.map_or("–".to_owned(), chance),
                checks.error_bound.exact.map_or("–".to_owned(), chance)
            ),
            remedy: "a rigorous bound, and the exact probabilities",
        },
        Difference {
            place: "Drift",
            printed: "the distance to the next real state in the statement, to the current one in \
                      the proof",
            found: "these are different quantities",
            number: format!(
                "joint states on credit with negative drift at ε = 1: {} of {} by the first, {} by \
                 the second",
                checks.negative_after,
                credit.about.states * credit.about.states,
                checks.negative_before
            ),
            remedy: "the one-step drift of the pair",
        },
        Difference {
            place: "Bound on mean entropy",
            printed: "√(2/D) inside an error function, and a concentration inequality for V",
            found: "the integral gives √2/D; the inequality bounds a deviation from the mean, not V \
                    itself",
            number: format!(
                "credit at ε = 1, {STEPS} steps: {} as printed; exact expectation {}",
                option(checks.entropy_bound.published),
                option(checks.entropy_bound.exact)
            ),
            remedy: "the exact expectation",
        },
        Difference {
            place: "Bound on typicality",
            printed: "4n − 6 terms and the mixing time of the chain",
            found: "there is one more inner term, 4n − 2, and the released walk alone is not a Markov \
                    chain: the pair of walks is, so its mixing time counts",
            number: format!(
                "credit, n = {STEPS}: the sum of squares is {} nats² as printed and {} with all its \
                 terms; the chain mixes in {} steps, the pair in {}; at η = {TYPICAL} the bound on \
                 the probability is {} as printed and {} corrected",
                figure(squares(credit.about.diameter, 6.0)),
                figure(squares(credit.about.diameter, 2.0)),
                checks.mixing.0,
                checks.mixing.1,
                option(checks.typicality_bound.published),
                option(checks.typicality_bound.corrected)
            ),
            remedy: "both are evaluated; the probability itself is enclosed or simulated",
        },
        Difference {
            place: "Error function",
            printed: "defined without the factor 2/√π",
            found: "the formulas use the usual one",
            number: format!("at 1: {:.4} as defined, {:.4} as used", checks.erf.0, checks.erf.1),
            remedy: "the usual one",
        },
        Difference {
            place: "A probability of 2·10⁻⁷",
            printed: "from 10,000 simulated walks of 100 steps",
            found: "so few cannot show it: the smallest share they can give is one step in a million",
            number: resolution(credit),
            remedy: "exact values; simulation is shown with its error bars",
        },
        Difference {
            place: "Asymmetry constant",
            printed: "the largest quotient of the distances there and back",
            found: "undefined where a move is certain, since its distance is zero",
            number: format!(
                "ordered pairs at distance zero: {}; on credit the quotient is {}",
                by_chain(&|c| c.about.at_distance_zero.to_string()),
                figure(checks.asymmetry)
            ),
            remedy: "infinite there, and said so",
        },
    ]
}

/// The sum of squared changes behind the bound on typicality, for `4n −` so many terms.
fn squares(diameter: f64, left_out: f64) -> f64 {
    let n = STEPS as f64;
    (4.0 * n - left_out) * diameter * diameter / ((n - 1.0) * (n - 1.0))
}

fn lemma_range(credit: &Results) -> String {
    let points = credit.drift(Preset::Paper);
    let (Some((low, first)), Some((high, last))) = (points.first(), points.last()) else {
        return "–".to_owned();
    };
    let show = |share: Option<f64>| share.map_or("–".to_owned(), percent);
    let exact = |share: f64| format!("{:.0}", share * first.joint_states as f64);
    format!(
        "credit: exactly {} of {} joint states at ε = {low} and {} at ε = {high}; as printed {} and \
         {}; corrected {} and {}",
        exact(first.negative),
        first.joint_states,
        exact(last.negative),
        show(first.published),
        show(last.published),
        show(first.corrected),
        show(last.corrected)
    )
}

fn resolution(credit: &Results) -> String {
    let measured = credit.of(super::plan::Basis::Epsilon, Preset::Paper, "1");
    let simulated = measured.and_then(|m| m.fixed.simulated.as_ref());
    let exact = super::claims::singled_out(credit).map_or(f64::NAN, |(_, paper)| paper);
    let walks = simulated.map_or(0, |s| s.walks);
    let levels = credit.subject.simulated_levels();
    let exactly = measured.map(|m| credit.tail(&m.fixed)).unwrap_or_default();
    let seen = simulated.and_then(|s| {
        let place = levels.iter().rposition(|&v| v <= SINGLED_OUT)?;
        let v = levels[place];
        Some((v, exactly.iter().find(|p| p.0 == v)?.1, s.per_step[place]))
    });
    let seen = seen.map_or(String::new(), |(v, exact, e)| {
        format!(
            "; at v = {v}: exactly {}, and {} by the {} walks of this run",
            chance(exact),
            estimate(e.mean, e.error),
            veilwalk_report::thousands(walks as usize)
        )
    });
    format!("credit at v = {SINGLED_OUT}, ε = 1: exactly {} from Caa{seen}", chance(exact))
}
