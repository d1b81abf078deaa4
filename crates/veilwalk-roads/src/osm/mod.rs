//! Reading a map of OpenStreetMap: the ways that people may use, their points, and the rules for turning.
//!
//! A file is read twice, first for ways and rules, then for the points of those ways, so that memory holds the street network
//! and not the map. The first bytes of a file say what it is, whatever its name.

mod pbf;
mod tags;
mod xml;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use hashbrown::{HashMap, HashSet};
use veilwalk::chain::Coordinates;

pub(crate) use tags::{Class, Direction, Tags};
pub use tags::{Mode, ModeError};

use crate::error::{MapError, MapProblem};

/// What was read of a map for one way to move.
#[derive(Debug, Default)]
pub(crate) struct RawMap {
    pub(crate) ways: Vec<RawWay>,
    /// The points of these ways, as far as the map has them.
    pub(crate) points: HashMap<i64, Coordinates>,
    /// Points that nobody gets past.
    pub(crate) stops: HashSet<i64>,
    pub(crate) restrictions: Vec<Restriction>,
    /// Rules for turning that go over a way, or lack a part.
    pub(crate) restrictions_left_out: usize,
    /// Ways whose direction changes with the hour.
    pub(crate) reversible: usize,
}

/// A way that people may use.
#[derive(Debug)]
pub(crate) struct RawWay {
    pub(crate) id: i64,
    pub(crate) nodes: Vec<i64>,
    pub(crate) class: Class,
    pub(crate) direction: Direction,
    pub(crate) name: String,
}

/// A rule for turning at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restriction {
    pub(crate) from: i64,
    pub(crate) via: i64,
    pub(crate) to: i64,
    pub(crate) rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Not this way.
    No,
    /// No turning back on one street.
    NoUTurn,
    /// This way and no other.
    Only,
}

/// What a thing on the map has to do with a relation.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) is: MemberIs,
    pub(crate) id: i64,
    pub(crate) role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberIs {
    Node,
    Way,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    From,
    Via,
    To,
    Other,
}

impl Role {
    fn of(text: &str) -> Self {
        match text {
            "from" => Self::From,
            "via" => Self::Via,
            "to" => Self::To,
            _ => Self::Other,
        }
    }
}

/// Which things of a map are passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    WaysAndRelations,
    Nodes,
}

/// Takes the things of a map as they come.
pub(crate) trait Take {
    fn node(&mut self, id: i64, place: Option<Coordinates>, tags: &Tags<'_>);
    fn way(&mut self, id: i64, nodes: Vec<i64>, tags: &Tags<'_>);
    fn relation(&mut self, members: &[Member], tags: &Tags<'_>);
}

/// Reads what a map has for somebody who moves like this.
pub(crate) fn read(path: &Path, mode: Mode) -> Result<RawMap, MapError> {
    let fail = |problem| MapError::new(path, problem);
    let mut taking = Taking { mode, map: RawMap::default(), wanted: HashSet::new() };
    pass(path, Pass::WaysAndRelations, &mut taking).map_err(fail)?;
    if taking.map.ways.is_empty() {
        return Err(fail(MapProblem::NoRoads { mode }));
    }
    taking.wanted = taking.map.ways.iter().flat_map(|way| &way.nodes).copied().collect();
    pass(path, Pass::Nodes, &mut taking).map_err(fail)?;
    Ok(taking.map)
}

fn pass(path: &Path, pass: Pass, take: &mut impl Take) -> Result<(), MapProblem> {
    let mut file = opened(path)?;
    let mut start = [0; 18];
    let length = read_up_to(&mut file, &mut start)?;
    let start = &start[..length];
    let input = BufReader::with_capacity(1 << 16, start.chain(file));
    if start.len() > 13 && start[4..].starts_with(b"\x0a\x09OSMHeader") {
        return pbf::read(input, pass, take);
    }
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    if text.starts_with(b"<?xml") || text.starts_with(b"<osm") || text.starts_with(b"<!--") {
        return xml::read(input, pass, take);
    }
    Err(if start.is_empty() { MapProblem::Empty } else { MapProblem::NotAMap })
}

/// A file, unpacked if its first bytes say that it is packed.
fn opened(path: &Path) -> Result<Box<dyn Read + Send>, MapProblem> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(MapProblem::Io)?);
    let packed = file.fill_buf().map_err(MapProblem::Io)?.starts_with(&[0x1f, 0x8b]);
    Ok(if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, MapProblem> {
    let mut length = 0;
    while length < buffer.len() {
        match input.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(MapProblem::from_io(error)),
        }
    }
    Ok(length)
}

/// Keeps what matters.
struct Taking {
    mode: Mode,
    map: RawMap,
    wanted: HashSet<i64>,
}

impl Take for Taking {
    fn node(&mut self, id: i64, place: Option<Coordinates>, tags: &Tags<'_>) {
        if !self.wanted.contains(&id) {
            return;
        }
        if let Some(place) = place {
            self.map.points.insert(id, place);
        }
        if self.mode.is_stopped_by(tags) {
            self.map.stops.insert(id);
        }
    }

    fn way(&mut self, id: i64, mut nodes: Vec<i64>, tags: &Tags<'_>) {
        let Some(class) = self.mode.class(tags) else { return };
        nodes.dedup();
        match self.mode.direction(tags) {
            Some(direction) if nodes.len() > 1 => {
                self.map.ways.push(RawWay { id, nodes, class, direction, name: tags.name() });
            }
            Some(_) => {}
            None => self.map.reversible += 1,
        }
    }

    fn relation(&mut self, members: &[Member], tags: &Tags<'_>) {
        let Some(rule) = self.mode.restriction(tags) else { return };
        let rule = match rule {
            "no_u_turn" => Rule::NoUTurn,
            rule if rule.starts_with("no_") => Rule::No,
            rule if rule.starts_with("only_") => Rule::Only,
            _ => {
                self.map.restrictions_left_out += 1;
                return;
            }
        };
        let of = |role, is| {
            let fits = move |member: &&Member| member.role == role && member.is == is;
            members.iter().filter(fits).map(|member| member.id)
        };
        let mut vias = of(Role::Via, MemberIs::Node);
        let (via, other) = (vias.next(), vias.next());
        let before = self.map.restrictions.len();
        if let (Some(via), None, None) = (via, other, of(Role::Via, MemberIs::Way).next()) {
            for from in of(Role::From, MemberIs::Way) {
                let rules =
                    of(Role::To, MemberIs::Way).map(|to| Restriction { from, via, to, rule });
                self.map.restrictions.extend(rules);
            }
        }
        self.map.restrictions_left_out += usize::from(self.map.restrictions.len() == before);
    }
}
