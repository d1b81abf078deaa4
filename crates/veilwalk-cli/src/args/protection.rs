//! `--allow-vacuous`: whether a promise covers anything on a chain, before anything is released under it.

use anyhow::{Result, bail};
use clap::Args;
use veilwalk::guarantee::Cover;
use veilwalk::mechanism::Unit;
use veilwalk::{Model, Promise};

use super::quoted;
use crate::terminal;

/// Releases that protect nothing, by flag.
#[derive(Debug, Args)]
pub(crate) struct ProtectionArgs {
    /// Release even if the guarantee is empty: no two different walks within the radius
    #[arg(long, help_heading = "Release")]
    allow_vacuous: bool,
}

impl ProtectionArgs {
    /// What the unit covers on this chain; an error if that is nothing.
    pub(crate) fn cover(&self, model: &Model, promise: Promise) -> Result<Cover> {
        let cover = Cover::new(model, promise.unit);
        let Err(empty) = cover.refuse_empty(model, promise) else { return Ok(cover) };
        if self.allow_vacuous {
            let why = &empty.why;
            terminal::warning(format!("--allow-vacuous: {why}, so this release protects nothing"));
            return Ok(cover);
        }
        let advice = empty.closest.as_ref().map_or_else(String::new, |closest| {
            let command = this_command_with_radius(&closest.radius.to_string());
            format!(
                "; protect at least those with\n\n  {command}\n\n`veilwalk guarantee` says what a \
                 radius protects"
            )
        });
        bail!("{empty}{advice}; --allow-vacuous releases without protection")
    }
}

/// Says how many states are covered, and warns where many are not.
pub(crate) fn tell_coverage(cover: &Cover, promise: Promise) {
    let covered = match promise.unit {
        _ if cover.is_vacuous() => return,
        Unit::Substitutions(_) => "covered: every state may be replaced by any other".to_owned(),
        Unit::Radius(_) => {
            format!("covered: {} have an alternative within the radius", cover.in_words())
        }
    };
    terminal::note(covered);
    if cover.leaves_many_out() {
        terminal::warning(
            "fewer than 95 % of the states are covered. The others have no alternative within the radius, \
             and nothing is promised about them; `veilwalk guarantee` lists radii that cover more",
        );
    }
}

/// The command as it was given, with another radius.
fn this_command_with_radius(radius: &str) -> String {
    let mut words = vec!["veilwalk".to_owned()];
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        let (flag, value) = word.split_once('=').map_or((&*word, None), |(f, v)| (f, Some(v)));
        if !matches!(flag, "--radius" | "--per") {
            words.push(quoted(&word));
            continue;
        }
        if value.is_none() {
            given.next();
        }
        words.extend(["--radius".to_owned(), radius.to_owned()]);
    }
    words.join(" ")
}
