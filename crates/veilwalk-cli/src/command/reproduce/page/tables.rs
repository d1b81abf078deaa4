//! The tables.

use veilwalk_report::{Cell, Table, figure, percent};

use crate::command::reproduce::claims::{Claim, Verdict};
use crate::command::reproduce::differences::Difference;
use crate::command::reproduce::files;
use crate::command::reproduce::measure::Measured;
use crate::command::reproduce::plan::Basis;
use crate::command::reproduce::results::{Results, number};

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
            Cell::words(&claim.ours),
            Cell::words(claim.verdict.word()).class(class),
        ]);
    }
    table
}

pub(super) fn differences(differences: &[Difference]) -> Table {
    let mut table =
        Table::new(["where", "as printed", "what was found", "in this run", "what veilwalk does"])
            .words();
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

fn measured_cell(figure: Option<(f64, f64)>, show: fn(f64) -> String) -> Cell {
    match figure {
        None => Cell::nothing(),
        Some((mean, 0.0)) => Cell::number(mean, show(mean)),
        Some((mean, error)) => Cell::number(mean, format!("{} ± {}", show(mean), show(error))),
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
        chain.all().filter(|(s, m)| s.basis == basis && m.guarantee.is_some())
    {
        table.row([
            Cell::number(number(setting.epsilon), setting.epsilon),
            Cell::words(format!("`{}`", setting.preset)),
            measured_cell(measured.fixed.wrong_share(), percent),
            measured_cell(measured.fixed.mean_distance(), figure),
            measured_cell(measured.fixed.last_entropy(), figure),
            loss_cell(measured),
        ]);
    }
    table
}

/// What every setting promises, and what it loses in fact.
pub(super) fn guarantees(chains: &[Results]) -> Table {
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
        "remark",
    ])
    .dense();
    for chain in chains {
        for (setting, measured) in chain.all() {
            let Some(promised) = &measured.guarantee else { continue };
            let optional = |number: Option<f64>| match number {
                Some(number) => Cell::number(number, figure(number)),
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
            let scale = match low == high {
                true => figure(low),
                false => format!("{} to {}", figure(low), figure(high)),
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
                Cell::number(promised.covered_pairs as f64, figure(promised.covered_pairs as f64)),
                Cell::number(low, scale),
                optional(promised.bound_per_nat),
                optional(promised.per_nat),
                loss_cell(measured),
                Cell::words(measured.remark.clone().unwrap_or_default()).class("wraps"),
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
        let whole = |n: usize| Cell::number(n as f64, crate::args::thousands(n));
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
    let steps = (0..real.len()).map(|t| format!("t = {t}"));
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
