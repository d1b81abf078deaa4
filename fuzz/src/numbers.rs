//! Numbers and names that people write on the command line and in files.

use std::fmt::Display;
use std::str::FromStr;

use veilwalk::mechanism::{ChainWeight, LeastShare};
use veilwalk::{BlockLength, Epsilon, Radius, Rational, ReleaseId};
use veilwalk_ledger::Window;

use crate::{Outcome, taken};

/// Any text as each of them: what is taken and shown is taken again, and is the same.
pub(crate) fn numbers(data: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(data) else { return Outcome::Refused };
    let all = [
        again::<Rational>(text),
        again::<Epsilon>(text),
        again::<Radius>(text),
        again::<ChainWeight>(text),
        again::<LeastShare>(text),
        alone::<BlockLength>(text),
        again::<ReleaseId>(text),
        again::<Window>(text),
        alone::<veilwalk_prepare::Zone>(text),
        alone::<veilwalk_prepare::Window>(text),
        alone::<veilwalk_prepare::Places>(text),
        alone::<veilwalk::chain::Length>(text),
    ];
    all.contains(&true).then_some(()).into()
}

fn again<T>(text: &str) -> bool
where
    T: FromStr<Err: Display> + Display + PartialEq + std::fmt::Debug,
{
    let Some(value) = taken(text.parse::<T>()) else { return false };
    let shown = value.to_string();
    match shown.parse::<T>() {
        Ok(once_more) => assert_eq!(value, once_more, "{shown:?}"),
        Err(error) => panic!("{text:?} is shown as {shown:?}, and then: {error}"),
    }
    true
}

fn alone<T: FromStr<Err: Display>>(text: &str) -> bool {
    taken(text.parse::<T>()).is_some()
}
