//! The tables on the page of the evaluation.

use veilwalk_report::{Cell, Table, estimate, figure, percent};

use crate::claims::{Claim, Verdict};
use crate::differences::Difference;
use crate::files;
use crate::measure::Measured;
use crate::plan::Basis;
use crate::results::{Results, number};

pub(super) fn claims(claims: &[Claim]) -> Table {
    let mut table = Table::new(["claim", "chain", "paper", "ours", "agrees?"]).words();
    for claim in claims {
        let class = match claim.verdict {
            Verdict::Agrees => "yes",
            Verdict::Partly => "partly",
            Verdict::Differs => "no",
        };
        table.row([
            Cell::words(&claim.claim),
            Cell::words(&claim.chain),
            Cell::words(&claim.paper),
            Cell::words(match claim.why.as_str() {
                "" => claim.ours.clone(),
                why => format!("{}. *Why:* {why}.", claim.ours),
            }),
            Cell::words(claim.verdict.word()).class(class),
        ]);
    }
    table
}

pub(super) fn differences(differences: &[Difference]) -> Table {
    let mut table = Table::new(["where", "as printed", "found", "in this run", "veilwalk"]).words();
    for d in differences {
        table.row([
            Cell::words(d.place),
            Cell::words(d.printed),
            Cell::words(d.found),
            Cell::words(&d.number),
            Cell::words(d.remedy),
        ]);
    }
    table
}

/// A mean, with its error if it was simulated.
fn measured_cell(found: Option<(f64, f64)>) -> Cell {
    match found {
        None => Cell::nothing(),
        Some((mean, error)) => Cell::number(mean, estimate(mean, error)),
    }
}

/// The same for a share.
fn share_cell(found: Option<(f64, f64)>) -> Cell {
    match found {
        None => Cell::nothing(),
        Some((mean, 0.0)) => Cell::number(mean, percent(mean)),
        Some((mean, error)) => {
            Cell::number(mean, format!("{} %", estimate(100.0 * mean, 100.0 * error)))
        }
    }
}

fn loss_cell(measured: &Measured) -> Cell {
    let Some(promised) = &measured.guarantee else { return Cell::nothing() };
    let sign = if promised.exact { "" } else { "≤ " };
    Cell::number(promised.substitution, format!("{sign}{:.3}", promised.substitution))
}

/// Accuracy of every mechanism on one basis.
pub(super) fn comparison(chain: &Results, basis: Basis) -> Table {
    let mut table =
        Table::new(["ε", "mechanism", "wrong states", "mean distance", "entropy", "loss"]);
    for (setting, measured) in
        chain.all().filter(|(s, m)| s.basis == basis && m.fixed.mean_distance().is_some())
    {
        table.row([
            Cell::number(number(setting.epsilon), setting.epsilon),
            Cell::words(format!("`{}`", setting.preset)),
            share_cell(measured.fixed.wrong_share()),
            measured_cell(measured.fixed.mean_distance()),
            measured_cell(measured.fixed.last_entropy()),
            loss_cell(measured),
        ]);
    }
    table
}

/// Remarks on how settings were made: each once, in the order of the table.
fn remarks(chains: &[Results]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for chain in chains {
        let settings = chain.all().filter(|(_, measured)| measured.guarantee.is_some());
        for remark in settings.filter_map(|(_, measured)| measured.remark.as_ref()) {
            if !notes.contains(remark) {
                notes.push(remark.clone());
            }
        }
    }
    notes
}

/// The sign of a note.
fn mark(place: usize) -> String {
    const SIGNS: [&str; 3] = ["†", "‡", "§"];
    SIGNS.get(place).map_or_else(|| format!("({place})"), |sign| (*sign).to_owned())
}

/// The notes under the table of guarantees, as one text; empty if there are none.
pub(super) fn notes(chains: &[Results]) -> String {
    let notes = remarks(chains).into_iter().enumerate();
    notes.map(|(k, note)| format!(" {} {note}.", mark(k))).collect()
}

