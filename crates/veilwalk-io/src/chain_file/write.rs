//! Writing a chain: a table of transitions, in the order of the states.

use std::io::Write;

use veilwalk::chain::Chain;

use super::starts;
use crate::write_error::{WriteError, WriteErrorKind};

/// What is written of a chain beside its moves.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChainText<'a> {
    /// Lines that say where the chain comes from. Each becomes a comment at the top.
    pub comments: &'a [String],
    /// The count of each transition, in the chain's order, to be written instead of the probability.
    pub counts: Option<&'a [f64]>,
    /// Whether a comment says where walks start.
    pub initial: InitialText,
}

/// Whether the file of a chain says where its walks start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialText {
    /// No: they start anywhere alike, or a file of its own says it.
    #[default]
    LeftOut,
    /// In a comment.
    InAComment,
}

/// Writes a chain as a table `from,to,probability`.
///
/// # Errors
///
/// As [`write_chain_with`].
pub fn write_chain(chain: &Chain, out: impl Write) -> Result<(), WriteError> {
    write_chain_with(chain, ChainText::default(), out)
}

/// Writes a chain as a table `from,to,probability`, or `from,to,count` if there are counts, with a column `length` if
/// its moves have lengths. Where its states lie is for [`write_places`](crate::write_places).
///
/// Read back with [`read_chain`](crate::read_chain) it has the same states in the same order and the
/// same transitions. Numbers are written with as many digits as it takes to read the same
/// number again; the reader divides each row by its sum, which can change their last digits.
///
/// The initial distribution is written as a comment if that is asked for;
/// [`write_initial`](crate::write_initial) writes it to a file of its own.
///
/// # Errors
///
/// If writing fails, or a state's label is empty, which no file can hold.
pub fn write_chain_with(
    chain: &Chain,
    text: ChainText<'_>,
    mut out: impl Write,
) -> Result<(), WriteError> {
    let initial = match text.initial {
        InitialText::LeftOut => None,
        InitialText::InAComment => Some(starts::comment(chain)),
    };
    for comment in text.comments.iter().chain(&initial) {
        writeln!(out, "# {comment}").map_err(|error| WriteError::io(NAME, error))?;
    }
    let mut table = csv::Writer::from_writer(out);
    let entry = if text.counts.is_some() { "count" } else { "probability" };
    let lengths = chain.places().and_then(|places| places.lengths.as_deref());
    put(&mut table, ["from", "to", entry].into_iter().chain(lengths.map(|_| "length")))?;
    for from in chain.states() {
        if chain.label(from).is_empty() {
            let kind = WriteErrorKind::EmptyLabel(from.index());
            return Err(WriteError::new(NAME, kind));
        }
        let row = match text.counts {
            Some(counts) => &counts[chain.row(from)],
            None => chain.probabilities(from),
        };
        for ((place, to), entry) in chain.row(from).zip(chain.successors(from)).zip(row) {
            let length = lengths.map(|lengths| lengths[place].to_string());
            let fields = [chain.label(from), chain.label(*to), &format!("{entry:?}")];
            put(&mut table, fields.into_iter().chain(length.as_deref()))?;
        }
    }
    table.flush().map_err(|error| WriteError::io(NAME, error))
}

/// What messages call an output whose name is not known here.
const NAME: &str = "output";

fn put<'a>(
    table: &mut csv::Writer<impl Write>,
    fields: impl IntoIterator<Item = &'a str>,
) -> Result<(), WriteError> {
    let written = table.write_record(fields);
    written.map_err(|error| WriteError::csv(NAME, error))
}
