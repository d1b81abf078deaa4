//! The chain of a map: probabilities, and the part of the network that can be walked forever.

use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use veilwalk::Chain;
use veilwalk::chain::{
    BuildOptions, BuildReport, ChainBuilder, ChainError, Entries, Places, Scope,
};

use crate::error::{CountsProblem, MapError, MapProblem};
use crate::graph::{Graph, Share, speed_factor};
use crate::network::Network;
use crate::osm::{self, Mode};

/// A map that was read for one way to move.
#[derive(Debug)]
pub struct RoadMap {
    path: PathBuf,
    network: Network,
}

/// What the states of the chain are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatesAre {
    /// Streets between two junctions, each in one direction.
    #[default]
    Segments,
    /// Junctions. Rules for turning do not show in these states.
    Crossings,
}

/// How likely the ways on from a crossing are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Turns {
    /// All alike.
    #[default]
    Even,
    /// Larger roads more, by a rule of thumb.
    ByClass,
    /// As often as a table `from,to,count` says, and once more for every move, so that none is impossible.
    Counted(PathBuf),
}

/// Moves from one tick of a clock to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    /// How far apart ticks are, in seconds.
    pub seconds: u64,
    /// How fast people go on a street without a class of its own, in kilometres an hour; on larger roads in
    /// proportion. If it is left open, what is usual.
    pub speed: Option<f64>,
}

/// A state for whoever is not on the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Away(pub String);

/// How to make a chain of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChainOptions {
    /// What states are.
    pub states: StatesAre,
    /// How likely moves are.
    pub turns: Turns,
    /// Whether moves are those between two ticks of a clock. If not, they lead to the next street.
    pub tick: Option<Tick>,
    /// Whether there is a state for whoever is not on the map.
    pub away: Option<Away>,
}

/// What became of a map.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RoadReport {
    /// Ways that may be used.
    pub ways: usize,
    /// How long all streets of the chain are together, in metres; both directions of one count once.
    pub metres: f64,
    /// Labels of the states that were dropped, since they cannot be reached from the others, or the others from them.
    pub dropped_states: Vec<String>,
    /// How long the streets are of which nothing is left, in metres.
    pub dropped_metres: f64,
    /// Rules for turning that hold.
    pub restrictions: usize,
    /// Rules for turning that were left out: those over a way, for ways that are not in the network, or without a part.
    pub restrictions_left_out: usize,
    /// Ways left out because their direction changes with the hour.
    pub reversible: usize,
    /// Points of ways that are not in the file, as at the border of an extract. Streets end there.
    pub missing_points: usize,
    /// Lines of the table of counts about moves that this map does not have.
    pub counts_passed_over: usize,
    /// The period of the chain; above one it is periodic.
    pub period: usize,
}

impl RoadMap {
    /// Reads a map in PBF or XML, packed with gzip or not, for somebody who moves like this.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not a map, is damaged, or has no way to move on.
    pub fn read(path: &Path, mode: Mode) -> Result<Self, MapError> {
        let raw = osm::read(path, mode)?;
        let network = Network::new(raw, mode).map_err(|problem| MapError::new(path, problem))?;
        Ok(Self { path: path.to_owned(), network })
    }

    /// The chain of the map: its largest part whose states all reach each other, with places.
    ///
    /// # Errors
    ///
    /// If no two streets can be reached from each other, or the table of counts is not one.
    pub fn chain(&self, options: &ChainOptions) -> Result<(Chain, RoadReport), MapError> {
        let fail = |problem| MapError::new(&self.path, problem);
        let share = match options.turns {
            Turns::ByClass => Share::ByClass,
            Turns::Even | Turns::Counted(_) => Share::Even,
        };
        let mut graph = match options.states {
            StatesAre::Segments => Graph::of_segments(&self.network, share),
            StatesAre::Crossings => Graph::of_crossings(&self.network, share),
        };
        let mut report = self.report();
        let (connected, dropped) = self.build(&graph).map_err(fail)?;
        report.dropped_states = dropped.dropped_states;
        graph = graph.only(&connected);
        (report.metres, report.dropped_metres) = self.metres(&connected, options.states);
        if let Some(tick) = options.tick {
            let factor = tick.speed.map_or(1.0, |speed| speed_factor(self.network.mode, speed));
            graph = graph.within((1000.0 * tick.seconds as f64 * factor) as u64);
        }
        if let Some(Away(label)) = &options.away {
            graph = graph.with_away(label);
        }
        if let Turns::Counted(path) = &options.turns {
            report.counts_passed_over = count_moves(&mut graph, path)?;
        }
        let (chain, built) = self.build(&graph).map_err(fail)?;
        report.period = built.period;
        Ok((graph.placed(chain), report))
    }

    fn report(&self) -> RoadReport {
        let figures = self.network.figures;
        RoadReport {
            ways: figures.ways,
            restrictions: figures.restrictions,
            restrictions_left_out: figures.restrictions_left_out,
            reversible: figures.reversible,
            missing_points: figures.missing_points,
            ..RoadReport::default()
        }
    }

