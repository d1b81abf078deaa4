//! Rows of a table put together into walks: by trajectory, in the order of the steps.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, downcast_integer_array};
use arrow_cast::cast;
use arrow_schema::DataType;
use rustc_hash::FxHashMap;

use crate::column::{BadValue, as_texts};

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

/// Collects the walk of every row.
#[derive(Debug, Default)]
struct Collected {
    names: Vec<String>,
    by_name: FxHashMap<String, u32>,
    walk_of_row: Vec<u32>,
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

    /// Texts, most of which are those of the row before.
    fn texts<'a>(&mut self, texts: impl Iterator<Item = Option<&'a str>>) -> Result<(), BadValue> {
        let mut last: Option<(&str, u32)> = None;
        for text in texts {
            let Some(text) = text else { return Err(missing(self.walk_of_row.len())) };
            let walk = match last {
                Some((same, walk)) if same == text => walk,
                _ => self.walk(text),
            };
            last = Some((text, walk));
            self.walk_of_row.push(walk);
        }
        Ok(())
    }

    fn dictionary(&mut self, array: &ArrayRef) -> Result<(), BadValue> {
        let dictionary = array.as_any_dictionary();
        let values = as_texts(dictionary.values());
        // Only values that are used are walks.
        let mut walks: Vec<Option<u32>> = vec![None; values.len()];
        let (nulls, keys) = (array.logical_nulls(), dictionary.normalized_keys());
        for (row, &key) in keys.iter().enumerate() {
            let here = self.walk_of_row.len();
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Err(missing(here));
            }
            let walk = match (walks[key], &values[key]) {
                (Some(walk), _) => walk,
                (None, Some(name)) => *walks[key].insert(self.walk(name)),
                (None, None) => return Err(missing(here)),
            };
            self.walk_of_row.push(walk);
        }
        Ok(())
    }

    fn integers(&mut self, array: &ArrayRef) -> Result<(), BadValue> {
        downcast_integer_array!(
            array => {
                let mut last = None;
                for number in array.iter() {
                    let Some(number) = number else { return Err(missing(self.walk_of_row.len())) };
                    let walk = match last {
                        Some((same, walk)) if same == number => walk,
                        _ => self.walk(&number.to_string()),
                    };
                    last = Some((number, walk));
                    self.walk_of_row.push(walk);
                }
            }
            _ => {}
        );
        Ok(())
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
                DataType::Utf8 => collected.texts(array.as_string::<i32>().iter()),
                DataType::LargeUtf8 => collected.texts(array.as_string::<i64>().iter()),
                DataType::Utf8View => collected.texts(array.as_string_view().iter()),
                DataType::Dictionary(_, values)
                    if matches!(
                        **values,
                        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
                    ) =>
                {
                    collected.dictionary(array)
                }
                kind if kind.is_integer() => collected.integers(array),
                other => return Err(NotGrouped::TrajectoryType(other.clone())),
            };
            read.map_err(NotGrouped::Trajectory)?;
        }
        let Collected { names, walk_of_row, .. } = collected;
        let mut bounds = vec![0usize; names.len() + 1];
        for &walk in &walk_of_row {
            bounds[walk as usize + 1] += 1;
        }
        for walk in 0..names.len() {
            bounds[walk + 1] += bounds[walk];
        }
        // Walks are numbered as they begin, so rows that stand together are in ascending order.
        let order = (!walk_of_row.is_sorted()).then(|| {
            let mut next = bounds.clone();
            let mut order = vec![0u32; walk_of_row.len()];
            for (row, &walk) in walk_of_row.iter().enumerate() {
                order[next[walk as usize]] = row as u32;
                next[walk as usize] += 1;
            }
            order
        });
        let mut groups = Self { names, bounds, order };
        if let Some(steps) = steps {
            groups.sort_by_step(steps)?;
        }
        Ok(groups)
    }

    /// Puts the rows of each walk in the order of their steps, and refuses a step that is there twice.
    fn sort_by_step(&mut self, steps: &[ArrayRef]) -> Result<(), NotGrouped> {
        let mut numbers: Vec<i64> = Vec::new();
        for array in steps {
            let kind = array.data_type();
            if !(kind.is_integer() || kind.is_temporal()) {
                return Err(NotGrouped::StepType(kind.clone()));
            }
            let array =
                cast(array, &DataType::Int64).map_err(|_| NotGrouped::StepType(kind.clone()))?;
            for number in array.as_primitive::<Int64Type>() {
                let why = "a missing value (null); every row needs a step";
                let Some(number) = number else {
                    return Err(NotGrouped::Step(BadValue { row: numbers.len(), why: why.into() }));
                };
                numbers.push(number);
            }
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
