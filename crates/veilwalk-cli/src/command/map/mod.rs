//! `veilwalk map`: a release on a map.

mod files;
mod page;
mod times;
mod walks;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use veilwalk::Chain;
use veilwalk::internal::request::Span;
use veilwalk_io::{Prepared, ReleaseReader};
use veilwalk_map::{Ground, GroundError, OPENSTREETMAP};
use veilwalk_prepare::Zone;

use self::walks::OtherWalks;
use crate::args::{ChainOptions, Input, Loaded, Written, count, counted, settle_output};
use crate::released::{self, tell_manifest};
use crate::terminal;

/// Draw a release on a map: a page, or a file for other tools
///
/// The name of -o decides. `.html` is a page that needs nothing else and no network: the streets, the walks over
/// them, to zoom and to play. `.geojson` has a line for each walk and a point for each observation, `.gpx` a track for each
/// walk, `.parquet` (GeoParquet) a row for each state. The chain has to say where its states lie: a model with places,
/// or a chain with --places. Times are those of the clock that `veilwalk prepare` put the walks on, or of --every and
/// --from; without them there are steps alone.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The release; its manifest is beside it
    release: PathBuf,

    /// The chain of the release, as for other commands: a model, or a file of moves with --places
    #[arg(long, value_name = "CHAIN", help_heading = "Chain")]
    chain: String,

    #[command(flatten)]
    options: ChainOptions,

    /// Where to write the map: a name that ends in .html, .geojson, .gpx or .parquet. A file of that name is replaced,
    /// with a warning
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Draw these walks as well, which `veilwalk refine` made of the release
    #[arg(long, value_name = "FILE")]
    refined: Option<PathBuf>,

    /// Draw the real walks as well. The map is then NOT protected: it is for their owner alone
    #[arg(long, value_name = "FILE")]
    real: Option<PathBuf>,

    /// The column of --real that names the walk
    #[arg(long, value_name = "NAME", default_value = "trajectory", requires = "real")]
    trajectory_column: String,

    /// The column of --real that holds the state
    #[arg(long, value_name = "NAME", default_value = "state", requires = "real")]
    state_column: String,

    /// Draw how often places are visited: JSON of `veilwalk estimate --format json`. For a page
    #[arg(long, value_name = "FILE")]
    estimate: Option<PathBuf>,

    /// Draw the first so many walks of the release alone
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>())]
    walks: Option<u32>,

    /// Whose map it is, to be shown with it. If not given, and the chain is one of `veilwalk chain osm`, © OpenStreetMap
    /// contributors
    #[arg(long, value_name = "TEXT")]
    attribution: Option<String>,

    /// How far apart states are, such as 1m
    #[arg(
        long,
        value_name = "SPAN",
        requires = "from",
        conflicts_with = "clock",
        help_heading = "Times"
    )]
    every: Option<Span>,

    /// When every walk begins, such as 2026-05-01T06:00
    #[arg(long, value_name = "TIME", requires = "every", help_heading = "Times")]
    from: Option<String>,

    /// The clock that walks were put on: the file NAME.prepared.json that `veilwalk prepare` wrote. If not given, the one
    /// beside the release or beside --real
    #[arg(long, value_name = "FILE", help_heading = "Times")]
    clock: Option<PathBuf>,

    /// The zone of --from and of clocks that have none, such as Europe/Berlin; UTC if not given
    #[arg(long, value_name = "ZONE", help_heading = "Times")]
    timezone: Option<Zone>,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Page,
    GeoJson,
    Gpx,
    GeoParquet,
}

impl Kind {
    fn of(output: &Path) -> Result<Self> {
        let extension = output.extension().and_then(|extension| extension.to_str());
        Ok(match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("html" | "htm") => Self::Page,
            Some("geojson" | "json") => Self::GeoJson,
            Some("gpx") => Self::Gpx,
            Some("parquet" | "geoparquet") => Self::GeoParquet,
            _ => bail!(
                "{}: the name does not tell what to write; give -o a name that ends in .html, .geojson, .gpx or \
                 .parquet",
                output.display()
            ),
        })
    }
}

/// What was drawn.
#[derive(Clone, Copy, Debug, Default)]
struct Drawn {
    walks: usize,
    states: u64,
    refined: usize,
    real: usize,
}

