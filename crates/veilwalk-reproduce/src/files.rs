//! The numbers beside the page, as CSV.

use std::path::Path;

use anyhow::Result;
use csv::Writer;
use veilwalk::{Preset, StateId};

use crate::checks::Checks;
use crate::claims::Claim;
use crate::differences::Difference;
use crate::measure::{Estimate, Figures};
use crate::plan::{Basis, LENGTHS, MECHANISMS, Setting};
use crate::results::Results;
use crate::store::write;

/// A file and what is in it, for the page.
pub(crate) const FILES: [(&str, &str); 12] = [
    ("chains.csv", "size, diameter, closest states and entropy rate of every chain"),
    ("errors.csv", "how often the distance exceeds v, exact and simulated"),
    ("entropy.csv", "mean empirical entropy of releases by length, exact and simulated"),
    ("real_entropy.csv", "mean and standard deviation of the real walks' entropy by length"),
    ("walks.csv", "one real walk of each chain and its releases, step by step"),
    ("drift.csv", "shares of joint states with negative drift, exact and by both conditions"),
    ("settings.csv", "accuracy, scale and exact guarantee of every setting"),
    ("guesses.csv", "what somebody who knows the chain guesses right, and what is released right"),
    ("sample_table.csv", "the paper's ten credit ratings and their releases"),
    ("kernels.csv", "exact kernels on the credit chain, previous Caa and real Ca/C, at ε = 1"),
    ("claims.csv", "the paper's claims and what this run found"),
    ("differences.csv", "where this differs from the paper"),
];

/// A column of a table: its name, and what it says of a row.
type Column<'a, T> = (&'a str, &'a dyn Fn(&T) -> String);

/// Writes a table of these rows.
fn save<T>(
    folder: &Path,
    name: &str,
    rows: impl IntoIterator<Item = T>,
    columns: &[Column<'_, T>],
) -> Result<()> {
    let header = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = rows.into_iter().map(|row| columns.iter().map(|(_, value)| value(&row)).collect());
    save_rows(folder, name, std::iter::once(header).chain(rows))
}

/// Writes a table of which the first row is the header.
fn save_rows(folder: &Path, name: &str, rows: impl Iterator<Item = Vec<String>>) -> Result<()> {
    debug_assert!(FILES.iter().any(|(known, _)| *known == name), "{name} is on the page");
    let mut table = Writer::from_writer(Vec::new());
    for row in rows {
        table.write_record(&row)?;
    }
    write(&folder.join(name), &table.into_inner()?)
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
    guesses(folder, chains)?;
    sample_table(folder, chains)?;
    let kernels = checks.kernels.iter().flat_map(|kernel| {
        kernel.outcomes.iter().map(move |(outcome, p)| (&kernel.mechanism, outcome, *p))
    });
    save(
        folder,
        "kernels.csv",
        kernels,
        &[
            ("mechanism", &|(mechanism, _, _)| mechanism.to_string()),
            ("outcome", &|(_, outcome, _)| outcome.to_string()),
            ("probability", &|&(_, _, p)| some(p)),
        ],
    )?;
    save(
        folder,
        "claims.csv",
        claims,
        &[
            ("claim", &|claim| claim.claim.to_string()),
            ("chain", &|claim| claim.chain.to_string()),
            ("paper", &|claim| claim.paper.to_string()),
            ("ours", &|claim| claim.ours.to_string()),
            ("agrees", &|claim| claim.verdict.word().to_owned()),
            ("why", &|claim| claim.why.to_string()),
        ],
    )?;
    save(
        folder,
        "differences.csv",
        differences,
        &[
            ("where", &|d| d.place.to_string()),
            ("printed", &|d| d.printed.to_string()),
            ("found", &|d| d.found.to_string()),
            ("this run", &|d| d.number.to_string()),
            ("veilwalk", &|d| d.remedy.to_string()),
        ],
    )
}

fn about(folder: &Path, chains: &[Results]) -> Result<()> {
    save(
        folder,
        "chains.csv",
        chains,
        &[
            ("chain", &|c| c.subject.key.to_owned()),
            ("states", &|c| c.about.states.to_string()),
            ("transitions", &|c| c.about.transitions.to_string()),
            ("largest_out_degree", &|c| c.about.largest_out_degree.to_string()),
            ("diameter_nats", &|c| some(c.about.diameter)),
            ("from", &|c| c.about.farthest.0.clone()),
            ("to", &|c| c.about.farthest.1.clone()),
            ("closest_nats", &|c| some(c.about.closest)),
            ("closest_a", &|c| c.about.closest_pair.0.clone()),
            ("closest_b", &|c| c.about.closest_pair.1.clone()),
            ("pairs_within_1_nat", &|c| c.about.covered_pairs.to_string()),
            ("entropy_rate_nats", &|c| some(c.about.entropy_rate)),
            ("start", &|c| c.subject.label(c.subject.from)),
        ],
    )
}

fn guesses(folder: &Path, chains: &[Results]) -> Result<()> {
    let all = chains.iter().flat_map(|chain| chain.guesses.iter().map(move |one| (chain, one)));
    save(
        folder,
        "guesses.csv",
        all,
        &[
            ("chain", &|(chain, _)| chain.subject.key.to_owned()),
            ("mechanism", &|(_, one)| one.mechanism.clone()),
            ("epsilon", &|(_, one)| one.epsilon.clone()),
            ("guessed_right", &|(_, one)| some(one.attacker)),
            ("standard_error", &|(_, one)| some(one.error)),
            ("guessed_right_from_the_chain_alone", &|(_, one)| some(one.chain_alone)),
            ("released_right", &|(_, one)| some(one.release)),
            ("median_odds", &|(_, one)| some(one.median_odds)),
        ],
    )
}

/// What was measured of one setting from one start.
#[derive(Clone, Copy)]
struct FromStart<'a> {
    chain: &'a Results,
    setting: Setting,
    start: &'static str,
    figures: &'a Figures,
}

