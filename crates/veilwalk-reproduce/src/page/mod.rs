//! The page: what agrees and what does not, then every figure, then the small print.

mod figures;
mod tables;

use veilwalk::Preset;
use veilwalk::internal::nats::in_nats;
use veilwalk_report::{Page, Section, chance, figure, percent};

use super::claims::{Claim, Verdict, singled_out};
use super::differences::Difference;
use super::files::FILES;
use super::guesses::GUESSED;
use super::plan::{Basis, EPSILONS, Extent, MECHANISMS, SEED, STEPS};
use super::results::Results;

pub(super) fn page(chains: &[Results], claims: &[Claim], differences: &[Difference]) -> String {
    let mut page = Page::new("Private walks on Markov chains: the evaluation, reproduced");
    page.lead(
        "Benvenuti and Hale release walks on a Markov chain under differential privacy, and compare \
         their mechanism with that of Chen et al. This page holds every figure and table of their \
         evaluation, computed from scratch by veilwalk, next to what the paper does not show. \
         Lines are exact; points are simulated, with error bars of two standard errors, and where \
         there is nothing exact a thin line joins them.",
    );
    page.push(summary(chains, claims));
    page.push(reading(chains));
    for chain in chains {
        of_chain(&mut page, chain);
    }
    page.push(
        Section::new("differences", "Where this differs from the paper")
            .text(
                "Checking the paper turned up the points below. Each has the number of this run \
                 that shows it.",
            )
            .table(
                &tables::differences(differences),
                "What is printed, what was found, what is done.",
            ),
    );
    page.push(guarantees(chains));
    page.push(made(chains));
    page.footer(&format!(
        "Made by `veilwalk reproduce`, version {}. Simulations and sample walks use the seed {SEED}, \
         so they are the same in every run; nothing on this page is a release.",
        env!("CARGO_PKG_VERSION")
    ));
    page.to_html()
}

fn count(claims: &[Claim], verdict: Verdict) -> usize {
    claims.iter().filter(|claim| claim.verdict == verdict).count()
}

fn summary(chains: &[Results], claims: &[Claim]) -> Section {
    let credit = &chains[0];
    let (agree, partly, differ) = (
        count(claims, Verdict::Agrees),
        count(claims, Verdict::Partly),
        count(claims, Verdict::Differs),
    );
    let (chen, paper) = singled_out(credit).unwrap_or((f64::NAN, f64::NAN));
    let loss = |preset, basis| {
        let measured = credit.of(basis, preset, "1");
        measured.and_then(|m| m.guarantee.as_ref()).map_or(f64::NAN, |p| p.substitution)
    };
    let agreement = format!("{agree} of {}", claims.len());
    let agreement_remark = format!("{partly} partly, {differ} not");
    let orders = format!("{:.1} orders", (chen / paper).log10());
    let orders_remark =
        format!("{} against {}, credit, v = 15, ε = 1", chance(paper), chance(chen));
    let covered = credit.about.covered_pairs.to_string();
    let covered_remark = format!(
        "the closest two credit ratings are {} apart",
        in_nats(figure(credit.about.closest))
    );
    let losses = figure(loss(Preset::Paper, Basis::Epsilon));
    let losses_remark =
        format!("on credit at ε = 1; `chen` loses {}", figure(loss(Preset::Chen, Basis::Epsilon)));
    let mut findings = vec![
        reproduces(claims, &orders),
        left_out(chains, loss(Preset::Chen, Basis::Epsilon), &losses),
        further(credit),
    ];
    for (verdict, words) in
        [(Verdict::Partly, "reproduces in part"), (Verdict::Differs, "does not reproduce")]
    {
        let such = with_verdict(claims, verdict);
        if !such.is_empty() {
            findings.push(format!("**What {words}.** {}. The table says why.", such.join("; ")));
        }
    }
    Section::new("summary", "Summary")
        .highlights([
            (agreement.as_str(), "claims agree", agreement_remark.as_str()),
            (orders.as_str(), "of magnitude fewer large errors than `chen`", orders_remark.as_str()),
            (covered.as_str(), "pairs of states protected at radius 1", covered_remark.as_str()),
            (losses.as_str(), "lost by one replaced state under `paper`", losses_remark.as_str()),
        ])
        .list(findings)
        .table(
            &tables::claims(claims),
            "**The paper's claims, held against this run.** A claim that one thing is below another \
             agrees if that holds at every value compared, and partly if at some; one about a size \
             agrees if ours is near it, and partly if the direction is the same. Simulated figures \
             have to differ by two standard errors to count. Click a column to sort.",
        )
}

