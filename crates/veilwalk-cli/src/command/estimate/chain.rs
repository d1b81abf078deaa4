//! The chain that was learned, as a file that every command takes.

use anyhow::{Context, Result};
use serde_json::json;
use veilwalk::Chain;
use veilwalk::inference::Learned;
use veilwalk_io::{ChainText, InitialText, Released};

use super::Args;
use crate::args::counted;
use crate::{command, terminal};

pub(super) fn write(args: &Args, chain: &Chain, found: &Learned, read: &[Released]) -> Result<()> {
    let learned = found.estimate.law().to_chain(chain).context(
        "what was learned is no chain that walks can go round in; a larger --strength keeps every move possible",
    )?;
    let comments = comments(args, chain, found, read);
    let initial = InitialText::InAComment;
    let text = ChainText { comments: &comments, initial, ..ChainText::default() };
    let output = args.output.as_deref().expect("a chain is written somewhere");
    let name = command::chain::write(&learned, text, output)?;
    terminal::note(format!(
        "{name}: {} and {}, and where walks start",
        counted(learned.len(), "state"),
        counted(learned.transitions(), "transition")
    ));
    Ok(())
}

/// What the file says of itself: for people, and for programs.
fn comments(args: &Args, chain: &Chain, found: &Learned, read: &[Released]) -> Vec<String> {
    let walks = found.estimate.expected().walks() as u64;
    let promises = |release: &Released| {
        let manifest = &release.manifest;
        json!({
            "release": manifest.release.hash,
            "mechanism": manifest.mechanism.name,
            "epsilon": manifest.promise.epsilon,
            "radius_nats": manifest.promise.radius_nats,
            "substitutions": manifest.promise.substitutions,
        })
    };
    let figures = json!({ "learned": {
        "veilwalk": env!("CARGO_PKG_VERSION"),
        "from_chain": chain.hash().to_string(),
        "walks": walks,
        "iterations": found.estimate.rounds(),
        "log_likelihood": found.estimate.expected().log_likelihood(),
        "strength": args.strength,
        "releases": read.iter().map(promises).collect::<Vec<_>>(),
    }});
    let worth = match read.iter().all(|release| release.manifest.private) {
        true => "and may be published",
        false => "and is no more private than they are: NOT all of them are private",
    };
    vec![
        format!(
            "Learned from {} in {}, and from nothing else: it cost no privacy beyond theirs, {worth}.",
            counted(walks as usize, "released walk"),
            counted(read.len(), "release"),
        ),
        figures.to_string(),
    ]
}
