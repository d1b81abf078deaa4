//! How many moves walks have, as a table `moves,probability`.
//!
//! Numbers of moves that are not in the file have probability zero.

use std::io::{Read, Write};
use std::path::Path;

use veilwalk::chain::{FitTerms, WalkLengths};

use crate::lines::Lines;
use crate::read_error::{ReadError, ReadErrorKind, shortened};
use crate::shares_table::{read_shares, write_shares};
use crate::write_error::WriteError;

const HEADER: &str = "moves,probability";

/// Reads how many moves walks have from a file with the columns `moves` and `probability`, separated by a comma or
/// a tab, in any order.
///
/// # Errors
///
/// If the file cannot be read, names a number of moves twice or one that is beyond the limit of
/// [`FitTerms::LONGEST`], has an entry that is not a number from zero up, or its entries do not sum to one (within 10⁻⁶).
pub fn read_lengths(path: &Path) -> Result<WalkLengths, ReadError> {
    read_lines(Lines::open(path)?)
}

/// Reads lengths from anything, as [`read_lengths`] does from a file. Messages call it `name`.
///
/// # Errors
///
/// As [`read_lengths`].
pub fn read_lengths_from(input: impl Read, name: &str) -> Result<WalkLengths, ReadError> {
    read_lines(Lines::new(input, name))
}

/// Writes lengths as a table `moves,probability`, without those that no walk has.
///
/// # Errors
///
/// If writing fails.
pub fn write_lengths(lengths: &WalkLengths, out: impl Write) -> Result<(), WriteError> {
    let share = |moves: usize| (moves.to_string(), lengths.probability(moves));
    write_shares("moves", (0..=lengths.longest()).map(share), out)
}

fn read_lines<R: Read>(lines: Lines<R>) -> Result<WalkLengths, ReadError> {
    let place = |text: &str| {
        let moves = text.trim().parse::<u32>().ok().filter(|&moves| moves <= FitTerms::LONGEST);
        let not_moves = || ReadErrorKind::NotMoves { found: shortened(text) };
        moves.map(|moves| moves as usize).ok_or_else(not_moves)
    };
    let make = |probabilities: Vec<f64>| {
        WalkLengths::from_probabilities(&probabilities).map_err(ReadErrorKind::Lengths)
    };
    read_shares(lines, ("moves", HEADER), 0, place, make)
}
