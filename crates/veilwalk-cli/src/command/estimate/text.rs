//! What was estimated, for people: the most frequent entries.

use comfy_table::CellAlignment;
use veilwalk::StateId;
use veilwalk::inference::Interval;

use super::{Found, What};
use crate::args::thousands;
use crate::terminal;

/// So many entries are shown.
const MOST: usize = 20;

pub(super) fn of(found: &Found<'_>, what: What) -> String {
    let label = |state: StateId| found.chain.label(state).to_owned();
    let pairs = |pairs: Vec<((StateId, StateId), f64, Option<Interval>)>| -> Vec<_> {
        let pair = |((a, b), share, interval)| (vec![label(a), label(b)], share, interval);
        pairs.into_iter().map(pair).collect()
    };
    let (names, rows) = match what {
        What::Visits | What::Chain => {
            let visits = found.visits().into_iter();
            (vec!["state"], visits.map(|(s, p, i)| (vec![label(s)], p, i)).collect())
        }
        What::Moves => (vec!["from", "to"], pairs(found.moves())),
        What::Od => (vec!["origin", "destination"], pairs(found.trips())),
    };
    table(&names, rows)
}

fn table(names: &[&str], mut rows: Vec<(Vec<String>, f64, Option<Interval>)>) -> String {
    let with_intervals = rows.first().is_some_and(|(_, _, interval)| interval.is_some());
    let mut header = [names, &["share"]].concat();
    if with_intervals {
        header.extend(["low", "high"]);
    }
    let all = rows.len();
    // Of equals the first in the order of the chain.
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    rows.truncate(MOST);
    let mut table = terminal::table(&header);
    for (mut cells, share, interval) in rows {
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
