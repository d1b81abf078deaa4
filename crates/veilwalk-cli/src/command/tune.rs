//! `veilwalk tune`: which mechanism serves an aim best on a chain.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::ArgGroup;
use comfy_table::CellAlignment;
use serde_json::Value;
use veilwalk::analysis::{Aim, Question, Ranking, tune};
use veilwalk::guarantee::Cover;
use veilwalk::internal::tune::{Delay, Evaluated, WalksFrom};
use veilwalk::mechanism::{
    BlockLength, Calibration, Candidates, Epsilon, Radius, TrackAim, Tracking, Unit,
};
use veilwalk::{Chain, Design, Distance, Measure, Mechanism, Model, Preset, Promise};
use veilwalk_io::MechanismFile;

use super::analyze::refuse_too_long;
use crate::args::{
    self, ChainArgs, Format, WantedMetric, Written, block_flag, count, counted, quoted,
    settle_output, whole,
};
use crate::own_walks::start_in_words;
use crate::progress::with_progress;
use crate::{open_models, terminal, units};

/// Find the mechanism that serves an aim best on a chain
///
/// Compares the mechanisms with names and a grid around them at the same guarantee, on the chain's own
/// walks: exactly where states are drawn one at a time, and by simulation, with standard errors, where
/// walks are made of observations (`tight`, `believed` from several shares, for straight-line metres `plane`) or in blocks. An exact figure
/// within two standard errors of a simulated one goes before it. No real walk is used: the choice depends on the chain and the promise alone,
/// so tuning costs no privacy. Tuning on real walks would.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("protected").args(["radius", "substitutions"]).required(true))]
pub(crate) struct Args {
    #[command(flatten)]
    chain: ChainArgs,

    /// The privacy parameter, a decimal or a fraction: smaller is more private
    #[arg(long, value_name = "E")]
    epsilon: Epsilon,

    /// Protect walks from each other if their states are at most this far apart in total: nats, or metres such as 200m
    #[arg(long, visible_alias = "per", value_name = "NATS|METRES")]
    radius: Option<Radius>,

    /// Protect walks from each other if they differ in at most this many states
    #[arg(long, value_name = "COUNT", value_parser = count::<NonZeroU32>())]
    substitutions: Option<NonZeroU32>,

    /// What counts: `closeness` (mean distance), `wrong-states` (how many released states are not
    /// the real ones), `typicality` (entropy near the real walk's), or three weights in that order,
    /// such as 1,1,0.5, for each as a multiple of the best value that is reached
    #[arg(long, value_name = "AIM", default_value = "closeness")]
    aim: Aim,

    /// Where the chain's own walks start: `initial`, `stationary` or a state
    #[arg(long, value_name = "WHERE", default_value = "initial")]
    from: String,

    /// How released walks start: `private` (drawn near the real first state), `initial` (drawn from the
    /// initial distribution), `first` (the real first state, which is disclosed) or a state
    #[arg(long, value_name = "HOW", default_value = "private")]
    start: String,

    /// How many steps those walks take
    #[arg(long, value_name = "COUNT", default_value_t = 100,
          value_parser = whole::<u32>(1..=1_000_000))]
    steps: u32,

    /// Compare what may answer a step when this many more steps were observed: `tight` and `believed`
    #[arg(long, value_name = "STEPS", value_parser = whole::<u32>(1..=10_000),
          conflicts_with = "block")]
    lag: Option<u32>,

    /// Compare blocks of this many steps, or `all` of a walk, with several chain weights
    #[arg(long, value_name = "STEPS|all", conflicts_with = "output")]
    block: Option<BlockLength>,

    /// Take only a mechanism from whose releases somebody who knows the chain guesses at most this share of states
    /// right, such as 0.8; `veilwalk attack` says what is guessed
    #[arg(long, value_name = "SHARE", value_parser = parse_share, conflicts_with = "block")]
    attacker_at_most: Option<f64>,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Write the best as a mechanism file, for --mechanism FILE of every command. A file of that name
    /// is replaced, with a warning
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("give a share above 0 and up to 1, such as 0.8".to_owned()),
    }
}

