//! Maps in XML, element by element.

use std::borrow::Cow;
use std::io::BufRead;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use veilwalk::chain::Coordinates;

use super::{Member, MemberIs, Pass, Role, Tags, Take};
use crate::error::MapProblem;

/// The thing that is open.
enum Thing {
    Node { id: i64, place: Option<Coordinates> },
    Way { id: i64, nodes: Vec<i64> },
    Relation { members: Vec<Member> },
}

pub(super) fn read(
    input: impl BufRead,
    pass: Pass,
    take: &mut impl Take,
) -> Result<(), MapProblem> {
    let mut xml = Reader::from_reader(input);
    let mut buffer = Vec::new();
    let mut open: Option<Thing> = None;
    let mut tags = Tags::default();
    let (mut seen_root, mut closed_root) = (false, false);
    loop {
        buffer.clear();
        let event = xml.read_event_into(&mut buffer).map_err(problem)?;
        match event {
            Event::Start(start) if !seen_root => {
                if start.name().as_ref() != "osm" {
                    return Err(MapProblem::NotAMap);
                }
                seen_root = true;
            }
            Event::Start(start) => {
                let thing = opened(&start, pass)?;
                if thing.is_some() {
                    (open, tags) = (thing, Tags::default());
                } else {
                    inside(&start, open.as_mut(), &mut tags)?;
                }
            }
            Event::Empty(start) => match opened(&start, pass)? {
                Some(thing) => give(thing, &Tags::default(), take),
                None => inside(&start, open.as_mut(), &mut tags)?,
            },
            Event::End(end) => match end.name().as_ref() {
                "node" | "way" | "relation" => {
                    if let Some(thing) = open.take() {
                        give(thing, &tags, take);
                    }
                    tags.0.clear();
                }
                "osm" => closed_root = true,
                _ => {}
            },
            Event::Eof if closed_root => return Ok(()),
            Event::Eof if seen_root => return Err(MapProblem::CutShort),
            Event::Eof => return Err(MapProblem::NotAMap),
            _ => {}
        }
    }
}

/// The thing that an element starts, if it is wanted.
fn opened(start: &BytesStart<'_>, pass: Pass) -> Result<Option<Thing>, MapProblem> {
    let wanted = match start.name().as_ref() {
        "node" => pass == Pass::Nodes,
        "way" | "relation" => pass == Pass::WaysAndRelations,
        _ => false,
    };
    if !wanted {
        return Ok(None);
    }
    let number = |name: &str| -> Result<i64, MapProblem> {
        let text = attribute(start, name)?;
        text.and_then(|text| text.parse().ok())
            .ok_or_else(|| MapProblem::damaged(&format!("an element has no number `{name}`")))
    };
    Ok(Some(match start.name().as_ref() {
        "node" => {
            let (latitude, longitude) = (attribute(start, "lat")?, attribute(start, "lon")?);
            let place = latitude.zip(longitude);
            let place = place.and_then(|(lat, lon)| Coordinates::parse(&lat, &lon).ok());
            Thing::Node { id: number("id")?, place }
        }
        "way" => Thing::Way { id: number("id")?, nodes: Vec::new() },
        _ => Thing::Relation { members: Vec::new() },
    }))
}

/// What stands in a thing.
fn inside(
    start: &BytesStart<'_>,
    open: Option<&mut Thing>,
    tags: &mut Tags<'_>,
) -> Result<(), MapProblem> {
    let Some(open) = open else { return Ok(()) };
    let owned = |text: Cow<'_, str>| Cow::Owned::<'static, str>(text.into_owned());
    let reference = || -> Result<Option<i64>, MapProblem> {
        Ok(attribute(start, "ref")?.and_then(|text| text.parse().ok()))
    };
    match (start.name().as_ref(), open) {
        ("tag", _) => {
            if let (Some(key), Some(value)) = (attribute(start, "k")?, attribute(start, "v")?) {
                tags.0.push((owned(key), owned(value)));
            }
        }
        ("nd", Thing::Way { nodes, .. }) => nodes.extend(reference()?),
        ("member", Thing::Relation { members }) => {
            let is = match attribute(start, "type")?.as_deref() {
                Some("node") => MemberIs::Node,
                Some("way") => MemberIs::Way,
                _ => MemberIs::Other,
            };
            let role = attribute(start, "role")?.as_deref().map_or(Role::Other, Role::of);
            members.extend(reference()?.map(|id| Member { is, id, role }));
        }
        _ => {}
    }
    Ok(())
}

fn give(thing: Thing, tags: &Tags<'_>, take: &mut impl Take) {
    match thing {
        Thing::Node { id, place } => take.node(id, place, tags),
        Thing::Way { id, nodes } => take.way(id, nodes, tags),
        Thing::Relation { members } => take.relation(&members, tags),
    }
}

/// The value of an attribute, if it is there.
fn attribute<'a>(
    start: &'a BytesStart<'_>,
    name: &str,
) -> Result<Option<Cow<'a, str>>, MapProblem> {
    let found = start.try_get_attribute(name).map_err(|e| MapProblem::damaged(&e.to_string()))?;
    let Some(found) = found else { return Ok(None) };
    let value = found.normalized_value(XmlVersion::Implicit1_0);
    let value = value.map_err(|error| MapProblem::damaged(&error.to_string()))?;
    Ok(Some(value.into_owned().into()))
}

fn problem(error: quick_xml::Error) -> MapProblem {
    match error {
        quick_xml::Error::Io(error) => {
            let same = std::io::Error::new(error.kind(), error.to_string());
            MapProblem::from_io(same)
        }
        quick_xml::Error::Syntax(_) | quick_xml::Error::IllFormed(_) => MapProblem::CutShort,
        other => MapProblem::damaged(&other.to_string()),
    }
}
