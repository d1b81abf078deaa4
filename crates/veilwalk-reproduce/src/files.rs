//! The numbers beside the page, as CSV.

use std::path::Path;

use anyhow::Result;
use csv::Writer;
use veilwalk::{Preset, StateId};

use crate::checks::Checks;
use crate::claims::Claim;
use crate::differences::Difference;
use crate::measure::Figures;
use crate::plan::{Basis, LENGTHS, MECHANISMS};
use crate::results::Results;
use crate::store::write;

/// A file and what is in it, for the page.
pub(crate) const FILES: [(&str, &str); 11] = [
    ("chains.csv", "size, diameter, closest states and entropy rate of every chain"),
    ("errors.csv", "how often the distance exceeds v, exact and simulated"),
    ("entropy.csv", "mean empirical entropy of releases by length, exact and simulated"),
    ("real_entropy.csv", "mean and standard deviation of the real walks' entropy by length"),
    ("walks.csv", "one real walk of each chain and its releases, step by step"),
    ("drift.csv", "shares of joint states with negative drift, exact and by both conditions"),
    ("settings.csv", "accuracy, scale and exact guarantee of every setting"),
    ("sample_table.csv", "the paper's ten credit ratings and their releases"),
    ("kernels.csv", "exact kernels on the credit chain, previous Caa and real Ca/C, at ε = 1"),
    ("claims.csv", "the paper's claims and what this run found"),
    ("differences.csv", "where this differs from the paper"),
];

/// A table in the making.
struct Rows(Writer<Vec<u8>>);

impl Rows {
    fn new(header: &[&str]) -> Result<Self> {
        let mut rows = Self(Writer::from_writer(Vec::new()));
        rows.0.write_record(header)?;
        Ok(rows)
    }

    fn push<S: AsRef<str>>(&mut self, fields: impl IntoIterator<Item = S>) -> Result<()> {
        let fields: Vec<S> = fields.into_iter().collect();
        Ok(self.0.write_record(fields.iter().map(AsRef::as_ref))?)
    }

    fn save(self, folder: &Path, name: &str) -> Result<()> {
        debug_assert!(FILES.iter().any(|(known, _)| *known == name), "{name} is on the page");
        write(&folder.join(name), &self.0.into_inner()?)
    }
}

/// A number that reads back as it is, or nothing.
fn field(number: Option<f64>) -> String {
    number.filter(|n| n.is_finite()).map(|n| n.to_string()).unwrap_or_default()
}

fn some(number: f64) -> String {
    field(Some(number))
}

pub(crate) fn write_all(
    folder: &Path,
    chains: &[Results],
    checks: &Checks,
    claims: &[Claim],
    differences: &[Difference],
) -> Result<()> {
    about(folder, chains)?;
    errors(folder, chains)?;
    entropy(folder, chains)?;
    real_entropy(folder, chains)?;
    walks(folder, chains)?;
    drift(folder, chains)?;
    settings(folder, chains)?;
    sample_table(folder, chains)?;
    let mut rows = Rows::new(&["mechanism", "outcome", "probability"])?;
    for kernel in &checks.kernels {
        for (outcome, p) in &kernel.outcomes {
            rows.push([&kernel.mechanism, outcome, &some(*p)])?;
        }
    }
    rows.save(folder, "kernels.csv")?;
    let mut rows = Rows::new(&["claim", "chain", "paper", "ours", "agrees", "why"])?;
    for claim in claims {
        rows.push([
            &claim.claim,
            &claim.chain,
            &claim.paper,
            &claim.ours,
            claim.verdict.word(),
            &claim.why,
        ])?;
    }
    rows.save(folder, "claims.csv")?;
    let mut rows = Rows::new(&["where", "printed", "found", "this run", "veilwalk"])?;
    for d in differences {
        rows.push([d.place, d.printed, d.found, &d.number, d.remedy])?;
    }
    rows.save(folder, "differences.csv")
}

fn about(folder: &Path, chains: &[Results]) -> Result<()> {
    let mut rows = Rows::new(&[
        "chain",
        "states",
        "transitions",
        "largest_out_degree",
        "diameter_nats",
        "from",
        "to",
        "closest_nats",
        "closest_a",
        "closest_b",
        "pairs_within_1_nat",
        "entropy_rate_nats",
        "start",
    ])?;
    for chain in chains {
        let a = &chain.about;
        rows.push([
            chain.subject.key.to_owned(),
            a.states.to_string(),
            a.transitions.to_string(),
            a.largest_out_degree.to_string(),
            some(a.diameter),
            a.farthest.0.clone(),
            a.farthest.1.clone(),
            some(a.closest),
            a.closest_pair.0.clone(),
            a.closest_pair.1.clone(),
            a.covered_pairs.to_string(),
            some(a.entropy_rate),
            chain.subject.label(chain.subject.from),
        ])?;
    }
    rows.save(folder, "chains.csv")
}