    fn build(&self, graph: &Graph) -> Result<(Chain, BuildReport), MapProblem> {
        let none = MapProblem::NothingConnected { mode: self.network.mode };
        let built = || -> Result<_, ChainError> {
            let mut builder = ChainBuilder::new(Entries::Counts);
            let states = graph.nodes.iter().map(|node| builder.new_state(&node.label));
            let states = states.collect::<Result<Vec<_>, _>>()?;
            for (row, &from) in graph.moves.iter().zip(&states) {
                for step in row {
                    builder.transition_of_length(from, states[step.to], step.share, step.length)?;
                }
            }
            builder.build(BuildOptions { scope: Scope::LargestComponent, ..Default::default() })
        };
        let (chain, report) =
            built().map_err(|_| MapProblem::NothingConnected { mode: self.network.mode })?;
        // A single state is not a network.
        if chain.len() < 2 { Err(none) } else { Ok((chain, report)) }
    }

    /// How long the streets are of which a direction is in the chain, and the others.
    fn metres(&self, chain: &Chain, states: StatesAre) -> (f64, f64) {
        let mut kept = vec![false; self.network.streets.len()];
        for segment in &self.network.segments {
            let is_kept = match states {
                StatesAre::Segments => chain.state(&self.network.label(segment)).is_some(),
                StatesAre::Crossings => [segment.from, segment.to]
                    .iter()
                    .all(|node| chain.state(&format!("n{node}")).is_some()),
            };
            kept[segment.street] |= is_kept;
        }
        let of = |wanted: bool| {
            let streets = self.network.streets.iter().zip(&kept);
            let wanted = streets.filter(|&(_, &kept)| kept == wanted);
            wanted.map(|(street, _)| street.length.metres()).sum::<f64>() + 0.0
        };
        (of(true), of(false))
    }
}

impl Graph {
    /// The states that a chain has, and the moves between them.
    fn only(self, chain: &Chain) -> Self {
        let kept: Vec<Option<usize>> = self
            .nodes
            .iter()
            .map(|node| chain.state(&node.label).map(|state| state.index()))
            .collect();
        let (mut nodes, mut moves) = (Vec::new(), Vec::new());
        for ((node, row), kept_as) in self.nodes.into_iter().zip(self.moves).zip(&kept) {
            if kept_as.is_none() {
                continue;
            }
            nodes.push(node);
            let step =
                |step: crate::graph::Move| Some(crate::graph::Move { to: kept[step.to]?, ..step });
            moves.push(row.into_iter().filter_map(step).collect());
        }
        Self { nodes, moves }
    }

    /// The chain with the places of these states, which are its own.
    fn placed(self, chain: Chain) -> Chain {
        let lengths = chain.places().and_then(|places| places.lengths.clone());
        let places = Places {
            lengths,
            coordinates: Some(self.nodes.iter().map(|node| node.place).collect()),
            names: Some(self.nodes.iter().map(|node| node.name.clone()).collect()),
            lines: Some(self.nodes.into_iter().map(|node| node.line).collect()),
        };
        chain.with_places(places).expect("one place for each state, in its order")
    }
}

/// Takes counts for the shares of moves, and says how many lines were about moves that are not there.
fn count_moves(graph: &mut Graph, path: &Path) -> Result<usize, MapError> {
    let fail = |line: u64, problem| {
        let file = path.display().to_string();
        MapError::new(path, MapProblem::Counts { file, line, problem })
    };
    let not_csv = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => MapError::new(path, MapProblem::from_io(error)),
        csv::ErrorKind::Utf8 { pos, err } => {
            fail(pos.map_or(1, |pos| pos.line()), CountsProblem::NotCsv(err.to_string()))
        }
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let text = format!("{len} fields where the header has {expected_len}");
            fail(pos.map_or(1, |pos| pos.line()), CountsProblem::NotCsv(text))
        }
        other => fail(1, CountsProblem::NotCsv(format!("{other:?}"))),
    };
    let mut table =
        csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path).map_err(not_csv)?;
    let header = table.headers().map_err(not_csv)?;
    if header.iter().map(str::trim).ne(["from", "to", "count"]) {
        let found = header.iter().collect::<Vec<_>>().join(",").chars().take(80).collect();
        return Err(fail(1, CountsProblem::Header { found }));
    }
    let numbers: HashMap<&str, usize> =
        graph.nodes.iter().enumerate().map(|(at, node)| (node.label.as_str(), at)).collect();
    let mut counts: HashMap<(usize, usize), f64> = HashMap::new();
    let mut passed_over = 0;
    for record in table.records() {
        let record = record.map_err(not_csv)?;
        let line = record.position().map_or(1, |position| position.line());
        let (from, to, count) = (&record[0], &record[1], &record[2]);
        let number = count.trim().parse::<f64>().ok();
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        let number =
            number.ok_or_else(|| fail(line, CountsProblem::NotACount(count.to_owned())))?;
        let states = numbers.get(from).zip(numbers.get(to));
        let known =
            states.filter(|&(&from, &to)| graph.moves[from].iter().any(|step| step.to == to));
        match known {
            Some((&at, &next)) if counts.insert((at, next), number).is_some() => {
                let (from, to) = (from.to_owned(), to.to_owned());
                return Err(fail(line, CountsProblem::Twice { from, to }));
            }
            Some(_) => {}
            None => passed_over += 1,
        }
    }
    if counts.is_empty() {
        return Err(fail(1, CountsProblem::OfAnotherMap));
    }
    for (from, row) in graph.moves.iter_mut().enumerate() {
        for step in row {
            step.share = 1.0 + counts.get(&(from, step.to)).copied().unwrap_or(0.0);
        }
    }
    Ok(passed_over)
}
