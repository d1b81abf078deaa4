//! Opening a model: mapped or copied into memory, then checked.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytemuck::{Pod, try_cast_slice};
use veilwalk::chain::{Chain, ChainHash, Initial};
use veilwalk::internal::chain::{ChainParts, StateLabels};
use veilwalk::internal::distance::{Cells, DistanceTable, Edges, Nearest, OwnDistances};
use veilwalk::internal::model::{TableOrigin, Tables};
use veilwalk::internal::storage::Storage;
use veilwalk::{Ground, Measure, Model, Nats};

use super::certified;
use super::layout::{HEADER, Kind, MAGIC, ModelProblem, inconsistent, verify};
use super::map::{Map, Mapped};
#[cfg(unix)]
use super::origin::Opened;
use crate::read_error::{ReadError, ReadErrorKind};

/// Whether the file starts as a compiled model does.
///
/// # Errors
///
/// If it cannot be read.
pub fn is_model(path: &Path) -> Result<bool, ReadError> {
    let fail = |error| {
        let kind = ReadErrorKind::from_io(error);
        ReadError::new(path.display().to_string().as_str(), None, kind)
    };
    let mut start = [0; MAGIC.len()];
    match File::open(path).and_then(|mut file| file.read_exact(&mut start)) {
        Ok(()) => Ok(start == MAGIC),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(fail(error)),
    }
}

/// Opens a compiled model. All of it is held against its checksums first.
///
/// A model of up to 16 MiB is read into memory. A larger one is mapped (on Unix; elsewhere it is read
/// too): processes that use it share its memory. Writing it anew with
/// [`write_model`](super::write_model) is safe, since the old file stays what it was for those who use
/// it. If some other program writes to the file in place, or cuts it short, then
/// [`Model::check_unchanged`] says so, and the releases of this crate end with an error.
///
/// # Errors
///
/// If it cannot be read, is no model, is of another version, or is not what was written.
pub fn read_model(path: &Path) -> Result<Model, ReadError> {
    open(path, LARGEST_COPY)
}

/// Models up to this size are read into memory, larger ones are mapped.
pub(super) const LARGEST_COPY: u64 = 16 << 20;

/// The same with another size.
pub(super) fn open(path: &Path, largest_copy: u64) -> Result<Model, ReadError> {
    let name = path.display().to_string();
    let fail = |kind| ReadError::new(name.as_str(), None, kind);
    let io = |error| fail(ReadErrorKind::from_io(error));
    let model = |problem| fail(ReadErrorKind::Model(problem));
    let file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    // Nothing can be mapped of an empty file.
    if length < HEADER as u64 {
        return Err(model(ModelProblem::NotAModel));
    }
    #[cfg(unix)]
    if length > largest_copy {
        let opened = Opened::new(file.try_clone().map_err(io)?).map_err(io)?;
        if let Some(map) = Map::of_file(opened.file()).map_err(io)? {
            let map = Arc::new(map);
            let sections = Sections::new(map.clone()).map_err(model)?;
            let origin: Arc<dyn TableOrigin> = Arc::new(opened.guard(&name, map));
            let made = sections.model(Some(origin)).map_err(model)?;
            let changed = |_| model(inconsistent("it was changed while it was opened"));
            return made.check_unchanged().map(|()| made).map_err(changed);
        }
    }
    let length = usize::try_from(length).map_err(|_| model(too_large(length)))?;
    let map = Map::read(&file, length).map_err(|error| match error.kind() {
        ErrorKind::OutOfMemory => model(too_large(length as u64)),
        _ => io(error),
    })?;
    Sections::new(Arc::new(map)).and_then(|sections| sections.model(None)).map_err(model)
}

fn too_large(length: u64) -> ModelProblem {
    ModelProblem::Inconsistent(format!("its {length} bytes do not fit the memory of this machine"))
}

