//! `veilwalk chain compile`: a chain with everything that is computed of it, in one file.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use veilwalk::mechanism::cell::Calibration;
use veilwalk::model::Certified;
use veilwalk_io::{AtomicFile, write_model_to};

use crate::args::{
    Calibrate, ChainOptions, DistanceOptions, MechanismArgs, counted, refuse_to_replace,
};
use crate::progress::remove_when_stopped;
use crate::terminal;

/// Compute a chain's distances once, and write them with the chain as a model
///
/// Every command that takes a chain takes the model in its place, and opens it in milliseconds. With
/// a mechanism that goes by cells and a promise, their tables and calibrated scales are written as
/// well, so that no command calibrates them again. A model is as public as its chain.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A built-in chain (`credit` or `downtown`) or a file, as for `chain check`
    chain: String,

    /// Where to write the model
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    #[command(flatten)]
    options: ChainOptions,

    #[command(flatten)]
    distances: DistanceOptions,

    #[command(flatten)]
    mechanism: MechanismArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    refuse_to_replace(&args.output, &[(&args.chain, "the chain")])?;
    let model = Arc::new(args.distances.model(args.options.read(&args.chain)?)?);
    let mut scales = Vec::new();
    let mut holds = match model.require_tables() {
        Ok(()) => "all distances".to_owned(),
        Err(_) => "no table of distances, which are searched for".to_owned(),
    };
    if args.mechanism.is_given() {
        let chosen = args.mechanism.on(&model)?;
        let Some(certificate) = chosen.mechanism.certificate() else {
            bail!(
                "the mechanism {} needs nothing beyond the distances, which every model has; leave \
                 out --mechanism and what it promises",
                chosen.name
            );
        };
        scales.push(Certified {
            design: chosen.mechanism.design(),
            promise: chosen.promise,
            calibration: match chosen.calibrate {
                Calibrate::Theorem => Calibration::Theorem,
                Calibrate::Exact => Calibration::Exact,
            },
            scales: certificate.into(),
        });
        holds += &format!(", and cells with scales for {}", chosen.promise);
    }
    let file = AtomicFile::create(&args.output)?;
    remove_when_stopped(file.temporary());
    write_model_to(&model, &scales, file)?;
    terminal::note(format!(
        "{}: {}, {}, {holds}",
        args.output.display(),
        counted(model.chain().len(), "state"),
        counted(model.chain().transitions(), "transition"),
    ));
    Ok(())
}
