//! Matrices of tiles that fall apart into quarters, each of which is one run of memory.
//!
//! A matrix is stored as its four quarters, one after another: upper left, upper right, lower left,
//! lower right. Each is stored in the same way, down to single tiles. So whatever the size of a cache,
//! a product soon gets down to parts that fit into it and does all it has to do with them, and the
//! quarters of a result can be worked on at the same time.

use rayon::prelude::*;

use super::tile::Tile;

/// Tiles along the side of a matrix from which on its parts are worth a thread of their own.
const SHARED_FROM: usize = 8;

/// How many of `length` tiles are in the first half.
fn half(length: usize) -> usize {
    length.div_ceil(2)
}

/// How many tiles each of the first three quarters has.
fn quarters(rows: usize, columns: usize) -> [usize; 3] {
    let (above, left) = (half(rows), half(columns));
    [above * left, above * (columns - left), (rows - above) * left]
}

/// The row and the column of each tile of a square matrix, in the order in which they are stored.
pub(super) fn order(side: usize) -> Vec<(usize, usize)> {
    fn add(order: &mut Vec<(usize, usize)>, top: usize, left: usize, rows: usize, columns: usize) {
        if rows * columns <= 1 {
            order.extend((rows * columns == 1).then_some((top, left)));
            return;
        }
        let (above, before) = (half(rows), half(columns));
        add(order, top, left, above, before);
        add(order, top, left + before, above, columns - before);
        add(order, top + above, left, rows - above, before);
        add(order, top + above, left + before, rows - above, columns - before);
    }
    let mut order = Vec::with_capacity(side * side);
    add(&mut order, 0, 0, side, side);
    order
}

/// A matrix, or a quarter of one.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    rows: usize,
    columns: usize,
    tiles: &'a [Tile],
}

impl<'a> Matrix<'a> {
    fn new(rows: usize, columns: usize, tiles: &'a [Tile]) -> Self {
        Self { rows, columns, tiles }
    }

    fn quarters(self) -> [Self; 4] {
        let (above, left) = (half(self.rows), half(self.columns));
        let (below, right) = (self.rows - above, self.columns - left);
        let [a, b, c] = quarters(self.rows, self.columns);
        let (a, rest) = self.tiles.split_at(a);
        let (b, rest) = rest.split_at(b);
        let (c, d) = rest.split_at(c);
        [
            Self::new(above, left, a),
            Self::new(above, right, b),
            Self::new(below, left, c),
            Self::new(below, right, d),
        ]
    }
}

fn quarters_mut(rows: usize, columns: usize, tiles: &mut [Tile]) -> [&mut [Tile]; 4] {
    let [a, b, c] = quarters(rows, columns);
    let (a, rest) = tiles.split_at_mut(a);
    let (b, rest) = rest.split_at_mut(b);
    let (c, d) = rest.split_at_mut(c);
    [a, b, c, d]
}

/// Shortest paths among the states of a square matrix.
pub(super) fn close(side: usize, tiles: &mut [Tile]) {
    // The largest copies are of two quarters; all others fit where those are.
    let [_, b, c] = quarters(side, side);
    let mut copies: Vec<Tile> = (0..b + c).into_par_iter().map(|_| Tile::EMPTY).collect();
    close_with(side, tiles, &mut copies);
}

/// By Kleene's rule for the quarters of a matrix: first the ways that stay in the first half of the
/// states, then those that go through it from the second half to the second, then those that stay in
/// the second with these, then those that go through that.
fn close_with(side: usize, tiles: &mut [Tile], copies: &mut [Tile]) {
    if let [tile] = tiles {
        return tile.close();
    }
    let first = half(side);
    let second = side - first;
    let [a, b, c, d] = quarters_mut(side, side, tiles);
    close_with(first, a, copies);
    let closed = Matrix::new(first, first, a);
    let (from, to) = copy(b, c, copies);
    rayon::join(
        || relax(b, closed, Matrix::new(first, second, from)),
        || relax(c, Matrix::new(second, first, to), closed),
    );
    relax(d, Matrix::new(second, first, c), Matrix::new(first, second, b));
    close_with(second, d, copies);
    let closed = Matrix::new(second, second, d);
    let (from, to) = copy(b, c, copies);
    rayon::join(
        || relax(b, Matrix::new(first, second, from), closed),
        || relax(c, closed, Matrix::new(second, first, to)),
    );
    relax(a, Matrix::new(first, second, b), Matrix::new(second, first, c));
}

/// Two quarters as they are now.
fn copy<'a>(b: &[Tile], c: &[Tile], copies: &'a mut [Tile]) -> (&'a [Tile], &'a [Tile]) {
    let (from, rest) = copies.split_at_mut(b.len());
    let to = &mut rest[..c.len()];
    rayon::join(|| from.copy_from_slice(b), || to.copy_from_slice(c));
    (from, to)
}

/// `out = min(out, left ⊗ right)`: the best way through any state between the two.
fn relax(out: &mut [Tile], left: Matrix<'_>, right: Matrix<'_>) {
    let (rows, columns) = (left.rows, right.columns);
    match (&mut *out, left.tiles, right.tiles) {
        ([], ..) | (_, [], _) => return,
        ([out], [left], [right]) => return out.relax(left, right),
        _ => {}
    }
    let [out_a, out_b, out_c, out_d] = quarters_mut(rows, columns, out);
    let ([a, b, c, d], [e, f, g, h]) = (left.quarters(), right.quarters());
    // What one ends with, the next begins with.
    let mut upper_left = || (relax(out_a, a, e), relax(out_a, b, g));
    let mut upper_right = || (relax(out_b, b, h), relax(out_b, a, f));
    let mut lower_right = || (relax(out_d, c, f), relax(out_d, d, h));
    let mut lower_left = || (relax(out_c, d, g), relax(out_c, c, e));
    if rows.max(columns) < SHARED_FROM {
        upper_left();
        upper_right();
        lower_right();
        lower_left();
    } else {
        rayon::join(
            || rayon::join(upper_left, upper_right),
            || rayon::join(lower_right, lower_left),
        );
    }
}