/// Whether a chain was made of OpenStreetMap by `veilwalk chain osm`: states are called after ways and points of that map
/// (`w123-456>789`, `n456`), but for one of whoever is off the map.
fn is_of_openstreetmap(chain: &Chain) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let street = |label: &str| {
        let (way, ends) = label.strip_prefix('w')?.split_once('-')?;
        let (from, to) = ends.split_once('>')?;
        Some(number(way) && number(from) && number(to))
    };
    let is_own =
        |label: &str| street(label).unwrap_or(false) || label.strip_prefix('n').is_some_and(number);
    let others = chain.states().filter(|&state| !is_own(chain.label(state))).take(2).count();
    others == 0 || (others == 1 && chain.len() > 1)
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let kind = Kind::of(&args.output)?;
    settle_output(&args.output, Written::Other, &args.inputs())?;
    if kind != Kind::Page && args.estimate.is_some() {
        bail!("--estimate is drawn on a page; give -o a name that ends in .html");
    }
    let chain = match args.options.read(&args.chain)? {
        Loaded::Chain(chain) => *chain,
        Loaded::Model(model) => model.chain().clone(),
    };
    let ground = Ground::of(&chain).map_err(|error| args.without_places(error))?;
    let release = ReleaseReader::open(&args.release, &chain).map_err(released::in_flags)?;
    tell_manifest(&args.release, release.manifest());
    if kind == Kind::Gpx && release.observes() {
        terminal::note("GPX has tracks and no noise: what was observed is left out");
    }
    let (drawn, dated) = match kind {
        Kind::Page => args.write_page(&ground, release)?,
        Kind::GeoJson | Kind::Gpx => args.write_walks(&ground, release, kind)?,
        Kind::GeoParquet => args.write_positions(&ground, release)?,
    };
    args.tell(drawn, dated);
    Ok(())
}

impl Args {
    fn inputs(&self) -> Vec<Input<'_>> {
        let mut inputs = self.options.inputs(&self.chain);
        inputs.push(released::input(&self.release));
        let others = [
            (&self.refined, "the refined walks"),
            (&self.real, "the real walks"),
            (&self.estimate, "the estimate"),
            (&self.clock, "the clock"),
        ];
        let given = others.into_iter().filter_map(|(file, what)| Some((file.as_deref()?, what)));
        inputs.extend(given);
        inputs
    }

    fn without_places(&self, error: GroundError) -> anyhow::Error {
        match error {
            GroundError::NoPlaces => anyhow!(
                "{}: this chain does not say where its states lie, so there is nothing to draw them on; give it with \
                 --places FILE (columns state, latitude, longitude), or a model that was compiled with them",
                self.chain
            ),
            other => other.into(),
        }
    }

    /// Whose map it is.
    fn attribution(&self, chain: &Chain) -> Option<&str> {
        match self.attribution.as_deref() {
            None => is_of_openstreetmap(chain).then_some(OPENSTREETMAP),
            Some(text) => Some(text).filter(|text| !text.is_empty()),
        }
    }

    /// The walks that are drawn beside the released ones.
    fn others<'a>(&'a self, chain: &'a Chain) -> Vec<OtherWalks<'a>> {
        let refined = self.refined.as_deref().map(|file| OtherWalks::refined(file, chain));
        let real = self
            .real
            .as_deref()
            .map(|file| OtherWalks::real(file, chain, &self.trajectory_column, &self.state_column));
        refined.into_iter().chain(real).collect()
    }

    /// Files beside which a clock may stand.
    fn beside(&self) -> impl Iterator<Item = PathBuf> {
        let walks = [Some(&self.release), self.real.as_ref()];
        walks.into_iter().flatten().map(|file| Prepared::path_for(file))
    }

    fn tell(&self, drawn: Drawn, dated: bool) {
        let name = self.output.display();
        let mut parts =
            vec![counted(drawn.walks, "released walk"), counted(drawn.states as usize, "state")];
        for (walks, what) in [(drawn.refined, "refined walk"), (drawn.real, "real walk")] {
            if walks > 0 {
                parts.push(counted(walks, what));
            }
        }
        terminal::note(format!("{name}: {}", parts.join(", ")));
        if !dated {
            terminal::note(
                "nothing says when the walks were, so there are steps and no times; --every and --from say it",
            );
        }
        if drawn.real > 0 {
            terminal::warning(format!("{name}: real walks are in it; it is NOT protected"));
        }
    }
}

#[cfg(test)]
mod tests {
    use veilwalk::chain::{ChainBuilder, Entries};

    use super::*;

    #[test]
    fn chains_of_openstreetmap_are_known_by_their_states() {
        let of = |labels: &[&str]| {
            let mut builder = ChainBuilder::new(Entries::Counts);
            let states: Vec<_> = labels.iter().map(|label| builder.state(label)).collect();
            for (&from, &to) in states.iter().zip(states.iter().cycle().skip(1)) {
                builder.transition(from, to, 1.0).unwrap();
            }
            is_of_openstreetmap(&builder.build(Default::default()).unwrap().0)
        };
        assert!(of(&["w12-3>4", "w12-4>3"]) && of(&["n7", "n8", "n9"]));
        assert!(of(&["w12-3>4", "w12-4>3", "away"]));
        for others in
            [&["away"][..], &["w12-3>4", "a", "b"], &["n", "nn"], &["w1", "w2"], &["1", "2"]]
        {
            assert!(!of(others), "{others:?}");
        }
    }
}