/// How many of the best are shown.
const SHOWN: usize = 5;

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(output) = &args.output {
        settle_output(output, Written::Other, &args.chain.inputs())?;
    }
    let model = args.chain.model(&WantedMetric::by(args.radius.map(Unit::Radius)))?;
    let question = args.question(model.chain())?;
    if Cover::new(&model, question.promise.unit).is_vacuous() {
        terminal::warning(format!(
            "no two different walks are within {}, so this promise is empty; `veilwalk chain check` \
             prints the smallest radius that protects anything",
            question.promise.unit
        ));
    }
    if let Delay::Block(length) = question.delay {
        refuse_too_long(length, question.steps, "the walks")?;
    }
    let mut ranking = with_progress("tuning", |watch| tune(&model, question, watch))?;
    if let Some(most) = args.attacker_at_most {
        ranking =
            with_progress("guessing", |watch| ranking.with_attacker_at_most(&model, most, watch))?;
    }
    if let Some(path) = &args.output {
        let file = described(&model, &ranking)?;
        open_models::check()?;
        file.write(path)?;
    }
    match args.format {
        Format::Json => {
            terminal::print(format_args!("{:#}", units::json(args.as_json(&model, &ranking)?)))
        }
        Format::Text => terminal::print(args.in_words(model.chain(), &ranking)),
    }
}

/// The winner as a mechanism file.
fn described(model: &Arc<Model>, ranking: &Ranking) -> Result<MechanismFile> {
    let design = ranking.winner().design;
    let mechanism = with_progress("calibrating", |watch| {
        Mechanism::watched(model.clone(), design, ranking.question.promise, watch)
    })?;
    let mechanism = mechanism.tracking(ranking.winner().tracking.unwrap_or_default());
    let file = MechanismFile::describing(&mechanism, Calibration::default_for(design));
    file.ok_or_else(|| anyhow!("the mechanism makes no promise"))
}

impl Args {
    fn question(&self, chain: &Chain) -> Result<Question> {
        let unit = match (self.radius, self.substitutions) {
            (Some(radius), _) => Unit::Radius(radius),
            (None, Some(count)) => Unit::Substitutions(count),
            (None, None) => unreachable!("one of the two is required"),
        };
        Ok(Question {
            promise: Promise { epsilon: self.epsilon, unit },
            aim: self.aim,
            from: match self.from.as_str() {
                "initial" => WalksFrom::Initial,
                "stationary" => WalksFrom::Stationary,
                label => {
                    let flag = "--from (`initial`, `stationary` or a state)";
                    WalksFrom::At(args::state(chain, flag, label)?)
                }
            },
            start: args::start(chain, &self.start)?,
            steps: self.steps as usize,
            delay: match (self.lag, self.block) {
                (Some(lag), _) => Delay::Lag(lag),
                (None, Some(length)) => Delay::Block(length),
                (None, None) => Delay::None,
            },
        })
    }

    /// The command that releases walks with a member.
    fn command(&self, member: &Evaluated) -> String {
        let unit = match (self.radius, self.substitutions) {
            (Some(radius), _) => format!("--radius {radius}"),
            (None, count) => {
                format!("--substitutions {}", count.map_or(1, NonZeroU32::get))
            }
        };
        let start = self.start_flag();
        format!(
            "veilwalk privatize WALKS {} {} --epsilon {} {unit}{start}",
            self.chain.as_flags(),
            self.flags(member),
            self.epsilon,
        )
    }

    /// How walks start, where that is not what `privatize` does unless told otherwise.
    fn start_flag(&self) -> String {
        match self.start.as_str() {
            "private" => String::new(),
            other => format!(" --start {}", quoted(other)),
        }
    }

    /// The same with the mechanism file.
    fn command_with(&self, path: &std::path::Path) -> String {
        let start = self.start_flag();
        let path = path.display().to_string();
        // A name without a dot or a folder could be taken for that of a mechanism.
        let path = if path.contains(['/', '.']) { path } else { format!("./{path}") };
        let chain = self.chain.as_flags();
        format!("veilwalk privatize WALKS {chain} --mechanism {}{start}", quoted(&path))
    }

