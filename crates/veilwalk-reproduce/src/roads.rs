//! A road network from walks on it: the trips of a city, each a list of road segments.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use csv::{Reader, ReaderBuilder, StringRecord};
use veilwalk::Chain;
use veilwalk::chain::{BuildOptions, Scope, TransitionCounts};
use veilwalk_io::{WalkOptions, WalkReader};

use crate::Host;
use crate::ground::{Ground, Place};

/// The column that holds a whole walk, with its states joined.
const PATH_COLUMN: &str = "path";
const BETWEEN_STATES: char = '_';
const JUNCTIONS: &str = "node.txt";
const SEGMENTS: &str = "edge.txt";

/// The chain, its map where coordinates are beside the file, and the file that was read.
pub(crate) fn read(path: &Path, host: &dyn Host) -> Result<(Chain, Option<Ground>, PathBuf)> {
    let file = if path.is_dir() { path.join("path.csv") } else { path.to_owned() };
    let mut counts = TransitionCounts::new();
    match whole_walks(&file)? {
        Some((mut rows, column)) => {
            let mut row = StringRecord::new();
            while rows.read_record(&mut row).with_context(|| file.display().to_string())? {
                let line = row.position().map_or(0, csv::Position::line);
                let walk = row.get(column).unwrap_or("");
                if walk.split(BETWEEN_STATES).any(|state| state.trim().is_empty()) {
                    bail!(
                        "{}, line {line}: the walk {walk:?} has a state without a name; join \
                         states with {BETWEEN_STATES:?}",
                        file.display()
                    );
                }
                counts.add_walk(walk.split(BETWEEN_STATES));
            }
        }
        None => count_long_form(&file, &mut counts)?,
    }
    if counts.total() == 0 {
        bail!(
            "{}: there is not a single transition to count; give walks of two states or more",
            file.display()
        );
    }
    let options = BuildOptions { scope: Scope::LargestComponent, ..Default::default() };
    let (chain, _) = counts.build(options).with_context(|| file.display().to_string())?;
    let ground = coordinates(&file, &chain, host)?;
    Ok((chain, ground, file))
}

/// A reader of rows that are whole walks, and which column they are in; none if there is no such
/// column.
fn whole_walks(file: &Path) -> Result<Option<(Reader<File>, usize)>> {
    let mut rows = open(file)?;
    let header = rows.headers().with_context(|| file.display().to_string())?;
    let column = header.iter().position(|name| name.trim() == PATH_COLUMN);
    Ok(column.map(|column| (rows, column)))
}

fn open(file: &Path) -> Result<Reader<File>> {
    let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(ReaderBuilder::new().from_reader(opened))
}

/// Walks with a line for each step.
fn count_long_form(file: &Path, counts: &mut TransitionCounts) -> Result<()> {
    let mut rows = WalkReader::open(file, WalkOptions::default()).map_err(|error| {
        anyhow!(
            "{error} (or a column {PATH_COLUMN:?} with whole walks, joined with \
                 {BETWEEN_STATES:?})"
        )
    })?;
    let mut last = HashMap::new();
    while let Some(row) = rows.next_row()? {
        let state = counts.state(row.state);
        if let Some(previous) = last.insert(row.trajectory.to_owned(), state) {
            counts.add(previous, state);
        }
    }
    Ok(())
}

