//! Writing a model.

use std::io::{self, Write};
use std::path::Path;

use bytemuck::cast_slice;
use veilwalk::internal::chain::ChainParts;
use veilwalk::internal::distance::Nearest;
use veilwalk::internal::model::Certified;
use veilwalk::{Chain, Ground, Model};

use super::certified;
use super::layout::{ALIGNMENT, ENTRY, FIRST_VERSION, HEADER, Kind, MAGIC, VERSION, checksum};
use super::places::PlaceNumbers;
use crate::output::AtomicFile;
use crate::write_error::{WriteError, WriteErrorKind};

/// Writes a model with everything that has been computed of it, and these scales.
///
/// The chain always; the distances unless it is too large for a table; cells as far as they are
/// [ready](Model::ready_cells).
///
/// # Errors
///
/// If it cannot be written; then what was at the path before is still there.
pub fn write_model(model: &Model, scales: &[Certified], path: &Path) -> Result<(), WriteError> {
    let mut file = AtomicFile::create(path)?;
    let name = file.name().to_owned();
    let written = write_to(model, scales, &mut file);
    written.map_err(|error| WriteError::new(&name, WriteErrorKind::Io(error)))?;
    file.commit()
}

fn write_to(model: &Model, scales: &[Certified], out: &mut impl Write) -> io::Result<()> {
    refuse_big_endian()?;
    let chain = ChainNumbers::of(model.chain());
    let incoming_starts;
    let certified = certified::to_bytes(scales)?;
    let mut sections = chain.sections();
    if model.require_tables().is_ok() {
        sections.push((Kind::Directed, cast_slice(model.directed().rows())));
        if !model.ground().is_undirected() {
            sections.push((Kind::Symmetric, cast_slice(model.symmetric().rows())));
        }
    } else if let Some(searches) = model.searches() {
        let (starts, states, weights) = searches.incoming().parts();
        incoming_starts = u64s(starts);
        sections.push((Kind::IncomingStarts, cast_slice(&incoming_starts)));
        sections.push((Kind::IncomingStates, cast_slice(states)));
        sections.push((Kind::IncomingWeights, cast_slice(weights)));
    }
    let metric = format!("{} {}", model.ground(), model.measure().name());
    if *model.ground() != Ground::Nats {
        sections.push((Kind::Ground, metric.as_bytes()));
    }
    let kinds = [
        (Nearest::Directed, Kind::CellAnswers, Kind::CellDistances),
        (Nearest::Symmetric, Kind::CellSymmetricAnswers, Kind::CellSymmetricDistances),
    ];
    for (nearest, answers, distances) in kinds {
        if let Some(cells) = model.ready_cells(nearest) {
            sections.push((answers, cast_slice(cells.answers())));
            sections.push((distances, cast_slice(cells.all_distances())));
        }
    }
    if !scales.is_empty() {
        sections.push((Kind::Certified, &certified));
    }
    write_sections(&sections, out)
}

/// A chain as the bytes of a model that has nothing but the chain in it: exact to the last bit, and
/// small enough to be sent to another process.
///
/// # Errors
///
/// On a machine that orders the bytes of a number the other way round.
pub fn chain_to_bytes(chain: &Chain) -> io::Result<Vec<u8>> {
    refuse_big_endian()?;
    let mut bytes = Vec::new();
    write_sections(&ChainNumbers::of(chain).sections(), &mut bytes)?;
    Ok(bytes)
}

fn refuse_big_endian() -> io::Result<()> {
    if cfg!(target_endian = "big") {
        return Err(io::Error::other("compiled models need a little-endian machine"));
    }
    Ok(())
}

/// A chain in the numbers that its sections hold.
struct ChainNumbers {
    hash: [u8; 32],
    label_ends: Vec<u64>,
    row_starts: Vec<u64>,
    parts: ChainParts,
    places: PlaceNumbers,
}

impl ChainNumbers {
    fn of(chain: &Chain) -> Self {
        let parts = chain.parts();
        let (_, label_ends, _) = parts.labels.parts();
        Self {
            hash: chain.hash().0,
            label_ends: u64s(label_ends),
            row_starts: u64s(&parts.row_starts),
            places: PlaceNumbers::of(chain),
            parts,
        }
    }

    fn sections(&self) -> Vec<(Kind, &[u8])> {
        let parts = &self.parts;
        let (text, _, label_slots) = parts.labels.parts();
        let mut sections: Vec<(Kind, &[u8])> = vec![
            (Kind::Hash, &self.hash),
            (Kind::LabelEnds, cast_slice(&self.label_ends)),
            (Kind::LabelText, text.as_bytes()),
            (Kind::LabelSlots, cast_slice(label_slots)),
            (Kind::RowStarts, cast_slice(&self.row_starts)),
            (Kind::Targets, cast_slice(&parts.targets)),
            (Kind::Probabilities, cast_slice(&parts.probabilities)),
            (Kind::Weights, cast_slice(&parts.weights)),
            (Kind::Initial, cast_slice(parts.initial.running_totals())),
        ];
        sections.extend(self.places.sections());
        sections
    }
}

fn u64s(numbers: &[usize]) -> Vec<u64> {
    numbers.iter().map(|&n| n as u64).collect()
}

pub(super) fn write_sections(sections: &[(Kind, &[u8])], out: &mut impl Write) -> io::Result<()> {
    let mut list = Vec::with_capacity(sections.len() * ENTRY);
    let mut end = HEADER + sections.len() * ENTRY;
    for (kind, bytes) in sections {
        let start = end.next_multiple_of(ALIGNMENT);
        end = start + bytes.len();
        list.extend_from_slice(&(*kind as u32).to_le_bytes());
        list.extend_from_slice(&0u32.to_le_bytes());
        list.extend_from_slice(&(start as u64).to_le_bytes());
        list.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        list.extend_from_slice(&checksum(bytes));
    }
    let mut header = Vec::with_capacity(HEADER + list.len());
    header.extend_from_slice(&MAGIC);
    let newer = sections.iter().any(|(kind, _)| *kind as u32 >= Kind::Lengths as u32);
    let version = if newer { VERSION } else { FIRST_VERSION };
    header.extend_from_slice(&version.to_le_bytes());
    header.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    header.extend_from_slice(&(end as u64).to_le_bytes());
    let sum = checksum(&[header.as_slice(), &list].concat());
    header.extend_from_slice(&sum);
    header.extend_from_slice(&list);
    out.write_all(&header)?;
    let mut at = header.len();
    for (_, bytes) in sections {
        let start = at.next_multiple_of(ALIGNMENT);
        out.write_all(&vec![0; start - at])?;
        out.write_all(bytes)?;
        at = start + bytes.len();
    }
    Ok(())
}