    /// The flags that choose a member: a name, and what to override.
    fn flags(&self, member: &Evaluated) -> String {
        let design = member.design;
        let mut flags = match (member.preset, design.candidates) {
            (Some(preset), _) => format!("--mechanism {preset}"),
            (None, Candidates::Believed(share)) => {
                format!("--mechanism believed --believed-from {share}")
            }
            (None, Candidates::States(weights)) => {
                format!("--mechanism tight --weights {weights}")
            }
            // It has no choices of its own, so it has its name.
            (None, Candidates::Plane) => format!("--mechanism {}", Preset::Plane),
            (None, Candidates::Moves) => choices(design),
        };
        if let Some(tracking) = member.tracking {
            if tracking.aim != TrackAim::default() {
                flags += &format!(" --track {}", tracking.aim);
            }
            if tracking.lag > 0 {
                flags += &format!(" --lag {}", tracking.lag);
            }
        }
        if let Some(length) = self.block {
            flags += &format!(" --block {}", block_flag(length));
        }
        flags
    }

    fn as_json(&self, model: &Model, ranking: &Ranking) -> Result<Value> {
        let mut answer = serde_json::to_value(ranking)?;
        answer["chain"] = model.chain().hash().to_string().into();
        answer["from"] = self.from.clone().into();
        answer["start"] = self.start.clone().into();
        answer["command"] = self.command(ranking.winner()).into();
        Ok(answer)
    }

