//! All pairs at once, for chains in which a large part of all moves is possible.
//!
//! Kleene's recursion on a matrix of square tiles: shortest paths among the first half of the states,
//! among the second with the ways through the first, and back. Apart from single tiles all of that is
//! products of matrices, in which times is plus and plus is the minimum; and a product of matrices is
//! made of products of their quarters, so most of its work is done on what the caches hold.
//!
//! # Complexity
//!
//! |S|³ additions and minima of 32-bit integers, eight or sixteen at a time, whatever the weights
//! are. Beside the matrix itself, half of it is held as copies.
//!
//! # Literature
//!
//! Floyd (1962); Aho, Hopcroft and Ullman (1974), section 5.9, for the recursion; Park, Penner and
//! Prasanna (2004) for what it does for caches.

mod quarters;
mod tile;

use rayon::prelude::*;

use self::tile::{FAR, SIDE, Tile};
use crate::chain::{Chain, StateId};
use crate::nats::Nats;

/// The distances to each state in turn, from every state; `None` if some are beyond about 2048 nats.
pub(super) fn all_pairs(chain: &Chain) -> Option<Vec<Nats>> {
    let states = chain.len();
    let side = states.div_ceil(SIDE);
    let order = quarters::order(side);
    let mut tiles: Vec<Tile> =
        order.par_iter().map(|&(row, column)| moves(chain, row, column)).collect();
    quarters::close(side, &mut tiles);

    let mut stored = vec![0; side * side];
    for (place, &(row, column)) in order.iter().enumerate() {
        stored[column * side + row] = place;
    }
    let mut rows = vec![Nats::ZERO; states * states];
    let bands = rows.par_chunks_mut(states * SIDE).zip(stored.par_chunks(side));
    let all_near = bands.map(|(band, stored)| {
        stored.iter().enumerate().all(|(from, &place)| turn(&tiles[place], from, states, band))
    });
    all_near.reduce(|| true, |a, b| a && b).then_some(rows)
}

/// The moves from the states of one row of tiles to those of one column.
fn moves(chain: &Chain, row: usize, column: usize) -> Tile {
    let mut tile = Tile::EMPTY;
    let (first, end) = (column * SIDE, (column + 1) * SIDE);
    let froms = (row * SIDE..chain.len()).map(StateId::new);
    for (from, weights) in froms.zip(&mut tile.0) {
        let successors = chain.successors(from);
        let start = successors.partition_point(|to| to.index() < first);
        let moves = successors.iter().zip(chain.weights(from)).skip(start);
        for (to, weight) in moves.take_while(|(to, _)| to.index() < end) {
            weights[to.index() - first] = weight.units().min(FAR);
        }
        if row == column {
            weights[from.index() - first] = 0;
        }
    }
    tile
}

/// Writes a tile in the row of tiles `from` into a band of rows, one for each target, and says whether
/// all its distances are known.
fn turn(tile: &Tile, from: usize, states: usize, band: &mut [Nats]) -> bool {
    let (first, end) = (from * SIDE, ((from + 1) * SIDE).min(states));
    let tile = tile.turned();
    band.chunks_mut(states).zip(&tile.0).all(|(row, distances)| {
        let row = &mut row[first..end];
        let distances = &distances[..row.len()];
        row.iter_mut().zip(distances).for_each(|(slot, &units)| *slot = Nats::from_units(units));
        distances.iter().all(|&units| units < FAR)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{ChainBuilder, Entries};

    #[test]
    fn what_is_too_far_is_left_to_the_searches() {
        // Ever onward at 690 nats a move, or back to the start.
        let mut builder = ChainBuilder::new(Entries::Counts);
        let ids: Vec<StateId> = (0..8).map(|i| builder.state(&i.to_string())).collect();
        for i in 0..7 {
            builder.transition(ids[i], ids[i + 1], 1e-300).unwrap();
            builder.transition(ids[i], ids[0], 1.0).unwrap();
        }
        builder.transition(ids[7], ids[0], 1.0).unwrap();
        let chain = builder.build(Default::default()).unwrap().0;
        assert_eq!(all_pairs(&chain), None);
    }
}