/// Claims with this verdict, each once, with the chains it was held against.
fn with_verdict(claims: &[Claim], verdict: Verdict) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for claim in claims.iter().filter(|claim| claim.verdict == verdict) {
        match found.iter_mut().find(|(words, _)| *words == claim.claim) {
            Some((_, chains)) => chains.push(&claim.chain),
            None => found.push((&claim.claim, vec![&claim.chain])),
        }
    }
    found.iter().map(|(words, chains)| format!("{words} ({})", chains.join(", "))).collect()
}

fn reproduces(claims: &[Claim], orders: &str) -> String {
    let about_errors: Vec<&Claim> =
        claims.iter().filter(|claim| claim.claim.starts_with("Large errors")).collect();
    let holding = about_errors.iter().filter(|claim| claim.verdict == Verdict::Agrees).count();
    let extent = match holding == about_errors.len() {
        true => "at every distance, on every chain here".to_owned(),
        false => format!("at every distance in {holding} of {} comparisons", about_errors.len()),
    };
    format!(
        "**What reproduces.** At equal ε, with radius 1, `paper` makes large errors less likely than \
         `chen` {extent}. On credit at v = 15 the gap is {orders} of magnitude."
    )
}

/// The mean distance from the start of a chain at ε = 3, and its error.
fn distance(chain: &Results, preset: Preset, basis: Basis) -> (f64, f64) {
    let measured = chain.of(basis, preset, "3");
    measured.and_then(|m| m.fixed.mean_distance()).unwrap_or((f64::NAN, 0.0))
}

fn left_out(chains: &[Results], chen: f64, paper: &str) -> String {
    let mut at_equal_loss = Vec::new();
    let mut turned = 0;
    for chain in chains {
        let of = |preset| distance(chain, preset, Basis::Loss);
        let (chen, paper) = (of(Preset::Chen), of(Preset::Paper));
        turned += usize::from(chen.0 + 2.0 * chen.1.hypot(paper.1) < paper.0);
        at_equal_loss.push(format!(
            "{} against {} on {}",
            figure(paper.0),
            figure(chen.0),
            chain.subject.key
        ));
    }
    let order = match turned {
        n if n == chains.len() => "the order turns round",
        0 => "the order stays",
        _ => "the order turns round on some chains",
    };
    format!(
        "**What that comparison leaves out.** At radius 1 {}; and on credit at ε = 1 replacing one \
         state loses up to {paper} under `paper` where `chen` loses {}. At equal loss {order}: mean \
         distances in nats at ε = 3, `paper` against `chen`, are {}.",
        vacuous_words(chains),
        figure(chen),
        at_equal_loss.join(", "),
    )
}

