//! Promises in the words of people: stays, and persons with several walks.

use std::num::NonZeroU64;

use pyo3::prelude::*;
use serde_json::{Value, json};
use veilwalk::Rational;
use veilwalk::internal::request::{PersonTotal, Visit};

use crate::error::parameter_error;

/// How many states a stay of up to so long may have, on a clock.
#[pyfunction]
pub(crate) fn visit_substitutions(stay: &str, every: &str) -> PyResult<u32> {
    let count = parsed(stay, every)?.substitutions();
    let too_many = || parameter_error(format!("visit: {stay} is more states than can be counted"));
    count.map(u32::from).ok_or_else(too_many)
}

/// What a promise for each walk comes to for somebody with so many, in words.
#[pyfunction]
pub(crate) fn person_total(epsilon: &str, walks: u64) -> PyResult<String> {
    let epsilon = epsilon.parse::<Rational>().map_err(parameter_error)?;
    Ok(total(epsilon, walks)?.to_string())
}

/// What a guarantee says beside, of a stay and of persons: adds it to the figures, and gives the words.
pub(crate) fn in_words(
    figures: &mut Value,
    epsilon: Rational,
    visit: Option<(String, String)>,
    walks_per_person: Option<u64>,
) -> PyResult<(Option<String>, Option<String>)> {
    let visit = visit.map(|(stay, every)| parsed(&stay, &every)).transpose()?;
    if let Some(visit) = visit {
        figures["visit"] = json!({
            "stay": visit.stay.to_string(),
            "every": visit.every.to_string(),
            "substitutions": visit.substitutions(),
            "in_words": visit.to_string(),
        });
    }
    let person = walks_per_person.map(|walks| total(epsilon, walks)).transpose()?;
    if let Some(person) = person {
        figures["person"] = json!({
            "walks": person.walks,
            "epsilon": person.total().map(|total| total.to_string()),
            "in_words": person.to_string(),
        });
    }
    Ok((visit.map(|visit| visit.to_string()), person.map(|person| person.to_string())))
}

fn parsed(stay: &str, every: &str) -> PyResult<Visit> {
    let span = |name: &str, text: &str| {
        text.parse().map_err(|error| parameter_error(format!("{name}: {error}")))
    };
    Ok(Visit { stay: span("visit", stay)?, every: span("every", every)? })
}

fn total(epsilon: Rational, walks: u64) -> PyResult<PersonTotal> {
    let walks = NonZeroU64::new(walks)
        .ok_or_else(|| parameter_error("walks_per_person: give a whole number from 1 up"))?;
    Ok(PersonTotal { epsilon, walks })
}
