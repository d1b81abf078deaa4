//! `veilwalk prepare`: walks of the raw events of persons.

mod flags;
mod map;
mod read;
mod settings;
mod text;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Error, Result, bail};
use veilwalk_io::{
    AtomicFile, ClockPart, Compression, HeldOutput, Labels, Prepared, WalkFormat, WalkWriter,
};
use veilwalk_prepare::{Settings, Shaping, Sorted, Summary, Zone};

pub(crate) use self::flags::Args;
use crate::args::{Input, Written, is_standard_output, refuse_to_replace, settle_output};
use crate::progress;

/// The column that says whose walk it is.
const PERSON: &str = "person";

pub(crate) fn run(args: &Args) -> Result<()> {
    let settings = args.settings()?;
    let streets = args.streets()?;
    let to_file = !is_standard_output(&args.output);
    if to_file {
        args.settle_output()?;
    }
    let prepared = args.prepared(&settings);
    let sorted = args.read(settings.clone(), streets.as_ref())?;
    let (name, made) = if to_file {
        let file = AtomicFile::create(&args.output)?;
        let name = file.name().to_owned();
        let (file, made) = args.write(sorted, file, &name)?;
        prepared.commit_with(file, &args.output)?;
        (name, made)
    } else {
        let name = "standard output".to_owned();
        let (held, made) = args.write(sorted, HeldOutput::new(), &name)?;
        held.pass_on(std::io::stdout().lock()).map_err(|error| error.named(&name))?;
        (name, made)
    };
    text::tell(&name, &settings, &made);
    Ok(())
}

/// What was made.
#[derive(Clone, Copy, Debug)]
struct Made {
    summary: Summary,
    /// The most walks of one person.
    most_walks: u64,
}

impl Args {
    fn inputs(&self) -> Vec<Input<'_>> {
        let map = self.map.map.iter().map(|path| (path.as_path(), "the map"));
        [(Path::new(&self.events), "the events")].into_iter().chain(map).collect()
    }

    /// Refuses outputs that must not be replaced.
    fn settle_output(&self) -> Result<()> {
        let beside = Prepared::path_for(&self.output);
        refuse_to_replace(&beside, &self.inputs())?;
        if Prepared::would_replace_another(&self.output) {
            bail!(
                "{}: what the walks were prepared with goes there, and there is a file that is something \
                 else; move it away, or give -o another file",
                beside.display()
            );
        }
        settle_output(&self.output, Written::Other, &self.inputs())
    }

    /// What stands beside the walks.
    fn prepared(&self, settings: &Settings) -> Prepared {
        let (states_per_walk, clock) = match &settings.shaping {
            Shaping::Clock(clock) => {
                let part = ClockPart {
                    every: clock.every().to_string(),
                    window: clock.window().to_string(),
                    timezone: settings.zone.as_ref().map(Zone::to_string),
                };
                (Some(clock.ticks().get().into()), Some(part))
            }
            Shaping::Events { padding, .. } => {
                (padding.as_ref().map(|padding| padding.length.get() as u64), None)
            }
        };
        Prepared {
            veilwalk_prepared: Prepared::FORMAT,
            person_column: PERSON.to_owned(),
            states_per_walk,
            clock,
            walks: None,
        }
    }

    /// Writes all walks.
    fn write<W: Write + Send>(&self, sorted: Sorted<'_>, out: W, name: &str) -> Result<(W, Made)> {
        let format = WalkFormat::from_path(&self.output).unwrap_or(WalkFormat::Csv);
        let compression = Compression::from_path(&self.output);
        let labels = sorted.labels().to_vec();
        let columns = [PERSON];
        let called = self.map.names.then(|| sorted.names());
        let called = called.as_ref().map(|names| names as &dyn Labels);
        let mut walks =
            WalkWriter::with_columns(out, name, format, compression, &labels, &columns, called)?;
        let persons = sorted.persons();
        let mut most_walks = 0;
        let summary = progress::with_labelled_progress(|tell| {
            let (mut person, mut seen, mut of_person) = (String::new(), 0_u64, 0);
            sorted.each_walk(|walk| {
                if walk.person != person || seen == 0 {
                    person.clear();
                    person.push_str(walk.person);
                    (seen, of_person) = (seen + 1, 0);
                    if let ControlFlow::Break(()) = tell("writing", seen as f64 / persons as f64) {
                        return Err(progress::stopped());
                    }
                }
                of_person += 1;
                most_walks = most_walks.max(of_person);
                walks.write_walk_with(walk.name, walk.states, &[walk.person])?;
                Ok::<(), Error>(())
            })
        })?;
        Ok((walks.finish()?, Made { summary, most_walks }))
    }
}