/// The chain that [`chain_to_bytes`](super::chain_to_bytes) wrote. What can be computed of it is
/// compared, not trusted.
///
/// # Errors
///
/// If these are not such bytes, or are not what was written.
pub fn chain_from_bytes(bytes: &[u8]) -> Result<Chain, ModelProblem> {
    if bytes.len() < HEADER {
        return Err(ModelProblem::NotAModel);
    }
    let map = Map::copy_of(bytes).map_err(|e| ModelProblem::Inconsistent(e.to_string()))?;
    let chain = Sections::new(Arc::new(map))?.chain()?;
    let weighed = |state| {
        let weights = chain.probabilities(state).iter().map(|&p| Nats::weight_of(p));
        weights.eq(chain.weights(state).iter().copied())
    };
    if !chain.has_its_hash() || !chain.states().all(weighed) {
        return Err(inconsistent("its hash or its weights are not those of its moves"));
    }
    if !chain.states().all(|state| chain.state(chain.label(state)) == Some(state)) {
        return Err(inconsistent("its labels do not lead to its states"));
    }
    Ok(chain)
}

/// The sections of a file whose checksums fit.
pub(super) struct Sections {
    map: Arc<Map>,
    list: Vec<(Kind, Range<usize>)>,
}

impl Sections {
    fn new(map: Arc<Map>) -> Result<Self, ModelProblem> {
        Ok(Self { list: verify(map.bytes())?, map })
    }

    pub(super) fn range(&self, kind: Kind) -> Option<Range<usize>> {
        self.list.iter().find(|(there, _)| *there == kind).map(|(_, range)| range.clone())
    }

    pub(super) fn numbers<T: Pod + Send + Sync>(&self, kind: Kind) -> Result<&[T], ModelProblem> {
        let range = self.range(kind);
        let bytes = range.map(|range| &self.map.bytes()[range]);
        bytes.and_then(|bytes| try_cast_slice(bytes).ok()).ok_or_else(|| missing(kind))
    }

    /// Numbers that stay where they are; `None` if the file has no such section.
    fn in_place<T: Pod + Send + Sync>(
        &self,
        kind: Kind,
    ) -> Result<Option<Storage<T>>, ModelProblem> {
        let Some(range) = self.range(kind) else { return Ok(None) };
        let mapped = Mapped::new(&self.map, range).ok_or_else(|| missing(kind))?;
        Ok(Some(Storage::Shared(Arc::new(mapped))))
    }

    /// The metric that distances are taken from: nats if it is not said.
    fn ground(
        &self,
        chain: &Chain,
        directed: Option<&Arc<DistanceTable>>,
    ) -> Result<Ground, ModelProblem> {
        let Some(range) = self.range(Kind::Ground) else { return Ok(Ground::Nats) };
        let text = std::str::from_utf8(&self.map.bytes()[range]).unwrap_or_default();
        let (name, measure) = text.split_once(' ').ok_or_else(|| missing(Kind::Ground))?;
        let measure = Measure::ALL.into_iter().find(|known| known.name() == measure);
        let measure = measure.ok_or_else(|| missing(Kind::Ground))?;
        let ground = match (Ground::named(name), directed) {
            (Some(ground), _) => ground,
            (None, Some(table)) if name == "table" => {
                let own = OwnDistances::from_checked((**table).clone(), measure);
                Ground::Table(Arc::new(own))
            }
            _ => return Err(inconsistent("its distances are of an unknown metric")),
        };
        let fits = ground.measure() == measure && ground.check(chain).is_ok();
        if fits { Ok(ground) } else { Err(missing(Kind::Ground)) }
    }

