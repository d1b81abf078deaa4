//! Rows of a table put together into walks: by trajectory, in the order of the steps.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, downcast_integer_array};
use arrow_buffer::ScalarBuffer;
use arrow_cast::cast;
use arrow_schema::DataType;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use veilwalk_io::{as_texts, is_text, keys_of};

use crate::column::BadValue;

/// Rows that one thread looks at in one go.
const ROWS: usize = 1 << 16;

/// Which rows make up which walk.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// The names of the walks, in the order in which they begin.
    pub(crate) names: Vec<String>,
    /// Walk `i` has the places `bounds[i]..bounds[i + 1]` of `order`.
    pub(crate) bounds: Vec<usize>,
    /// The rows, walk by walk and step by step; none if that is the order in which they stand.
    pub(crate) order: Option<Vec<u32>>,
}

/// Rows that stand together and belong to one walk.
#[derive(Clone, Copy, Debug)]
struct Run {
    walk: u32,
    start: usize,
    end: usize,
}

/// Collects the runs of a column of trajectories. Where one ends is found on all cores; only the
/// names of whole runs are looked up.
#[derive(Debug, Default)]
struct Collected {
    names: Vec<String>,
    by_name: FxHashMap<String, u32>,
    runs: Vec<Run>,
    rows: usize,
}

impl Collected {
    fn walk(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.by_name.get(name) {
            return known;
        }
        let walk = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), walk);
        walk
    }

    /// Adds the rows of an array; `same` says whether a row has the name of the one before.
    fn add<'a>(
        &mut self,
        array: &ArrayRef,
        same: impl Fn(usize) -> bool + Sync,
        name: impl Fn(usize) -> Cow<'a, str>,
    ) -> Result<(), BadValue> {
        if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            let first = (0..array.len()).find(|&row| nulls.is_null(row)).unwrap_or(0);
            return Err(missing(self.rows + first));
        }
        let rows = array.len();
        let parts = (0..rows.div_ceil(ROWS)).into_par_iter();
        let starts: Vec<Vec<usize>> = parts
            .map(|part| {
                let rows = part * ROWS..rows.min((part + 1) * ROWS);
                rows.filter(|&row| row == 0 || !same(row)).collect()
            })
            .collect();
        let mut starts = starts.into_iter().flatten().peekable();
        while let Some(start) = starts.next() {
            let end = starts.peek().copied().unwrap_or(rows);
            let walk = self.walk(&name(start));
            self.runs.push(Run { walk, start: self.rows + start, end: self.rows + end });
        }
        self.rows += rows;
        Ok(())
    }

    fn texts<'a>(
        &mut self,
        array: &ArrayRef,
        text: impl Fn(usize) -> &'a str + Sync,
    ) -> Result<(), BadValue> {
        self.add(array, |row| text(row) == text(row - 1), |row| text(row).into())
    }

    fn dictionary(&mut self, array: &ArrayRef) -> Result<(), BadValue> {
        let dictionary = array.as_any_dictionary();
        let (values, keys) = (as_texts(dictionary.values()), keys_of(dictionary));
        let name = |row: usize| values[keys[row] as usize].as_deref().unwrap_or_default().into();
        self.add(array, |row| keys[row] == keys[row - 1], name)
    }

    fn integers(&mut self, array: &ArrayRef) -> Result<(), BadValue> {
        let all = array;
        downcast_integer_array!(
            array => {
                let numbers = array.values();
                let same = |row: usize| numbers[row] == numbers[row - 1];
                self.add(all, same, |row| numbers[row].to_string().into())
            }
            _ => Ok(())
        )
    }

    fn into_groups(self) -> Groups {
        let mut bounds = vec![0usize; self.names.len() + 1];
        for run in &self.runs {
            bounds[run.walk as usize + 1] += run.end - run.start;
        }
        for walk in 0..self.names.len() {
            bounds[walk + 1] += bounds[walk];
        }
        // Walks are numbered as they begin, so rows that stand together are in ascending order.
        let order = (!self.runs.is_sorted_by_key(|run| run.walk)).then(|| {
            let mut next = bounds.clone();
            let mut order = vec![0u32; self.rows];
            for run in &self.runs {
                let place = &mut next[run.walk as usize];
                for row in run.start..run.end {
                    order[*place] = row as u32;
                    *place += 1;
                }
            }
            order
        });
        Groups { names: self.names, bounds, order }
    }
}

fn missing(row: usize) -> BadValue {
    BadValue { row, why: "a missing value (null); every row needs a trajectory".to_owned() }
}

/// Why rows cannot be put together.
#[derive(Debug)]
pub(crate) enum NotGrouped {
    Trajectory(BadValue),
    TrajectoryType(DataType),
    Step(BadValue),
    StepType(DataType),
}

