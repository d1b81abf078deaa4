//! Writing a chain: a table of transitions, in the order of the states.

use std::io::Write;

use veilwalk::chain::Chain;

use crate::write_error::{WriteError, WriteErrorKind};

/// Writes a chain as a table `from,to,probability`.
///
/// Read back with [`read_chain`](crate::read_chain) it has the same states in the same order and the
/// same transitions. Probabilities are written with as many digits as it takes to read the same
/// number again; the reader divides each row by its sum, which can change their last digits.
///
/// The initial distribution is not written.
///
/// # Errors
///
/// If writing fails, or a state's label is empty, which no file can hold.
pub fn write_chain(chain: &Chain, out: impl Write) -> Result<(), WriteError> {
    let mut table = csv::Writer::from_writer(out);
    put(&mut table, ["from", "to", "probability"])?;
    for from in chain.states() {
        if chain.label(from).is_empty() {
            let kind = WriteErrorKind::EmptyLabel(from.index());
            return Err(WriteError::new(NAME, kind));
        }
        for (to, p) in chain.successors(from).iter().zip(chain.probabilities(from)) {
            put(&mut table, [chain.label(from), chain.label(*to), &format!("{p:?}")])?;
        }
    }
    table.flush().map_err(|error| WriteError::io(NAME, error))
}

/// What messages call an output whose name is not known here.
const NAME: &str = "output";

fn put(table: &mut csv::Writer<impl Write>, fields: [&str; 3]) -> Result<(), WriteError> {
    let written = table.write_record(fields);
    written.map_err(|error| WriteError::csv(NAME, error))
}