    fn in_words(&self, chain: &Chain, ranking: &Ranking) -> String {
        let off = format!("{} off", units::measure().name());
        let mut table = terminal::table(&[
            "rank",
            "name",
            "distance",
            "rule",
            "weight",
            off.as_str(),
            "wrong",
            "entropy off",
            "score",
        ]);
        let shown = |value| units::measure().shown(value);
        for (place, m) in ranking.members.iter().enumerate() {
            if place < SHOWN || m.preset.is_some() {
                let errors = m.simulated.map(|simulated| simulated.standard_errors);
                let [distance, rule, weight] = columns(m.design, m.tracking);
                table.add_row([
                    format!("{}", place + 1),
                    m.preset.map_or("", Preset::name).to_owned(),
                    distance,
                    rule,
                    weight,
                    figure(
                        shown(m.figures.mean_distance_nats),
                        errors.map(|e| shown(e.mean_distance_nats)),
                    ),
                    figure(m.figures.wrong_state_share, errors.map(|e| e.wrong_state_share)),
                    format!("{:.4}", m.figures.entropy_gap_nats),
                    format!("{:.4}", m.score),
                ]);
            }
        }
        for right in [0, 4, 5, 6, 7, 8] {
            if let Some(column) = table.column_mut(right) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let (winner, question) = (ranking.winner(), ranking.question);
        let mut text = format!(
            "For {}, at {}: {}, {} on the\nchain's own walks of {} {}.\n{}\
             The best {SHOWN} and those with names:\n\n{}\n\n",
            self.aim,
            question.promise,
            counted(ranking.members.len(), "mechanism"),
            known(ranking),
            counted(question.steps, "step"),
            starting(chain, question),
            left_out(ranking),
            terminal::lines(&table),
        );
        text += &format!(
            "Best: {}{}.\nOn average {} from the real state, {:.4} % wrong states, \
             entropy {:.6} nats a move off the real walk's {:.6}.\n\n  {}\n",
            winner.preset.map(|preset| format!("`{preset}`, ")).unwrap_or_default(),
            winner.design,
            match units::measure() {
                Measure::Nats => format!("{:.6} nats", winner.figures.mean_distance_nats),
                _ => units::figure(winner.figures.mean_distance_nats),
            },
            100.0 * winner.figures.wrong_state_share,
            winner.figures.entropy_gap_nats,
            ranking.real_entropy_nats,
            self.command(winner),
        );
        if let Some(attacker) = &ranking.attacker {
            text += &format!(
                "\nSomebody who knows the chain guesses {:.1} % of its states right. Put aside, since more is \
                 guessed: {}.\n",
                100.0 * attacker.attacker,
                put_aside(ranking),
            );
        }
        if let Some(path) = &self.output {
            text += &format!(
                "\nThe same with the file just written, which holds the promise too:\n\n  {}\n",
                self.command_with(path)
            );
        }
        text + "\nOnly the public chain was used, so this choice costs no privacy. Choosing by the real\n\
                walks would: that is a release of its own."
    }
}

/// The flags of a member that draws moves and has no name.
fn choices(design: Design) -> String {
    let preset = match design.distance {
        Distance::Cell | Distance::CellSymmetric => Preset::Cell,
        Distance::Symmetric => Preset::Sharp,
        _ => Preset::Paper,
    };
    let base = preset.design();
    let mut flags = format!("--mechanism {preset}");
    if design.distance != base.distance {
        flags += &format!(" --distance {}", design.distance);
    }
    if design.rule != base.rule {
        flags += &format!(" --rule {}", design.rule);
    }
    if design.chain_weight != base.chain_weight {
        flags += &format!(" --chain-weight {}", design.chain_weight);
    }
    flags
}

/// What is said of a member's choices in the columns of the table.
fn columns(design: Design, tracking: Option<Tracking>) -> [String; 3] {
    let dash = || "-".to_owned();
    let ahead = tracking.is_some_and(|tracking| tracking.aim.looks_ahead());
    let observed = if ahead { "looks ahead" } else { "observed" }.to_owned();
    match design.candidates {
        Candidates::Moves => {
            [design.distance.to_string(), design.rule.to_string(), design.chain_weight.to_string()]
        }
        Candidates::States(_) => ["all states".to_owned(), observed, dash()],
        Candidates::Believed(share) => [format!("believed from {share}"), observed, dash()],
        Candidates::Plane => ["on a plane".to_owned(), observed, dash()],
    }
}

/// What did better, and tells too much.
fn put_aside(ranking: &Ranking) -> String {
    let shown = ranking.told_too_much.iter().take(SHOWN).map(|(member, share)| {
        let name =
            member.preset.map_or_else(|| member.design.to_string(), |name| format!("`{name}`"));
        format!("{name} ({:.1} %)", 100.0 * share)
    });
    let shown: Vec<String> = shown.collect();
    let more = ranking.told_too_much.len().saturating_sub(shown.len());
    match (shown.as_slice(), more) {
        ([], _) => "none".to_owned(),
        (some, 0) => some.join(", "),
        (some, more) => format!("{} and {more} more", some.join(", ")),
    }
}

/// How the figures are known.
fn known(ranking: &Ranking) -> String {
    let simulated = ranking.members.iter().filter_map(|member| member.simulated).next();
    let exact = ranking.members.iter().any(|member| member.simulated.is_none());
    match (simulated, exact) {
        (None, _) => "compared exactly".to_owned(),
        (Some(simulated), true) => format!(
            "compared exactly, those with ± by simulation of {},",
            counted(simulated.walks as usize, "walk")
        ),
        (Some(simulated), false) => {
            format!("compared by simulation of {}", counted(simulated.walks as usize, "walk"))
        }
    }
}

/// `0.8161`, with its standard error if it has one.
fn figure(value: f64, error: Option<f64>) -> String {
    match error {
        Some(error) => format!("{value:.4} ±{error:.4}"),
        None => format!("{value:.4}"),
    }
}

/// Where walks start, in words.
fn starting(chain: &Chain, question: Question) -> String {
    let from = match question.from {
        WalksFrom::Initial => "from the initial distribution".to_owned(),
        WalksFrom::Stationary => "from the stationary distribution".to_owned(),
        WalksFrom::At(state) => format!("from {}", chain.label(state)),
    };
    let (start, _) = start_in_words(chain, question.start);
    format!("{from},\nand released ones that start {start}")
}

/// What was not evaluated in full, in words.
fn left_out(ranking: &Ranking) -> String {
    let mut text = String::new();
    if let Some(steps) = ranking.screening_steps {
        text += &format!(
            "The chain is large: {} more fell behind within {} and went no further{}.\n",
            ranking.screened_out.len(),
            counted(steps, "step"),
            if ranking.thinned { ", from a thinner grid" } else { "" }
        );
    }
    if let Some((design, why)) = ranking.impossible.first() {
        text += &format!(
            "Left out: {} that cannot keep this promise here ({design}: {why}).\n",
            ranking.impossible.len()
        );
    }
    text
}