/// Both starts of a setting, with their names.
fn starts(measured: &super::measure::Measured) -> [(&'static str, &Figures); 2] {
    [("fixed", &measured.fixed), ("uniform", &measured.uniform)]
}

fn errors(folder: &Path, chains: &[Results]) -> Result<()> {
    let mut rows = Rows::new(&[
        "chain",
        "basis",
        "start",
        "mechanism",
        "epsilon",
        "v_nats",
        "exact",
        "exact_ever",
        "simulated",
        "standard_error",
        "simulated_ever",
        "standard_error_ever",
        "walks",
    ])?;
    for chain in chains {
        let (levels, simulated_levels) = chain.levels();
        for (setting, measured) in chain.all() {
            for (start, figures) in starts(measured) {
                let head = [
                    chain.subject.key.to_owned(),
                    setting.basis.key().to_owned(),
                    start.to_owned(),
                    setting.preset.to_string(),
                    setting.epsilon.to_owned(),
                ];
                for (k, &v) in levels.iter().enumerate() {
                    let place = simulated_levels.iter().position(|&level| level == v);
                    let exact = figures.exact.as_ref().map(|p| p.exceedance[k]);
                    let ever = place.and_then(|k| Some(figures.ever.as_ref()?[k]));
                    let simulated = place.and_then(|k| {
                        let s = figures.simulated.as_ref()?;
                        Some((s.per_step[k], s.ever[k], s.walks))
                    });
                    if exact.is_none() && simulated.is_none() {
                        continue;
                    }
                    let tail = [
                        some(v),
                        field(exact),
                        field(ever),
                        field(simulated.map(|s| s.0.mean)),
                        field(simulated.map(|s| s.0.error)),
                        field(simulated.map(|s| s.1.mean)),
                        field(simulated.map(|s| s.1.error)),
                        simulated.map(|s| s.2.to_string()).unwrap_or_default(),
                    ];
                    rows.push(head.iter().chain(&tail))?;
                }
            }
        }
    }
    rows.save(folder, "errors.csv")
}

fn entropy(folder: &Path, chains: &[Results]) -> Result<()> {
    let mut rows = Rows::new(&[
        "chain",
        "basis",
        "start",
        "mechanism",
        "epsilon",
        "length",
        "exact",
        "simulated",
        "standard_error",
    ])?;
    for chain in chains {
        for (setting, measured) in chain.all() {
            for (start, figures) in starts(measured) {
                let exact = figures.exact.as_ref().map(|p| p.entropy_by_length());
                let longest = exact.as_ref().map_or(LENGTHS[LENGTHS.len() - 1], Vec::len);
                for length in 1..=longest {
                    let place = LENGTHS.iter().position(|&n| n == length);
                    let exact = exact.as_ref().map(|by_length| by_length[length - 1]);
                    let simulated =
                        place.and_then(|k| Some(figures.simulated.as_ref()?.entropy[k]));
                    if exact.is_none() && simulated.is_none() {
                        continue;
                    }
                    rows.push([
                        chain.subject.key.to_owned(),
                        setting.basis.key().to_owned(),
                        start.to_owned(),
                        setting.preset.to_string(),
                        setting.epsilon.to_owned(),
                        length.to_string(),
                        field(exact),
                        field(simulated.map(|s| s.mean)),
                        field(simulated.map(|s| s.error)),
                    ])?;
                }
            }
        }
    }
    rows.save(folder, "entropy.csv")
}

fn real_entropy(folder: &Path, chains: &[Results]) -> Result<()> {
    let mut rows = Rows::new(&["chain", "start", "length", "mean", "standard_deviation"])?;
    for chain in chains {
        for (start, own) in
            [("fixed", &chain.about.own_fixed), ("uniform", &chain.about.own_uniform)]
        {
            for (k, entropy) in own.iter().enumerate() {
                rows.push([
                    chain.subject.key,
                    start,
                    &(k + 1).to_string(),
                    &some(entropy.mean),
                    &some(entropy.deviation),
                ])?;
            }
        }
    }
    rows.save(folder, "real_entropy.csv")
}

fn walks(folder: &Path, chains: &[Results]) -> Result<()> {
    let mut rows =
        Rows::new(&["chain", "epsilon", "mechanism", "step", "real", "released", "distance_nats"])?;
    for chain in chains {
        let (model, real) = (&chain.subject.model, &chain.subject.walks[0]);
        for (setting, measured) in chain.all().filter(|(s, _)| s.basis == Basis::Epsilon) {
            for (step, (&x, &z)) in real.iter().zip(&measured.samples[0]).enumerate() {
                let z = StateId::new(z as usize);
                rows.push([
                    chain.subject.key,
                    setting.epsilon,
                    setting.preset.name(),
                    &step.to_string(),
                    model.chain().label(x),
                    model.chain().label(z),
                    &some(model.directed().between(z, x).as_f64()),
                ])?;
            }
        }
    }
    rows.save(folder, "walks.csv")
}

fn drift(folder: &Path, chains: &[Results]) -> Result<()> {
    let mut rows = Rows::new(&[
        "chain",
        "mechanism",
        "epsilon",
        "joint_states",
        "negative",
        "published",
        "corrected",
        "published_wrongly",
    ])?;
    for chain in chains {
        for preset in MECHANISMS {
            for (epsilon, d) in chain.drift(preset) {
                rows.push([
                    chain.subject.key.to_owned(),
                    preset.to_string(),
                    epsilon.to_string(),
                    d.joint_states.to_string(),
                    some(d.negative),
                    field(d.published),
                    field(d.corrected),
                    field(d.published_wrongly),
                ])?;
            }
        }
    }
    rows.save(folder, "drift.csv")
}

fn settings(folder: &Path, chains: &[Results]) -> Result<()> {
    let mut rows = Rows::new(&[
        "chain",
        "basis",
        "mechanism",
        "epsilon",
        "scale_min",
        "scale_max",
        "wrong_share",
        "mean_distance_nats",
        "entropy_nats",
        "empty_promise",
        "pairs_covered",
        "bound_per_nat",
        "loss_per_nat",
        "substitution_loss",
        "losses_are",
        "remark",
    ])?;
    for chain in chains {
        for (setting, measured) in chain.all() {
            let Some(promised) = &measured.guarantee else { continue };
            let mean = |figure: Option<(f64, f64)>| field(figure.map(|f| f.0));
            rows.push([
                chain.subject.key.to_owned(),
                setting.basis.key().to_owned(),
                setting.preset.to_string(),
                setting.epsilon.to_owned(),
                some(measured.scale.0),
                some(measured.scale.1),
                mean(measured.fixed.wrong_share()),
                mean(measured.fixed.mean_distance()),
                mean(measured.fixed.last_entropy()),
                promised.vacuous.to_string(),
                promised.covered_pairs.to_string(),
                field(promised.bound_per_nat),
                field(promised.per_nat),
                some(promised.substitution),
                if promised.exact { "exact" } else { "bounds" }.to_owned(),
                measured.remark.clone().unwrap_or_default(),
            ])?;
        }
    }
    rows.save(folder, "settings.csv")
}

/// The rows of the paper's sample table: ε, mechanism and the states.
pub(crate) fn sample_rows(credit: &Results) -> Vec<(&'static str, Preset, Vec<StateId>)> {
    let mut rows = Vec::new();
    for epsilon in ["0.1", "1", "2", "5"] {
        for preset in MECHANISMS {
            if let Some(measured) = credit.of(Basis::Epsilon, preset, epsilon) {
                let states = measured.samples[1].iter().map(|&s| StateId::new(s as usize));
                rows.push((epsilon, preset, states.collect()));
            }
        }
    }
    rows
}

fn sample_table(folder: &Path, chains: &[Results]) -> Result<()> {
    let credit = &chains[0];
    let (real, chain) = (&credit.subject.walks[1], credit.subject.model.chain());
    let steps: Vec<String> = (0..real.len()).map(|t| format!("t{t}")).collect();
    let header = ["epsilon", "mechanism"].into_iter().chain(steps.iter().map(String::as_str));
    let mut rows = Rows::new(&header.collect::<Vec<_>>())?;
    let labels = |walk: &[StateId]| -> Vec<String> {
        walk.iter().map(|&s| chain.label(s).to_owned()).collect()
    };
    rows.push(["".to_owned(), "real".to_owned()].into_iter().chain(labels(real)))?;
    for (epsilon, preset, walk) in sample_rows(credit) {
        rows.push([epsilon.to_owned(), preset.to_string()].into_iter().chain(labels(&walk)))?;
    }
    rows.save(folder, "sample_table.csv")
}