    fn model(&self, origin: Option<Arc<dyn TableOrigin>>) -> Result<Model, ModelProblem> {
        let chain = self.chain()?;
        let mut tables = Tables { origin, ..Tables::default() };
        let table = |kind| -> Result<Option<Arc<DistanceTable>>, ModelProblem> {
            let Some(rows) = self.in_place::<Nats>(kind)? else { return Ok(None) };
            let table = DistanceTable::from_rows(chain.len(), rows);
            table.map(|table| Some(Arc::new(table))).ok_or_else(|| missing(kind))
        };
        let directed = table(Kind::Directed)?;
        tables.ground = self.ground(&chain, directed.as_ref())?;
        // Where the two directions are the same there is one table for both.
        let symmetric = match tables.ground.is_undirected() {
            true => directed.clone(),
            false => table(Kind::Symmetric)?,
        };
        tables.distances = directed.zip(symmetric);
        if self.range(Kind::IncomingStarts).is_some() {
            let starts = self.offsets(Kind::IncomingStarts)?;
            let states = self.required(Kind::IncomingStates)?;
            let edges = Edges::from_parts(starts, states, self.required(Kind::IncomingWeights)?);
            let edges = edges.filter(|edges| edges.states() == chain.len());
            tables.incoming = Some(edges.ok_or_else(|| missing(Kind::IncomingStarts))?);
        }
        let kinds = [
            (Nearest::Directed, Kind::CellAnswers, Kind::CellDistances),
            (Nearest::Symmetric, Kind::CellSymmetricAnswers, Kind::CellSymmetricDistances),
        ];
        for (nearest, answers, distances) in kinds {
            let Some(best) = self.in_place::<u16>(answers)? else { continue };
            let distances = self.in_place(distances)?.ok_or_else(|| missing(distances))?;
            let Some((_, symmetric)) = &tables.distances else {
                return Err(missing(Kind::Symmetric));
            };
            let cells = Cells::from_tables(&chain, symmetric, best, distances);
            let cells = cells.ok_or_else(|| missing(answers))?;
            tables.cells.push((nearest, Arc::new(cells)));
        }
        if let Some(range) = self.range(Kind::Certified) {
            let scales = certified::from_bytes(&self.map.bytes()[range]);
            let fits = |scales: &Vec<_>| {
                scales.iter().all(|each: &veilwalk::internal::model::Certified| each.fits(&chain))
            };
            tables.certified = scales.filter(fits).ok_or_else(|| missing(Kind::Certified))?;
        }
        Ok(Model::with_tables(chain, tables))
    }

    /// Offsets, as this machine counts.
    pub(super) fn offsets(&self, kind: Kind) -> Result<Vec<usize>, ModelProblem> {
        let offset = |&n: &u64| usize::try_from(n).map_err(|_| missing(kind));
        self.numbers(kind)?.iter().map(offset).collect()
    }

    fn required<T: Pod + Send + Sync>(&self, kind: Kind) -> Result<Storage<T>, ModelProblem> {
        self.in_place(kind)?.ok_or_else(|| missing(kind))
    }

    fn chain(&self) -> Result<Chain, ModelProblem> {
        let hash: [u8; 32] =
            self.numbers::<u8>(Kind::Hash)?.try_into().map_err(|_| missing(Kind::Hash))?;
        let text = std::str::from_utf8(self.numbers::<u8>(Kind::LabelText)?);
        let text = text.map_err(|_| missing(Kind::LabelText))?.to_owned();
        let slots = self.numbers::<u32>(Kind::LabelSlots)?.to_vec();
        let labels = StateLabels::from_parts(text, self.offsets(Kind::LabelEnds)?, slots);
        let initial = self.numbers::<u64>(Kind::Initial)?.to_vec();
        let parts = ChainParts {
            labels: labels.ok_or_else(|| missing(Kind::LabelEnds))?,
            row_starts: self.offsets(Kind::RowStarts)?,
            targets: self.required(Kind::Targets)?,
            probabilities: self.required(Kind::Probabilities)?,
            weights: self.required(Kind::Weights)?,
            initial: Initial::from_running_totals(initial).ok_or_else(|| missing(Kind::Initial))?,
            places: self.places()?,
            hash: ChainHash(hash),
        };
        let chain = Chain::from_parts(parts);
        chain.map_err(|error| ModelProblem::Inconsistent(error.to_string()))
    }
}

pub(super) fn missing(kind: Kind) -> ModelProblem {
    ModelProblem::Inconsistent(format!("its {} are missing or not of their size", kind.name()))
}