/// A map, where junctions (`osmid,y,x`) and segments (`u,v,…,n_id`) are in files beside the walks.
fn coordinates(walks: &Path, chain: &Chain, host: &dyn Host) -> Result<Option<Ground>> {
    let (junctions, segments) = (walks.with_file_name(JUNCTIONS), walks.with_file_name(SEGMENTS));
    if !junctions.is_file() || !segments.is_file() {
        host.note(&format!("no {JUNCTIONS} and {SEGMENTS} beside {}, so no map", walks.display()));
        return Ok(None);
    }
    let mut places = HashMap::new();
    each_row(&junctions, ["osmid", "y", "x"], |[id, north, east]| {
        let number = |text: &str| {
            text.trim().parse::<f64>().map_err(|_| anyhow!("{text:?} is not a coordinate"))
        };
        places.insert(id.to_owned(), (number(east)?, number(north)?));
        Ok(())
    })?;
    // On a map a degree of longitude is shorter than one of latitude.
    let north = places.values().map(|p| p.1).sum::<f64>() / places.len().max(1) as f64;
    let squeeze = north.to_radians().cos();
    let mut stretches = HashMap::new();
    each_row(&segments, ["u", "v", "n_id"], |[from, to, state]| {
        let at = |id: &str| {
            let place = places.get(id).map(|&(east, north)| (east * squeeze, north));
            place.ok_or_else(|| anyhow!("the junction {id:?} is not in {JUNCTIONS}"))
        };
        stretches.insert(state.to_owned(), Place::Stretch(at(from)?, at(to)?));
        Ok(())
    })?;
    let of_state = |state| stretches.get(chain.label(state)).copied();
    let ground = Ground::of_stretches(
        chain.states().map(of_state).collect(),
        "Road segments between junctions, drawn as straight lines.",
    );
    if ground.known() == 0 {
        host.note(&format!("{}: no state is in it, so no map", segments.display()));
        return Ok(None);
    }
    Ok(Some(ground))
}

/// Gives the fields of these columns, row by row.
fn each_row<const N: usize>(
    file: &Path,
    columns: [&str; N],
    mut take: impl FnMut([&str; N]) -> Result<()>,
) -> Result<()> {
    let mut rows = open(file)?;
    let header = rows.headers().with_context(|| file.display().to_string())?.clone();
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(columns) {
        *place = header.iter().position(|column| column.trim() == name).ok_or_else(|| {
            anyhow!(
                "{}: there is no column {name:?}; expected {}",
                file.display(),
                columns.join(", ")
            )
        })?;
    }
    for row in rows.records() {
        let row = row.with_context(|| file.display().to_string())?;
        let line = row.position().map_or(0, csv::Position::line);
        take(places.map(|place| row.get(place).unwrap_or("").trim()))
            .with_context(|| format!("{}, line {line}", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn both_forms_make_the_same_chain() {
        let whole = folder(&[("path.csv", "ori,des,path,len\n1,1,1_2_3_1,4\n2,3,2_3,2\n")]);
        let long = folder(&[("walks.csv", "trajectory,state\na,1\na,2\nb,2\na,3\nb,3\na,1\n")]);
        let (first, ground, _) = read(whole.path(), &crate::Silent).unwrap();
        let (second, ..) = read(&long.path().join("walks.csv"), &crate::Silent).unwrap();
        assert_eq!(first.hash(), second.hash());
        assert!(ground.is_none());
    }

    #[test]
    fn coordinates_beside_the_walks_make_a_map() {
        let files = folder(&[
            ("path.csv", "path\n0_1_0\n"),
            ("node.txt", "osmid,y,x\n7,31.0,121.0\n8,31.1,121.0\n"),
            ("edge.txt", "u,v,name,n_id\n7,8,a,0\n8,7,a,1\n"),
        ]);
        let (chain, ground, _) = read(files.path(), &crate::Silent).unwrap();
        let ground = ground.unwrap();
        assert_eq!(ground.known(), 2);
        let walk: Vec<_> = chain.states().collect();
        assert_eq!(ground.route(&walk).len(), 3);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let message = |files: &[(&str, &str)]| {
            let folder = folder(files);
            format!("{:#}", read(&folder.path().join("path.csv"), &crate::Silent).err().unwrap())
        };
        assert!(message(&[]).contains("cannot read"));
        assert!(message(&[("path.csv", "path\n1__2\n")]).contains("line 2"));
        assert!(message(&[("path.csv", "path\n1\n2\n")]).contains("not a single transition"));
        assert!(message(&[("path.csv", "a,b\n1,2\n")]).contains("\"path\""));
        let bad = [
            ("path.csv", "path\n0_1_0\n"),
            ("node.txt", "osmid,y,x\n7,north,1\n"),
            ("edge.txt", "u,v,n_id\n7,7,0\n"),
        ];
        assert!(message(&bad).contains("node.txt, line 2: \"north\" is not a coordinate"));
    }
}
