//! Maps in PBF, block by block.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use osmpbf::{BlobDecode, BlobReader, Element, ErrorKind, PrimitiveBlock, RelMemberType};
use veilwalk::chain::Coordinates;

use super::{Member, MemberIs, Pass, Role, Tags, Take};
use crate::error::MapProblem;

pub(super) fn read(
    input: impl Read + Send,
    pass: Pass,
    take: &mut impl Take,
) -> Result<(), MapProblem> {
    for blob in BlobReader::new(input) {
        let blob = blob.map_err(problem)?;
        // The decoder takes some numbers of a block on trust.
        let decoded = catch_unwind(AssertUnwindSafe(|| match blob.decode().map_err(problem)? {
            BlobDecode::OsmData(block) => {
                take_block(&block, pass, take);
                Ok(())
            }
            BlobDecode::OsmHeader(_) | BlobDecode::Unknown(_) => Ok(()),
        }));
        decoded.unwrap_or_else(|_| Err(MapProblem::damaged("a block cannot be read")))?;
    }
    Ok(())
}

fn take_block(block: &PrimitiveBlock, pass: Pass, take: &mut impl Take) {
    block.for_each_element(|element| match (pass, element) {
        (Pass::Nodes, Element::Node(node)) => {
            let place = Coordinates::new(node.decimicro_lat(), node.decimicro_lon()).ok();
            take.node(node.id(), place, &tags(node.tags()));
        }
        (Pass::Nodes, Element::DenseNode(node)) => {
            let place = Coordinates::new(node.decimicro_lat(), node.decimicro_lon()).ok();
            take.node(node.id(), place, &tags(node.tags()));
        }
        (Pass::WaysAndRelations, Element::Way(way)) => {
            let tags = tags(way.tags());
            if tags.get("highway").is_some() {
                take.way(way.id(), way.refs().collect(), &tags);
            }
        }
        (Pass::WaysAndRelations, Element::Relation(relation)) => {
            let tags = tags(relation.tags());
            if tags.get("type") == Some("restriction") {
                let members: Vec<Member> = relation
                    .members()
                    .map(|member| Member {
                        is: match member.member_type {
                            RelMemberType::Node => MemberIs::Node,
                            RelMemberType::Way => MemberIs::Way,
                            RelMemberType::Relation => MemberIs::Other,
                        },
                        id: member.member_id,
                        role: member.role().map_or(Role::Other, Role::of),
                    })
                    .collect();
                take.relation(&members, &tags);
            }
        }
        _ => {}
    });
}

fn tags<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Tags<'a> {
    Tags(pairs.map(|(key, value)| (key.into(), value.into())).collect())
}

fn problem(error: osmpbf::Error) -> MapProblem {
    let text = error.to_string();
    match error.into_kind() {
        ErrorKind::Io(error) => MapProblem::from_io(error),
        ErrorKind::Protobuf { .. } if text.contains("nexpected end") => MapProblem::CutShort,
        _ => MapProblem::damaged(&text),
    }
}