impl FromStart<'_> {
    fn all(chains: &[Results]) -> impl Iterator<Item = FromStart<'_>> {
        chains.iter().flat_map(|chain| chain.all().map(move |measured| (chain, measured))).flat_map(
            |(chain, (setting, measured))| {
                [("fixed", &measured.fixed), ("uniform", &measured.uniform)]
                    .map(|(start, figures)| FromStart { chain, setting, start, figures })
            },
        )
    }
}

/// A row about something that was measured from one start.
struct Row<'a, T> {
    of: FromStart<'a>,
    values: T,
}

/// The columns that say what was measured, then others.
fn measured_columns<'c, 'a, T>(others: &[Column<'c, Row<'a, T>>]) -> Vec<Column<'c, Row<'a, T>>> {
    let mut columns: Vec<Column<'c, Row<'a, T>>> = vec![
        ("chain", &|row| row.of.chain.subject.key.to_owned()),
        ("basis", &|row| row.of.setting.basis.key().to_owned()),
        ("start", &|row| row.of.start.to_owned()),
        ("mechanism", &|row| row.of.setting.preset.to_string()),
        ("epsilon", &|row| row.of.setting.epsilon.to_owned()),
    ];
    columns.extend_from_slice(others);
    columns
}

/// How often the distance exceeds a level.
struct Exceeded {
    level: f64,
    exact: Option<f64>,
    ever: Option<f64>,
    simulated: Option<(Estimate, Estimate, u64)>,
}

