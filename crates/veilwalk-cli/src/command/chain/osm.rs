//! `veilwalk chain osm`: the street network of a map as a chain.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use veilwalk::Chain;
use veilwalk::internal::request::Span;
use veilwalk_io::{AtomicFile, ChainText, WalkFormat, write_model, write_places};
use veilwalk_roads::{Away, ChainOptions, Mode, RoadMap, RoadReport, StatesAre, Tick, Turns};

use crate::args::{
    self, DistanceOptions, Input, Loaded, WantedMetric, Written, counted, is_standard_output,
    refuse_to_replace,
};
use crate::terminal;

/// Make a chain of the streets of a map
///
/// The map is one of OpenStreetMap. States are streets between two junctions, each in one direction, such as w123-456>789:
/// way 123 from point 456 to point 789. Moves lead over a junction, as one-way signs, barriers and rules for turning allow;
/// turning back is a move only where there is no other. The chain knows how long its moves are, where its states
/// lie, and what they are called. The largest part of the network whose states all reach each other is kept, and the command
/// says what was dropped. Maps are © OpenStreetMap contributors (ODbL): what is made of them has to say so.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The map: PBF (.osm.pbf) or XML (.osm), which may be packed with gzip
    map: PathBuf,

    /// Where to write the chain. A name that ends in .csv, or `-` for standard output, gives a table of moves; any other
    /// a model, as `veilwalk chain compile` writes it, which alone holds the lines of streets. A file of that name is
    /// replaced, with a warning
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    /// How people move
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    mode: By,

    /// What states are. Between crossings, rules for turning cannot hold
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    states: States,

    /// How the traffic divides at a junction: `even`, all ways alike, or `class`, larger roads more by a rule of thumb
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    turns: Dividing,

    /// Divide the traffic as this table with the columns `from`, `to` and `count` says; every move that it lacks counts
    /// once, and every other once more
    #[arg(long, value_name = "FILE", conflicts_with = "turns")]
    counts: Option<PathBuf>,

    /// Write where the states lie to this file, for a chain that is a table
    #[arg(long, value_name = "FILE")]
    places: Option<PathBuf>,

    /// Make the moves of walks on a clock with ticks so far apart, such as 30s: to every state that can be reached in this
    /// time, and to the state itself
    #[arg(long, value_name = "SPAN", help_heading = "Clock")]
    every: Option<Span>,

    /// How fast people go on a plain street, in km/h; on larger roads in proportion. If not given, 40 by car, 20 by
    /// bicycle, 5 on foot
    #[arg(long, value_name = "KMH", requires = "every", value_parser = speed,
          help_heading = "Clock")]
    speed: Option<f64>,

    /// Add a state of this name for whoever is not on the map. It can be reached from everywhere and leads everywhere, and
    /// lies north of the map, so far away that no way over it is shorter than one along the streets
    #[arg(long, value_name = "STATE")]
    away: Option<String>,

    #[command(flatten)]
    distances: DistanceOptions,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// By car
    #[default]
    Car,
    /// By bicycle
    Bike,
    /// On foot
    Foot,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum States {
    /// Streets between two junctions, in one direction each
    #[default]
    Segments,
    /// Junctions
    Crossings,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Dividing {
    /// All ways alike
    #[default]
    Even,
    /// Larger roads more
    Class,
}

fn speed(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| (1.0..=300.0).contains(number));
    number.ok_or_else(|| "give a speed between 1 and 300 km/h".to_owned())
}

impl From<By> for Mode {
    fn from(by: By) -> Self {
        match by {
            By::Car => Self::Car,
            By::Bike => Self::Bike,
            By::Foot => Self::Foot,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let as_table = is_standard_output(&args.output)
        || WalkFormat::from_path(&args.output).is_some_and(|format| format == WalkFormat::Csv);
    args.settle_outputs(as_table)?;
    let map = RoadMap::read(&args.map, args.mode.into())?;
    let (chain, report) = map.chain(&args.chain_options())?;
    let name = match as_table {
        true => {
            let name = super::write(&chain, ChainText::default(), &args.output)?;
            if let Some(places) = &args.places {
                let mut file = AtomicFile::create(places)?;
                let name = file.name().to_owned();
                write_places(&chain, &mut file).map_err(|error| error.named(&name))?;
                file.commit()?;
            }
            name
        }
        false => {
            let model = args
                .distances
                .model(Loaded::Chain(Box::new(chain.clone())), &WantedMetric::Anything)?;
            write_model(&model, &[], &args.output)?;
            args.output.display().to_string()
        }
    };
    tell(&name, &args.map, &chain, &report);
    Ok(())
}

impl Args {
    fn inputs(&self) -> Vec<Input<'_>> {
        let mut inputs: Vec<Input<'_>> = vec![(&self.map, "the map")];
        inputs.extend(self.counts.iter().map(|path| (path.as_path(), "the counts")));
        inputs
    }

    fn settle_outputs(&self, as_table: bool) -> Result<()> {
        super::settle_output(&self.output, &self.inputs())?;
        let Some(places) = &self.places else { return Ok(()) };
        if !as_table {
            bail!(
                "--places: a model holds where its states lie; leave the flag out, or write a table of moves (-o \
                 with a name that ends in .csv)"
            );
        }
        if args::is_same_file(places, &self.output) {
            bail!("--places and -o name the same file; give each one of its own");
        }
        refuse_to_replace(places, &self.inputs())?;
        args::settle_output(places, Written::Other, &self.inputs())
    }

    fn chain_options(&self) -> ChainOptions {
        let turns = match (&self.counts, self.turns) {
            (Some(path), _) => Turns::Counted(path.clone()),
            (None, Dividing::Even) => Turns::Even,
            (None, Dividing::Class) => Turns::ByClass,
        };
        ChainOptions {
            states: match self.states {
                States::Segments => StatesAre::Segments,
                States::Crossings => StatesAre::Crossings,
            },
            turns,
            tick: self.every.map(|every| Tick { seconds: every.seconds(), speed: self.speed }),
            away: self.away.clone().map(Away),
        }
    }
}

/// Says what became of the map.
fn tell(name: &str, map: &Path, chain: &Chain, report: &RoadReport) {
    let kilometres = |metres: f64| format!("{:.1} km", metres / 1000.0);
    terminal::note(format!(
        "{name}: {} and {}, of {} of streets",
        counted(chain.len(), "state"),
        counted(chain.transitions(), "transition"),
        kilometres(report.metres),
    ));
    if !report.dropped_states.is_empty() {
        terminal::note(format!(
            "{} with {} of streets dropped: not all reach the others and are reached from them",
            counted(report.dropped_states.len(), "state"),
            kilometres(report.dropped_metres),
        ));
    }
    terminal::note_counts([
        (report.restrictions as u64, "rule", "for turning hold"),
        (
            report.restrictions_left_out as u64,
            "rule",
            "for turning left out: over a way, about a way that is not in the network, or without a part",
        ),
        (report.reversible as u64, "way", "left out: the direction changes with the hour"),
        (report.missing_points as u64, "point", "of ways not in the file; streets end there"),
        (
            report.counts_passed_over as u64,
            "line",
            "of the counts passed over: no move of this map",
        ),
    ]);
    if report.period > 1 {
        terminal::warning(format!(
            "the chain has period {}; releases are not affected, but a walk on it never settles, so long-run \
             figures are averages over time",
            report.period
        ));
    }
    terminal::note(format!(
        "{}: © OpenStreetMap contributors, ODbL; say so where it is used",
        map.display()
    ));
}
