//! `veilwalk chain compile`: a chain with everything that is computed of it, in one file.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use veilwalk::Preset;
use veilwalk::internal::model::Certified;
use veilwalk::internal::request::Base;
use veilwalk_io::write_model;

use crate::args::{ChainOptions, DistanceOptions, MechanismArgs, Written, counted, settle_output};
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

    /// Where to write the model. A file of that name is replaced, with a warning
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
    let mut inputs = args.options.inputs(&args.chain);
    inputs.extend(args.mechanism.input());
    inputs.extend(args.distances.input());
    settle_output(&args.output, Written::Other, &inputs)?;
    let model =
        Arc::new(args.distances.model(args.options.read(&args.chain)?, &args.mechanism.wanted()?)?);
    let mut scales = Vec::new();
    let mut holds = match model.require_tables() {
        Ok(()) => "all distances".to_owned(),
        Err(_) => "no table of distances, which are searched for".to_owned(),
    };
    if args.mechanism.is_given() {
        let mut asked = args.mechanism.asked(None)?;
        // What `auto` takes is not known before the start is. But it compares `cell` with others, and of
        // these only `cell` has scales to keep.
        if asked.request.base == Base::Auto && asked.request.candidates.kind.is_none() {
            asked.request.base = Base::Preset(Preset::Cell);
        }
        let chosen = asked.on(&model)?;
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
            calibration: chosen.calibration,
            scales: certificate.into(),
        });
        holds += &format!(", and cells with scales for {}", chosen.promise);
    }
    write_model(&model, &scales, &args.output)?;
    terminal::note(format!(
        "{}: {}, {}, {holds}",
        args.output.display(),
        counted(model.chain().len(), "state"),
        counted(model.chain().transitions(), "transition"),
    ));
    Ok(())
}
