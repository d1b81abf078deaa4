//! `veilwalk chain`: look at a chain, compile it, fit one, make one of a map, sample it, make one up.

mod check;
mod compile;
mod fit;
mod generate;
mod osm;
mod sample;

use std::path::Path;

use anyhow::Result;
use veilwalk::Chain;
use veilwalk_io::{AtomicFile, ChainText, write_chain_with};

use crate::args::{self, Input, Written, is_standard_output};

/// Look at a chain, compile it, fit one to walks, make one of a map, sample its walks, or generate one
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Check(check::Args),
    Compile(compile::Args),
    Fit(Box<fit::Args>),
    Osm(osm::Args),
    Sample(sample::Args),
    #[command(subcommand)]
    Generate(generate::Command),
}

pub(crate) fn run(command: &Command) -> Result<()> {
    match command {
        Command::Check(args) => check::run(args),
        Command::Compile(args) => compile::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Osm(args) => osm::run(args),
        Command::Sample(args) => sample::run(args),
        Command::Generate(command) => generate::run(command),
    }
}

/// Refuses a file that must not be replaced by a chain, and warns of one that will be.
fn settle_output(output: &Path, inputs: &[Input<'_>]) -> Result<()> {
    match is_standard_output(output) {
        true => Ok(()),
        false => args::settle_output(output, Written::Other, inputs),
    }
}

/// Writes a chain to a file, or to standard output if that is `-`, and says what it is called.
pub(super) fn write(chain: &Chain, text: ChainText<'_>, output: &Path) -> Result<String> {
    let file = match is_standard_output(output) {
        true => None,
        false => Some(AtomicFile::create(output)?),
    };
    write_to(chain, text, file)
}

/// Writes a chain to this file, or to standard output if there is none, and says what it is called.
fn write_to(chain: &Chain, text: ChainText<'_>, file: Option<AtomicFile>) -> Result<String> {
    let Some(mut file) = file else {
        let name = "standard output".to_owned();
        let out = std::io::stdout().lock();
        write_chain_with(chain, text, out).map_err(|e| e.named(&name))?;
        return Ok(name);
    };
    let name = file.name().to_owned();
    write_chain_with(chain, text, &mut file).map_err(|e| e.named(&name))?;
    file.commit()?;
    Ok(name)
}
