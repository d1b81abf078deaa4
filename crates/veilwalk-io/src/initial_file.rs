//! Where walks start, or where they end, as a table `state,probability`.
//!
//! States that are not in the file have probability zero.

use std::io::{Read, Write};
use std::path::Path;

use veilwalk::chain::{Chain, Initial};

use crate::lines::Lines;
use crate::read_error::{ReadError, ReadErrorKind};
use crate::shares_table::{read_shares, write_shares};
use crate::write_error::WriteError;

const HEADER: &str = "state,probability";

/// Reads an initial distribution from a file with the columns `state` and `probability`, separated
/// by a comma or a tab, in any order.
///
/// States that are not in the file have probability zero.
///
/// # Errors
///
/// If the file cannot be read, names a state that the chain does not have, names one twice, has an
/// entry that is not a number from zero up, or its entries do not sum to one (within 10⁻⁶).
pub fn read_initial(path: &Path, chain: &Chain) -> Result<Initial, ReadError> {
    read_lines(Lines::open(path)?, chain)
}

/// Reads an initial distribution from anything, as [`read_initial`] does from a file. Messages call
/// it `name`.
///
/// # Errors
///
/// As [`read_initial`].
pub fn read_initial_from(
    input: impl Read,
    name: &str,
    chain: &Chain,
) -> Result<Initial, ReadError> {
    read_lines(Lines::new(input, name), chain)
}

/// Writes the initial distribution of a chain as a table `state,probability`, without states that no walk
/// starts in.
///
/// # Errors
///
/// If writing fails.
pub fn write_initial(chain: &Chain, out: impl Write) -> Result<(), WriteError> {
    write_distribution(chain, chain.initial(), out)
}

/// Writes another distribution over the states of a chain, such as where walks end, as [`write_initial`] writes
/// its own.
///
/// # Errors
///
/// If writing fails.
pub fn write_distribution(
    chain: &Chain,
    distribution: &Initial,
    out: impl Write,
) -> Result<(), WriteError> {
    let share = |state| (chain.label(state), distribution.probability(state));
    write_shares("state", chain.states().map(share), out)
}

fn read_lines<R: Read>(lines: Lines<R>, chain: &Chain) -> Result<Initial, ReadError> {
    let place = |label: &str| {
        let state = chain.require(label).map_err(ReadErrorKind::UnknownState)?;
        Ok(state.index())
    };
    let make = |probabilities: Vec<f64>| {
        Initial::from_probabilities(chain, &probabilities).map_err(ReadErrorKind::Initial)
    };
    read_shares(lines, ("state", HEADER), chain.len(), place, make)
}
