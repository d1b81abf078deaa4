//! What was estimated, for people: the most frequent entries.

use comfy_table::CellAlignment;
use veilwalk::inference::{Interval, Learned, Share};
use veilwalk::{Chain, StateId};

use super::What;
use crate::args::thousands;
use crate::terminal;

/// So many entries are shown.
const MOST: usize = 20;

pub(super) fn of(chain: &Chain, found: &Learned, what: What) -> String {
    let label = |state: StateId| chain.label(state).to_owned();
    let pairs = |pairs: &[Share<(StateId, StateId)>]| {
        let row = |pair: &Share<(StateId, StateId)>| Row {
            cells: vec![label(pair.of.0), label(pair.of.1)],
            share: pair.share,
            interval: pair.interval,
        };
        pairs.iter().map(row).collect()
    };
    match what {
        What::Visits | What::Chain => {
            let row = |visit: &Share<StateId>| Row {
                cells: vec![label(visit.of)],
                share: visit.share,
                interval: visit.interval,
            };
            table(&["state"], found.visits.iter().map(row).collect())
        }
        What::Moves => table(&["from", "to"], pairs(&found.moves)),
        What::Od => table(&["origin", "destination"], pairs(&found.trips)),
    }
}

/// A row of a table: labels, and numbers about them.
struct Row {
    cells: Vec<String>,
    share: f64,
    interval: Option<Interval>,
}

fn table(names: &[&str], mut rows: Vec<Row>) -> String {
    let with_intervals = rows.first().is_some_and(|row| row.interval.is_some());
    let mut header = [names, &["share"]].concat();
    if with_intervals {
        header.extend(["low", "high"]);
    }
    let all = rows.len();
    // Of equals the first in the order of the chain.
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    rows.truncate(MOST);
    let mut table = terminal::table(&header);
    for Row { mut cells, share, interval } in rows {
        let interval = interval.map(|Interval { low, high }| [low, high]);
        let numbers = [share].into_iter().chain(interval.into_iter().flatten());
        cells.extend(numbers.map(|number| format!("{number:.4}")));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(names.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines = terminal::lines(&table);
    match all - all.min(MOST) {
        0 => lines,
        more => format!("{lines}\n\n  and {} more; --format json has all", thousands(more)),
    }
}