fn errors(folder: &Path, chains: &[Results]) -> Result<()> {
    let rows = FromStart::all(chains).flat_map(|of| {
        let figures = of.figures;
        let (levels, simulated_levels) = of.chain.levels();
        levels.into_iter().enumerate().filter_map(move |(k, level)| {
            let place = simulated_levels.iter().position(|&other| other == level);
            let exact = figures.exact.as_ref().map(|p| p.exceedance[k]);
            let ever = place.and_then(|k| Some(figures.ever.as_ref()?[k]));
            let simulated = place.and_then(|k| {
                let s = figures.simulated.as_ref()?;
                Some((s.per_step[k], s.ever[k], s.walks))
            });
            let values = Exceeded { level, exact, ever, simulated };
            (exact.is_some() || simulated.is_some()).then_some(Row { of, values })
        })
    });
    let columns = measured_columns::<Exceeded>(&[
        ("v_nats", &|row| some(row.values.level)),
        ("exact", &|row| field(row.values.exact)),
        ("exact_ever", &|row| field(row.values.ever)),
        ("simulated", &|row| field(row.values.simulated.map(|s| s.0.mean))),
        ("standard_error", &|row| field(row.values.simulated.map(|s| s.0.error))),
        ("simulated_ever", &|row| field(row.values.simulated.map(|s| s.1.mean))),
        ("standard_error_ever", &|row| field(row.values.simulated.map(|s| s.1.error))),
        ("walks", &|row| row.values.simulated.map(|s| s.2.to_string()).unwrap_or_default()),
    ]);
    save(folder, "errors.csv", rows, &columns)
}

fn entropy(folder: &Path, chains: &[Results]) -> Result<()> {
    let rows = FromStart::all(chains).flat_map(|of| {
        let exact = of.figures.exact.as_ref().map(|p| p.entropy_by_length());
        let longest = exact.as_ref().map_or(LENGTHS[LENGTHS.len() - 1], Vec::len);
        (1..=longest).filter_map(move |length| {
            let place = LENGTHS.iter().position(|&n| n == length);
            let exact = exact.as_ref().map(|by_length| by_length[length - 1]);
            let simulated = place.and_then(|k| Some(of.figures.simulated.as_ref()?.entropy[k]));
            let values = (length, exact, simulated);
            (exact.is_some() || simulated.is_some()).then_some(Row { of, values })
        })
    });
    let columns = measured_columns::<(usize, Option<f64>, Option<Estimate>)>(&[
        ("length", &|row| row.values.0.to_string()),
        ("exact", &|row| field(row.values.1)),
        ("simulated", &|row| field(row.values.2.map(|s| s.mean))),
        ("standard_error", &|row| field(row.values.2.map(|s| s.error))),
    ]);
    save(folder, "entropy.csv", rows, &columns)
}

fn real_entropy(folder: &Path, chains: &[Results]) -> Result<()> {
    let rows = chains.iter().flat_map(|chain| {
        let starts = [("fixed", &chain.about.own_fixed), ("uniform", &chain.about.own_uniform)];
        starts.into_iter().flat_map(move |(start, own)| {
            own.iter().zip(1..).map(move |(entropy, length)| (chain, start, length, entropy))
        })
    });
    save(
        folder,
        "real_entropy.csv",
        rows,
        &[
            ("chain", &|(chain, ..)| chain.subject.key.to_owned()),
            ("start", &|(_, start, ..)| (*start).to_owned()),
            ("length", &|(_, _, length, _): &(_, _, usize, _)| length.to_string()),
            ("mean", &|(.., entropy)| some(entropy.mean)),
            ("standard_deviation", &|(.., entropy)| some(entropy.deviation)),
        ],
    )
}

/// A label as the chain has it.
fn label(chain: &Results, state: StateId) -> String {
    chain.subject.model.chain().label(state).to_owned()
}

fn walks(folder: &Path, chains: &[Results]) -> Result<()> {
    let settings = chains.iter().flat_map(|chain| chain.all().map(move |of| (chain, of)));
    let rows = settings.filter(|(_, (s, _))| s.basis == Basis::Epsilon).flat_map(
        |(chain, (setting, measured))| {
            let states = chain.subject.walks[0].iter().zip(&measured.samples[0]).enumerate();
            states.map(move |(step, (&real, &released))| {
                (chain, setting, step, real, StateId::new(released as usize))
            })
        },
    );
    save(
        folder,
        "walks.csv",
        rows,
        &[
            ("chain", &|(chain, ..)| chain.subject.key.to_owned()),
            ("epsilon", &|(_, setting, ..)| setting.epsilon.to_owned()),
            ("mechanism", &|(_, setting, ..)| setting.preset.name().to_owned()),
            ("step", &|(_, _, step, ..)| step.to_string()),
            ("real", &|&(chain, _, _, real, _)| label(chain, real)),
            ("released", &|&(chain, .., released)| label(chain, released)),
            ("distance_nats", &|&(chain, _, _, real, released)| {
                some(chain.subject.model.directed().between(released, real).as_f64())
            }),
        ],
    )
}