/// The steps of all rows as numbers that can be compared, without a copy where they are such numbers.
fn step_numbers_of(steps: &[ArrayRef]) -> Result<ScalarBuffer<i64>, NotGrouped> {
    let mut chunks = Vec::with_capacity(steps.len());
    let mut rows = 0;
    for array in steps {
        let kind = array.data_type();
        if !(kind.is_integer() || kind.is_temporal()) {
            return Err(NotGrouped::StepType(kind.clone()));
        }
        let cast = cast(array, &DataType::Int64).map_err(|_| NotGrouped::StepType(kind.clone()))?;
        if let Some(nulls) = cast.nulls().filter(|nulls| nulls.null_count() > 0) {
            let first = (0..cast.len()).find(|&row| nulls.is_null(row)).unwrap_or(0);
            let why = match array.is_null(first) {
                true => "a missing value (null); every row needs a step",
                false => "a number beyond 2^63 - 1, the largest that a step can be",
            };
            return Err(NotGrouped::Step(BadValue { row: rows + first, why: why.into() }));
        }
        rows += cast.len();
        chunks.push(cast.as_primitive::<Int64Type>().values().clone());
    }
    Ok(match chunks.len() {
        1 => chunks.remove(0),
        _ => chunks.iter().flat_map(|chunk| chunk.iter().copied()).collect(),
    })
}

impl Groups {
    /// All rows are one walk.
    pub(crate) fn one(name: String, rows: usize) -> Self {
        Self { names: vec![name], bounds: vec![0, rows], order: None }
    }

    /// Groups rows by trajectory.
    pub(crate) fn new(
        trajectories: &[ArrayRef],
        steps: Option<&[ArrayRef]>,
    ) -> Result<Self, NotGrouped> {
        let mut collected = Collected::default();
        for array in trajectories {
            let read = match array.data_type() {
                DataType::Utf8 => {
                    let texts = array.as_string::<i32>();
                    collected.texts(array, |row| texts.value(row))
                }
                DataType::LargeUtf8 => {
                    let texts = array.as_string::<i64>();
                    collected.texts(array, |row| texts.value(row))
                }
                DataType::Utf8View => {
                    let texts = array.as_string_view();
                    collected.texts(array, |row| texts.value(row))
                }
                other if !is_text(other) => {
                    return Err(NotGrouped::TrajectoryType(other.clone()));
                }
                DataType::Dictionary(_, _) => collected.dictionary(array),
                _ => collected.integers(array),
            };
            read.map_err(NotGrouped::Trajectory)?;
        }
        let mut groups = collected.into_groups();
        if let Some(steps) = steps {
            groups.sort_by_step(steps)?;
        }
        Ok(groups)
    }

    /// Puts the rows of each walk in the order of their steps, and refuses a step that is there twice.
    fn sort_by_step(&mut self, steps: &[ArrayRef]) -> Result<(), NotGrouped> {
        let numbers = step_numbers_of(steps)?;
        let row = |place: usize| self.order.as_ref().map_or(place, |order| order[place] as usize);
        let ascends = |ends: &[usize]| {
            (ends[0] + 1..ends[1]).all(|place| numbers[row(place - 1)] < numbers[row(place)])
        };
        if self.bounds.par_windows(2).all(ascends) {
            return Ok(());
        }
        let rows = match &self.order {
            Some(order) => Cow::Borrowed(order),
            None => Cow::Owned((0..numbers.len() as u32).collect()),
        };
        let sorted = self
            .bounds
            .windows(2)
            .all(|ends| rows[ends[0]..ends[1]].is_sorted_by_key(|&row| numbers[row as usize]));
        let mut rows = rows.into_owned();
        for (walk, ends) in self.bounds.windows(2).enumerate() {
            let rows = &mut rows[ends[0]..ends[1]];
            if !sorted {
                rows.sort_by_key(|&row| numbers[row as usize]);
            }
            let twice = rows.windows(2).find(|w| numbers[w[0] as usize] == numbers[w[1] as usize]);
            if let Some(twice) = twice {
                let (first, row) = (twice[0].min(twice[1]), twice[0].max(twice[1]) as usize);
                let why = format!(
                    "trajectory {:?} has step {} a second time (first in row {first}); each step has \
                     one state",
                    self.names[walk], numbers[row]
                );
                return Err(NotGrouped::Step(BadValue { row, why }));
            }
        }
        if !sorted {
            self.order = Some(rows);
        }
        Ok(())
    }

    /// The number of each row's step within its walk.
    pub(crate) fn step_numbers(&self) -> Vec<i64> {
        let mut numbers = vec![0; self.bounds.last().copied().unwrap_or(0)];
        for ends in self.bounds.windows(2) {
            for (step, place) in (ends[0]..ends[1]).enumerate() {
                let row = self.order.as_ref().map_or(place, |order| order[place] as usize);
                numbers[row] = step as i64;
            }
        }
        numbers
    }

    /// Values in the order of rows, put in the order of walks.
    pub(crate) fn gather(&self, by_row: Vec<u32>) -> Vec<u32> {
        match &self.order {
            None => by_row,
            Some(order) => order.iter().map(|&row| by_row[row as usize]).collect(),
        }
    }

    /// The way back.
    pub(crate) fn scatter(&self, by_walk: Vec<u32>) -> Vec<u32> {
        match &self.order {
            None => by_walk,
            Some(order) => {
                let mut by_row = vec![0; by_walk.len()];
                for (&row, value) in order.iter().zip(by_walk) {
                    by_row[row as usize] = value;
                }
                by_row
            }
        }
    }
}
