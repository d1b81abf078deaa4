//! Ways, cut into streets at their junctions.

use std::ops::Range;

use hashbrown::{HashMap, HashSet};

use crate::osm::RawMap;

/// A part of a way between two junctions.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The way's place in the map.
    pub(super) way: usize,
    /// Which of its points.
    pub(super) nodes: Range<usize>,
}

/// All ways in pieces, and how many of their points are not in the file.
pub(super) fn pieces(map: &RawMap) -> (Vec<Piece>, usize) {
    let mut missing = 0;
    let mut parts = Vec::new();
    for (way, raw) in map.ways.iter().enumerate() {
        let mut start = 0;
        let gaps = (0..raw.nodes.len()).filter(|&at| !map.points.contains_key(&raw.nodes[at]));
        for gap in gaps.chain([raw.nodes.len()]) {
            missing += usize::from(gap < raw.nodes.len());
            if gap > start + 1 {
                parts.push(Piece { way, nodes: start..gap });
            }
            start = gap + 1;
        }
    }
    let junctions = junctions(map, &parts);
    let mut pieces = Vec::new();
    let mut of_way: Option<usize> = None;
    let mut ends = HashSet::new();
    for part in parts {
        if of_way.replace(part.way) != Some(part.way) {
            ends.clear();
        }
        let nodes = &map.ways[part.way].nodes;
        let mut start = part.nodes.start;
        for at in part.nodes.start + 1..part.nodes.end {
            if junctions.contains(&nodes[at]) {
                add(nodes, Piece { way: part.way, nodes: start..at + 1 }, &mut ends, &mut pieces);
                start = at;
            }
        }
    }
    (pieces, missing)
}

/// The points where parts of ways end, meet or are closed.
fn junctions(map: &RawMap, parts: &[Piece]) -> HashSet<i64> {
    let mut uses: HashMap<i64, u32> = HashMap::new();
    for part in parts {
        let nodes = &map.ways[part.way].nodes[part.nodes.clone()];
        for node in nodes {
            *uses.entry(*node).or_default() += 1;
        }
        for end in [nodes[0], nodes[nodes.len() - 1]] {
            *uses.entry(end).or_default() += 1;
        }
    }
    let several = uses.into_iter().filter(|&(_, uses)| uses > 1).map(|(node, _)| node);
    several.chain(map.stops.iter().copied()).collect()
}

/// Adds a piece. Two pieces of one way between the same ends would have one name, and one that ends where it begins has no
/// direction: these are cut once more, in the middle.
fn add(nodes: &[i64], piece: Piece, ends: &mut HashSet<(i64, i64)>, pieces: &mut Vec<Piece>) {
    let (first, last) = (nodes[piece.nodes.start], nodes[piece.nodes.end - 1]);
    let inner = piece.nodes.len() - 2;
    if first != last && ends.insert((first.min(last), first.max(last))) {
        pieces.push(piece);
    } else if inner > 0 {
        let middle = piece.nodes.start + 1 + (inner - 1) / 2;
        for nodes_of_half in [piece.nodes.start..middle + 1, middle..piece.nodes.end] {
            add(nodes, Piece { way: piece.way, nodes: nodes_of_half }, ends, pieces);
        }
    }
}
