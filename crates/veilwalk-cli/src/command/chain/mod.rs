//! `veilwalk chain`: look at a chain, compile it, fit one, make one up.

mod check;
mod compile;
mod fit;
mod generate;

use std::path::Path;

use anyhow::Result;
use veilwalk::Chain;
use veilwalk_io::{AtomicFile, write_chain};

use crate::args::{self, Input, Written, is_standard_output};

/// Look at a chain, compile it, fit one to walks, or generate one
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Check(check::Args),
    Compile(compile::Args),
    Fit(fit::Args),
    #[command(subcommand)]
    Generate(generate::Command),
}

pub(crate) fn run(command: &Command) -> Result<()> {
    match command {
        Command::Check(args) => check::run(args),
        Command::Compile(args) => compile::run(args),
        Command::Fit(args) => fit::run(args),
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
fn write(chain: &Chain, output: &Path) -> Result<String> {
    if is_standard_output(output) {
        let name = "standard output".to_owned();
        write_chain(chain, std::io::stdout().lock()).map_err(|e| e.named(&name))?;
        return Ok(name);
    }
    let mut file = AtomicFile::create(output)?;
    let name = file.name().to_owned();
    write_chain(chain, &mut file).map_err(|e| e.named(&name))?;
    file.commit()?;
    Ok(name)
}
