//! Distances that a user gives, as a table `from,to,distance`.
//!
//! The name of the third column says what they are in: `metres`, or `distance` for a unit of one's own. A pair may be
//! given one way round only.

use std::collections::HashMap;
use std::path::Path;

use veilwalk::chain::Chain;
use veilwalk::internal::distance::{NotAMetric, OwnDistances};
use veilwalk::{Measure, Nats, Rational, StateId};

use crate::lines::Lines;
use crate::read_error::{HeaderHint, ReadError, ReadErrorKind, shortened};
use crate::table::Table;

const ACCEPTED: &str = "from,to,distance; from,to,metres";

/// Reads the distances between all states of a chain from a table with the columns `from`, `to` and `distance` or
/// `metres`. They have at most three decimals.
///
/// # Errors
///
/// If the file cannot be read, names a state that the chain does not have, or does not hold a metric: a pair is
/// missing, a distance is another one back, or a way over a third state is shorter.
pub fn read_distances(path: &Path, chain: &Chain) -> Result<OwnDistances, ReadError> {
    let mut table = Table::new(Lines::open(path)?, "from,to,distance")?;
    let header: Vec<String> =
        table.header().iter().map(|name| name.trim().to_ascii_lowercase()).collect();
    let measure = match header.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["from", "to", "metres" | "meters"] => Measure::Metres,
        ["from", "to", "distance"] => Measure::Own,
        _ => {
            let hint = match &header[..] {
                [only] if only.contains(';') => HeaderHint::Semicolons,
                _ => HeaderHint::Names,
            };
            let found = shortened(&table.header().join(","));
            let kind = ReadErrorKind::UnknownHeader { found, hint, accepted: ACCEPTED };
            return Err(table.lines().error_at(table.header_line(), kind));
        }
    };
    let mut pairs = Vec::new();
    let mut lines: HashMap<(StateId, StateId), (u64, Nats)> = HashMap::new();
    while let Some(record) = table.next_record()? {
        let line = record.line;
        let read = (|| {
            let state = |label: &str| chain.require(label).map_err(ReadErrorKind::UnknownState);
            let (from, to) = (state(record.get(0))?, state(record.get(1))?);
            let distance = thousandths(record.get(2))?;
            if from == to && distance != Nats::ZERO {
                let why = format!("the distance from {:?} to itself is not zero", record.get(0));
                return Err(ReadErrorKind::Distances(why));
            }
            match lines.insert((from.min(to), from.max(to)), (line, distance)) {
                Some((other, before)) if before != distance => {
                    Err(ReadErrorKind::Distances(format!(
                        "{:?} and {:?} are another distance apart than line {other} says",
                        record.get(0),
                        record.get(1)
                    )))
                }
                _ => Ok((from, to, distance)),
            }
        })();
        match read {
            Ok(pair) => pairs.push(pair),
            Err(kind) => return Err(table.lines().error_at(line, kind)),
        }
    }
    let metric = OwnDistances::new(chain.len(), pairs, measure);
    metric.map_err(|why| table.lines().error(ReadErrorKind::Distances(in_words(why, chain))))
}

/// What is wrong, with the names of states.
fn in_words(why: NotAMetric, chain: &Chain) -> String {
    let label = |state: usize| format!("{:?}", chain.label(StateId::new(state)));
    match why {
        NotAMetric::Missing(from, to) => format!(
            "there is no distance between {} and {}; give one for every two states of the chain",
            label(from),
            label(to)
        ),
        NotAMetric::Triangle { from, over, to } => format!(
            "the distances are no metric: from {} to {} it is longer than over {}; make no way longer than one \
             over another state",
            label(from),
            label(to),
            label(over)
        ),
        NotAMetric::Diagonal(state) => {
            format!("the distance from {} to itself is not zero", label(state))
        }
        NotAMetric::Asymmetric(from, to) => format!(
            "the distance from {} to {} is another one than back; give one for both",
            label(from),
            label(to)
        ),
        other => other.to_string(),
    }
}

fn thousandths(text: &str) -> Result<Nats, ReadErrorKind> {
    let wrong = |why: String| ReadErrorKind::Distances(why);
    let number: Rational = text.parse().map_err(|error| wrong(format!("{error}")))?;
    let (above, below) = (u128::from(number.numerator()) * 1000, u128::from(number.denominator()));
    if above % below != 0 {
        return Err(wrong(format!("the distance {text:?} has more than three decimals; round it")));
    }
    let units = u32::try_from(above / below).map_err(|_| {
        wrong(format!("the distance {text:?} is above 4,294,967; choose a larger unit"))
    })?;
    Ok(Nats::from_units(units))
}