/// What every setting promises, and what it loses in fact.
pub(super) fn guarantees(chains: &[Results]) -> Table {
    let notes = remarks(chains);
    let mut table = Table::new([
        "chain",
        "basis",
        "mechanism",
        "ε",
        "promise",
        "pairs",
        "scale η",
        "bound per nat",
        "loss per nat",
        "loss",
    ])
    .dense();
    for chain in chains {
        for (setting, measured) in chain.all() {
            let Some(promised) = &measured.guarantee else { continue };
            let optional = |number: Option<f64>| match number {
                Some(number) => Cell::number(number, format!("{number:.3}")),
                None => Cell::nothing(),
            };
            let substitutions =
                setting.basis == Basis::Loss || setting.preset.counts_substitutions();
            let unit = if substitutions { "1 substitution" } else { "radius 1" };
            let (unit, class) = match promised.vacuous {
                true => (format!("{unit}: empty"), "no"),
                false => (unit.to_owned(), ""),
            };
            let (low, high) = measured.scale;
            let note = notes.iter().position(|known| Some(known) == measured.remark.as_ref());
            let note = note.map(mark).unwrap_or_default();
            let scale = match low == high {
                true => format!("{}{note}", figure(low)),
                false => format!("{} to {}{note}", figure(low), figure(high)),
            };
            table.row([
                Cell::words(chain.subject.key),
                Cell::words(match setting.basis {
                    Basis::Epsilon => "equal ε",
                    Basis::Loss => "equal loss",
                }),
                Cell::words(format!("`{}`", setting.preset)),
                Cell::number(number(setting.epsilon), setting.epsilon),
                Cell::words(unit).class(class),
                Cell::number(
                    promised.covered_pairs as f64,
                    veilwalk_report::thousands(promised.covered_pairs as usize),
                ),
                Cell::number(low, scale),
                optional(promised.bound_per_nat),
                optional(promised.per_nat),
                loss_cell(measured),
            ]);
        }
    }
    table
}

/// Sizes of the chains.
pub(super) fn chains(chains: &[Results]) -> Table {
    let mut table = Table::new([
        "chain",
        "states",
        "transitions",
        "diameter (nats)",
        "closest (nats)",
        "pairs ≤ 1 nat",
        "entropy rate",
    ]);
    for chain in chains {
        let a = &chain.about;
        let count = |n: f64| Cell::number(n, figure(n));
        let whole = |n: usize| Cell::number(n as f64, veilwalk_report::thousands(n));
        table.row([
            Cell::words(format!("[{}](#{})", chain.subject.key, chain.subject.key)),
            whole(a.states),
            whole(a.transitions),
            count(a.diameter),
            count(a.closest),
            whole(a.covered_pairs as usize),
            count(a.entropy_rate),
        ]);
    }
    table
}

/// The paper's ten ratings and what was released in their place.
pub(super) fn sample(credit: &Results) -> Table {
    let (real, chain) = (&credit.subject.walks[1], credit.subject.model.chain());
    let steps = (0..real.len()).map(|t| format!("t\u{a0}=\u{a0}{t}"));
    let header = ["ε".to_owned(), "mechanism".to_owned()].into_iter().chain(steps);
    let mut table = Table::new(header).dense();
    let states = real.iter().map(|&x| Cell::words(chain.label(x)));
    table.row([Cell::words("–"), Cell::words("real walk")].into_iter().chain(states));
    for (epsilon, preset, walk) in files::sample_rows(credit) {
        let states = walk.iter().zip(real).map(|(&z, &x)| {
            let cell = Cell::words(chain.label(z));
            if z == x { cell } else { cell.class("mark") }
        });
        let head = [Cell::number(number(epsilon), epsilon), Cell::words(format!("`{preset}`"))];
        table.row(head.into_iter().chain(states));
    }
    table
}