fn drift(folder: &Path, chains: &[Results]) -> Result<()> {
    let rows = chains.iter().flat_map(|chain| {
        MECHANISMS.into_iter().flat_map(move |preset| {
            chain.drift(preset).into_iter().map(move |(epsilon, d)| (chain, preset, epsilon, d))
        })
    });
    save(
        folder,
        "drift.csv",
        rows,
        &[
            ("chain", &|(chain, ..)| chain.subject.key.to_owned()),
            ("mechanism", &|(_, preset, ..)| preset.to_string()),
            ("epsilon", &|(_, _, epsilon, _)| epsilon.to_string()),
            ("joint_states", &|(.., d)| d.joint_states.to_string()),
            ("negative", &|(.., d)| some(d.negative)),
            ("published", &|(.., d)| field(d.published)),
            ("corrected", &|(.., d)| field(d.corrected)),
            ("published_wrongly", &|(.., d)| field(d.published_wrongly)),
        ],
    )
}

fn settings(folder: &Path, chains: &[Results]) -> Result<()> {
    let rows = chains.iter().flat_map(|chain| {
        chain.all().filter_map(move |(setting, measured)| {
            Some((chain, setting, measured, measured.guarantee.as_ref()?))
        })
    });
    let mean = |figure: Option<(f64, f64)>| field(figure.map(|f| f.0));
    save(
        folder,
        "settings.csv",
        rows,
        &[
            ("chain", &|(chain, ..)| chain.subject.key.to_owned()),
            ("basis", &|(_, setting, ..)| setting.basis.key().to_owned()),
            ("mechanism", &|(_, setting, ..)| setting.preset.to_string()),
            ("epsilon", &|(_, setting, ..)| setting.epsilon.to_owned()),
            ("scale_min", &|(_, _, measured, _)| some(measured.scale.0)),
            ("scale_max", &|(_, _, measured, _)| some(measured.scale.1)),
            ("wrong_share", &|(_, _, measured, _)| mean(measured.fixed.wrong_share())),
            ("mean_distance_nats", &|(_, _, measured, _)| mean(measured.fixed.mean_distance())),
            ("entropy_nats", &|(_, _, measured, _)| mean(measured.fixed.last_entropy())),
            ("empty_promise", &|(.., promised)| promised.vacuous.to_string()),
            ("pairs_covered", &|(.., promised)| promised.covered_pairs.to_string()),
            ("bound_per_nat", &|(.., promised)| field(promised.bound_per_nat)),
            ("loss_per_nat", &|(.., promised)| field(promised.per_nat)),
            ("substitution_loss", &|(.., promised)| some(promised.substitution)),
            ("losses_are", &|(.., promised)| {
                if promised.exact { "exact" } else { "bounds" }.to_owned()
            }),
            ("remark", &|(_, _, measured, _)| measured.remark.clone().unwrap_or_default()),
        ],
    )
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
    let real = &credit.subject.walks[1];
    let row = |epsilon: &str, mechanism: String, walk: &[StateId]| {
        let labels = walk.iter().map(|&state| label(credit, state));
        [epsilon.to_owned(), mechanism].into_iter().chain(labels).collect()
    };
    let steps = (0..real.len()).map(|t| format!("t{t}"));
    let header = ["epsilon".to_owned(), "mechanism".to_owned()].into_iter().chain(steps).collect();
    let samples = sample_rows(credit);
    let samples =
        samples.iter().map(|(epsilon, preset, walk)| row(epsilon, preset.to_string(), walk));
    let first = [header, row("", "real".to_owned(), real)];
    save_rows(folder, "sample_table.csv", first.into_iter().chain(samples))
}