fn further(credit: &Results) -> String {
    let on = |basis| {
        let mut all: Vec<(f64, Preset)> =
            MECHANISMS.iter().map(|&p| (distance(credit, p, basis).0, p)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let words: Vec<String> =
            all.iter().map(|(nats, preset)| format!("`{preset}` {}", figure(*nats))).collect();
        words.join(", ")
    };
    format!(
        "**What goes further.** All mechanisms on credit at ε = 3, closest first, with mean distances \
         in nats: at equal ε {}; at equal loss {}.",
        on(Basis::Epsilon),
        on(Basis::Loss)
    )
}

fn vacuous_words(chains: &[Results]) -> String {
    let words: Vec<String> = chains
        .iter()
        .map(|c| {
            let states = c.about.states;
            let pairs = veilwalk_report::thousands(states * (states - 1) / 2);
            let covered = match c.about.covered_pairs {
                0 => "none".to_owned(),
                some => some.to_string(),
            };
            format!("{covered} of the {pairs} pairs of states on {}", c.subject.key)
        })
        .collect();
    format!("ε speaks of {}", words.join(", "))
}

fn reading(chains: &[Results]) -> Section {
    Section::new("reading", "How to read it")
        .text(
            "At each step a mechanism chooses the next released state among those that the last one \
             can move to. `chen` is the mechanism of Chen et al., `paper` that of Benvenuti and \
             Hale; `sharp` and `cell` are veilwalk's own. The *distance* from the released to the \
             real state is the information, in nats, of the likeliest way between them. *Entropy* \
             is −ln of the probability that the chain gives a walk, per step: released walks whose \
             entropy is near that of real ones look like them.",
        )
        .list([
            "**Equal ε** is the paper's comparison: the same ε, with radius 1 for `paper`, `sharp` \
             and `cell`, and one substitution for `chen`. These promises are about different things.",
            "**Equal loss** is the comparison that treats all alike: every mechanism is scaled so \
             that replacing any one state by any other changes the odds of a release by at most a \
             factor of exp(ε), as audited.",
        ])
        .text(&format!(
            "Averages are over the chain's own walks of {STEPS} steps from one state, which is \
             disclosed, as in the paper. The paper uses one real walk, which it does not print. \
             Its text speaks of distances that are *ever* exceeded and its captions of those \
             exceeded *at a step*; the figures show the latter, and `errors.csv` has both."
        ))
        .table(&tables::chains(chains), "**The chains.**")
}

fn of_chain(page: &mut Page, chain: &Results) {
    let subject = &chain.subject;
    let id = |part: &str| format!("{}-{part}", subject.key);
    let simulated = match subject.extent {
        Extent::Tiny | Extent::Small => "",
        Extent::Large => {
            " On a chain of this size the law of all pairs of states takes about a second a step, so \
             some figures are simulated only: those whose points are joined by thin lines, and \
             numbers with ± one standard error."
        }
    };
    page.push(Section::new(subject.key, subject.title).text(&format!(
        "{} It has {} states and {} transitions; the largest distance is {} (from {} to \
                 {}), the closest two states are {} apart ({} and {}).{simulated}",
        subject.about,
        veilwalk_report::thousands(chain.about.states),
        veilwalk_report::thousands(chain.about.transitions),
        in_nats(figure(chain.about.diameter)),
        chain.about.farthest.0,
        chain.about.farthest.1,
        in_nats(figure(chain.about.closest)),
        chain.about.closest_pair.0,
        chain.about.closest_pair.1,
    )));
    page.push(Section::below(id("errors"), "Probability of large errors").figures(
        "",
        figures::errors(chain, Basis::Epsilon, &["1", "3"], |m| &m.fixed),
        &format!(
            "**How often the released state is farther than v from the real one**, at equal ε. \
                 {} Points are simulated, with {} walks of {STEPS} steps, which see hardly anything \
                 rarer than {}; an arrow is an error bar that reaches zero, or nearly.",
            errors_words(chain),
            veilwalk_report::thousands(subject.extent.walks() as usize),
            chance(1.0 / (subject.extent.walks() as usize * STEPS) as f64)
        ),
    ));
    page.push(Section::below(id("entropy"), "Empirical entropy").figures(
        "three",
        figures::entropy(chain, Basis::Epsilon, |m| &m.fixed, &chain.about.own_fixed),
        &format!(
            "**Mean entropy of released walks by length**, at equal ε. The line in the grey band is \
                 the mean of real walks, the band two standard deviations on either side. {}",
            entropy_words(chain)
        ),
    ));
    page.push(Section::below(id("walk"), "One walk").figures(
        "",
        ["1", "3"].map(|epsilon| figures::over_time(chain, epsilon)),
        "**Distance from the released to the real state over one walk**, the one of 64 drawn \
                 that visits the most states. All mechanisms release the same real walk.",
    ));
    page.push(drift(chain, &id("drift")));
    page.push(uniform(chain, &id("uniform")));
    if let Some(figure) = figures::guesses(chain) {
        page.push(guesses(chain, &id("guesses")).figures("one", [figure], GUESSES));
    }
    if let Some(maps) = maps(chain, &id("map")) {
        page.push(maps);
    }
    if subject.key == "credit" {
        page.push(Section::below(id("table"), "Sample releases").table(
            &tables::sample(chain),
            "**Ten yearly ratings and what was released in their place**, as in the paper's table. \
             States that are not the real one stand out.",
        ));
    }
    page.push(
        Section::below(id("bases"), "On both bases")
            .text(
                "The same ε says different things for different mechanisms. The first table is the \
                 paper's comparison; its last column shows what one replaced state gives away. The \
                 second makes that column equal.",
            )
            .table(
                &tables::comparison(chain, Basis::Epsilon),
                "**At equal ε**, radius 1: share of wrong states, mean distance in nats, entropy in \
                 nats per step, and the loss of replacing one state by the worst other.",
            )
            .table(
                &tables::comparison(chain, Basis::Loss),
                "**At equal loss** of replacing one state by the worst other.",
            )
            .figures(
                "",
                figures::errors(chain, Basis::Loss, &["1", "5"], |m| &m.fixed),
                &format!(
                    "**Probability of large errors at equal loss** of one substitution. {}",
                    loss_words(chain)
                ),
            ),
    );
}

/// What to see in the figure of errors.
fn errors_words(chain: &Results) -> String {
    let mut words = Vec::new();
    for epsilon in ["1", "3"] {
        let distance = |preset| {
            let measured = chain.of(Basis::Epsilon, preset, epsilon)?;
            Some(measured.fixed.mean_distance()?.0)
        };
        let all: Vec<String> = MECHANISMS
            .iter()
            .filter_map(|&p| Some(format!("{} for `{p}`", figure(distance(p)?))))
            .collect();
        words.push(format!("mean distances at ε = {epsilon} are {}", all.join(", ")));
    }
    let text = words.join("; ");
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

fn entropy_words(chain: &Results) -> String {
    let real = chain.about.own_fixed.last().map_or(f64::NAN, |o| o.mean);
    let at = |preset, epsilon| {
        let measured = chain.of(Basis::Epsilon, preset, epsilon);
        measured.and_then(|m| m.fixed.last_entropy()).map_or(f64::NAN, |e| e.0)
    };
    format!(
        "After {STEPS} steps real walks have {} nats a step; at ε = 3 `chen` has {}, `paper` {}, \
         `sharp` {} and `cell` {}.",
        figure(real),
        figure(at(Preset::Chen, "3")),
        figure(at(Preset::Paper, "3")),
        figure(at(Preset::Sharp, "3")),
        figure(at(Preset::Cell, "3")),
    )
}

fn loss_words(chain: &Results) -> String {
    let wrong = |preset| {
        let measured = chain.of(Basis::Loss, preset, "5");
        measured.and_then(|m| m.fixed.wrong_share()).map_or(f64::NAN, |w| w.0)
    };
    format!(
        "Wrong states at ε = 5: `chen` {}, `paper` {}, `sharp` {}, `cell` {}.",
        percent(wrong(Preset::Chen)),
        percent(wrong(Preset::Paper)),
        percent(wrong(Preset::Sharp)),
        percent(wrong(Preset::Cell)),
    )
}

fn drift(chain: &Results, id: &str) -> Section {
    let wrongly: f64 = chain
        .drift(Preset::Paper)
        .iter()
        .filter_map(|(_, d)| d.published_wrongly)
        .fold(0.0, f64::max);
    let remark = match wrongly > 0.0 {
        true => format!(
            "The condition as printed also holds where the drift is not negative: for up to {} of \
             all joint states.",
            percent(wrongly)
        ),
        false => {
            "On this chain the condition as printed never holds where it should not.".to_owned()
        }
    };
    Section::below(id, "Drift").figures(
        "",
        figures::drift(chain),
        &format!(
            "**Share of joint states (real, released) from which the next step brings the two \
             closer, on average.** Pairs of equal states, {} of all, cannot. {remark}",
            percent(1.0 / chain.about.states as f64)
        ),
    )
}

fn uniform(chain: &Results, id: &str) -> Section {
    Section::below(id, "Uniform start")
        .figures(
            "",
            figures::errors(chain, Basis::Epsilon, &["1", "3"], |m| &m.uniform),
            "**Large errors when both walks start anywhere**, independently and uniformly. Nothing is \
             disclosed; the released walk first has to find the real one.",
        )
        .figures(
            "three",
            figures::entropy(chain, Basis::Epsilon, |m| &m.uniform, &chain.about.own_uniform),
            "**Mean entropy by length when both walks start anywhere.**",
        )
}

const GUESSES: &str = "**How much of what leaks is of use**, for ε from 0.1 to 8. Across: the share of states that are \
     guessed right by somebody who knows the chain, the mechanism and the release. Up: the share of released states \
     that are right. Below the diagonal an attacker knows more than somebody who takes the release at its word.";

fn guesses(chain: &Results, id: &str) -> Section {
    let of = |mechanism: Preset| {
        chain.guesses.iter().find(|one| one.mechanism == mechanism.name() && one.epsilon == "1")
    };
    let words: Vec<String> = GUESSED
        .into_iter()
        .filter_map(|mechanism| {
            let one = of(mechanism)?;
            let (guessed, released) = (percent(one.attacker), percent(one.release));
            Some(format!("`{mechanism}` {guessed} and {released}"))
        })
        .collect();
    let alone = chain.guesses.first().map_or(f64::NAN, |one| one.chain_alone);
    Section::below(id, "What an attacker guesses").text(&format!(
        "ε bounds odds between whole walks. What a person asks is how often somebody is right about them. The \
         best guess from everything released can be computed, since the law of every step is known. Without a \
         release {} of states are guessed right; at ε = 1, guessed and released right are: {}.",
        percent(alone),
        words.join(", ")
    ))
}

fn maps(chain: &Results, id: &str) -> Option<Section> {
    let maps = figures::maps(chain)?;
    let ground = chain.subject.ground.as_ref()?;
    let mut section = Section::below(id, "Maps").definition(&maps.definition);
    if let Some(named) = maps.named {
        section = section.figures("one", [named], &ground.caption);
    }
    Some(section.figures(
        maps.class,
        maps.walks,
        &format!(
            "**A real walk (grey, wide) and what was released in its place** (colour, narrow), the \
             first {} steps, at equal ε. The dot is where both start.",
            maps.steps
        ),
    ))
}

fn guarantees(chains: &[Results]) -> Section {
    let empty: Vec<&str> =
        chains.iter().filter(|c| c.about.covered_pairs == 0).map(|c| c.subject.key).collect();
    let remark = match empty.is_empty() {
        true => String::new(),
        false => format!(
            " On {} radius 1 covers no pair at all: the promise is empty.",
            empty.join(" and ")
        ),
    };
    Section::new("guarantees", "Guarantees of all settings")
        .text(&format!(
            "The exact loss is computed from the kernels: the largest change of ln-probability of \
             any outcome when one real state is replaced. Per nat it is held against the bound that \
             the proof gives; for one substitution it is what an adversary gains who knows \
             everything else.{remark} Where a chain has too many pairs to compare, losses are upper \
             bounds (≤), and releases that are only drawn on maps are not audited: they keep what \
             the proofs give."
        ))
        .table(
            &tables::guarantees(chains),
            &format!(
                "**Every setting that figures show**, with the pairs of states that its promise \
                 covers, the largest loss per nat and what the proof bounds it by, and the loss of \
                 replacing one state by the worst other.{}",
                tables::notes(chains)
            ),
        )
}

fn made(chains: &[Results]) -> Section {
    let files = FILES.iter().map(|(name, what)| format!("[{name}]({name}): {what}"));
    let chosen: Vec<&str> = chains.iter().map(|c| c.subject.key).collect();
    let missing = match chains.len() {
        n if n < 5 => {
            " More can be had with `--map PATH`, `--wikispeedia PATH` and `--roads PATH`; `veilwalk reproduce \
             --help` says what they are."
        }
        _ => "",
    };
    Section::new("files", "The numbers behind it")
        .text(&format!(
            "Chains: {}. ε = {}; {STEPS} steps; `veilwalk reproduce` makes this page again.{missing}",
            chosen.join(", "),
            EPSILONS.join(", ")
        ))
        .list(files)
}
