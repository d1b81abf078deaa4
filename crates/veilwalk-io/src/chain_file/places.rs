//! Where the states of a chain lie, as a table `state,latitude,longitude`, with a column `name` if they have names.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use veilwalk::chain::{Chain, Coordinates, Places};

use crate::lines::Lines;
use crate::read_error::{HeaderHint, ReadError, ReadErrorKind, shortened};
use crate::table::{Record, Table};
use crate::write_error::WriteError;

const HEADER: [&str; 4] = ["state", "latitude", "longitude", "name"];
const ACCEPTED: &str = "state,latitude,longitude; state,latitude,longitude,name";

/// Reads where the states of a chain lie from a file with the columns `state`, `latitude` and `longitude`, in
/// degrees, and perhaps `name`, in any order. The chain keeps the lengths it has.
///
/// Every state of the chain has to be there. States that the chain does not have are passed over: a list of all
/// stations serves a chain of some of them.
///
/// # Errors
///
/// If the file cannot be read, has other columns, names a state twice, gives a place that is not on the earth, or
/// leaves out a state of the chain.
pub fn read_places(path: &Path, chain: Chain) -> Result<Chain, ReadError> {
    let mut table = Table::new(Lines::open(path)?, "state,latitude,longitude")?;
    let columns = Columns::of(table.header()).map_err(|hint| {
        let found = shortened(&table.header().join(","));
        let kind = ReadErrorKind::UnknownHeader { found, hint, accepted: ACCEPTED };
        table.lines().error_at(table.header_line(), kind)
    })?;
    let mut coordinates = vec![None; chain.len()];
    let mut names = columns.name.map(|_| vec![String::new(); chain.len()]);
    let mut lines = HashMap::new();
    while let Some(record) = table.next_record()? {
        let line = record.line;
        match read_row(record, columns, &mut lines) {
            Ok((label, place, name)) => {
                if let Some(state) = chain.state(label) {
                    coordinates[state.index()] = Some(place);
                    if let Some(names) = &mut names {
                        names[state.index()] = name.to_owned();
                    }
                }
            }
            Err(kind) => return Err(table.lines().error_at(line, kind)),
        }
    }
    let missing = chain.states().filter(|state| coordinates[state.index()].is_none());
    let labels: Vec<String> = missing.map(|state| chain.label(state).to_owned()).collect();
    if !labels.is_empty() {
        return Err(table.lines().error(ReadErrorKind::NoPlace { labels }));
    }
    let lengths = chain.places().and_then(|places| places.lengths.clone());
    let coordinates = coordinates.into_iter().collect();
    let places = Places { lengths, coordinates, names, lines: None };
    Ok(chain.with_places(places).expect("one place for each state"))
}

/// Writes where the states of a chain lie, as [`read_places`] reads it: with a column `name` if they have names.
/// Nothing but the header is written of a chain without coordinates.
///
/// # Errors
///
/// If writing fails.
pub fn write_places(chain: &Chain, out: impl Write) -> Result<(), WriteError> {
    const NAME: &str = "output";
    let places = chain.places();
    let names = places.and_then(|places| places.names.as_ref());
    let mut table = csv::Writer::from_writer(out);
    let mut put = |fields: &[&str]| {
        let fields = &fields[..3 + usize::from(names.is_some())];
        table.write_record(fields).map_err(|error| WriteError::csv(NAME, error))
    };
    put(&HEADER)?;
    let coordinates = places.and_then(|places| places.coordinates.as_deref()).unwrap_or_default();
    for (state, place) in chain.states().zip(coordinates) {
        let (latitude, longitude) = place.degrees();
        let name = names.map_or("", |names| &names[state.index()]);
        put(&[chain.label(state), &format!("{latitude:.7}"), &format!("{longitude:.7}"), name])?;
    }
    table.flush().map_err(|error| WriteError::io(NAME, error))
}

/// Where the columns are.
#[derive(Clone, Copy)]
struct Columns {
    state: usize,
    latitude: usize,
    longitude: usize,
    name: Option<usize>,
}

impl Columns {
    fn of(header: &[String]) -> Result<Self, HeaderHint> {
        let found = HEADER
            .map(|name| header.iter().position(|column| column.trim().eq_ignore_ascii_case(name)));
        let [Some(state), Some(latitude), Some(longitude), name] = found else {
            return Err(match header {
                [only] if only.contains(';') => HeaderHint::Semicolons,
                _ => HeaderHint::Names,
            });
        };
        match (0..header.len()).find(|&column| !found.contains(&Some(column))) {
            Some(extra) => Err(HeaderHint::ExtraColumn(header[extra].clone())),
            None => Ok(Self { state, latitude, longitude, name }),
        }
    }
}

/// The label, place and name of a line, whose label must be new.
fn read_row<'a>(
    record: Record<'a>,
    columns: Columns,
    lines: &mut HashMap<String, u64>,
) -> Result<(&'a str, Coordinates, &'a str), ReadErrorKind> {
    let label = record.get(columns.state);
    if label.is_empty() {
        return Err(ReadErrorKind::EmptyField { column: HEADER[0].to_owned() });
    }
    if let Some(first_line) = lines.insert(label.to_owned(), record.line) {
        return Err(ReadErrorKind::DuplicateRow { label: label.to_owned(), first_line });
    }
    let (latitude, longitude) = (record.get(columns.latitude), record.get(columns.longitude));
    let place = Coordinates::parse(latitude, longitude).map_err(ReadErrorKind::Coordinates)?;
    Ok((label, place, columns.name.map_or("", |name| record.get(name))))
}
