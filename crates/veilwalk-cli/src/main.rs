//! The `veilwalk` command. Each subcommand is a file under `command/`. The exit status is decided here.

mod args;
mod command;
mod estimated;
mod open_models;
mod own_walks;
mod progress;
mod real_walks;
mod released;
mod remedy;
mod study;
mod terminal;
mod units;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use self::command::serve::Configured;

/// What holds for all subcommands.
const RULES: &str = "\
Files: -o replaces a file of that name once the new one is complete, and warns of it beforehand. A \
file that is read, a ledger and a manifest are never replaced.";

/// Share walks on a Markov chain without revealing the real ones.
///
/// While a sensitive walk happens (a trip, a path through a site, a firm's ratings), veilwalk
/// releases another in its place, state by state: differentially private, feasible under the chain,
/// and close to the real one. Start with `veilwalk demo`.
#[derive(Parser)]
#[command(
    name = "veilwalk",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = RULES
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(command::demo::Args),
    Prepare(command::prepare::Args),
    #[command(subcommand)]
    Chain(command::chain::Command),
    Guarantee(command::guarantee::Args),
    Analyze(command::analyze::Args),
    Compare(command::compare::Args),
    Kernel(command::kernel::Args),
    Tune(command::tune::Args),
    Privatize(command::privatize::Args),
    Serve(Box<command::serve::Args>),
    Verify(command::verify::Args),
    Refine(command::refine::Args),
    Estimate(command::estimate::Args),
    Score(command::score::Args),
    Map(Box<command::map::Args>),
    Attack(command::attack::Args),
    Audit(command::audit::Args),
    Reproduce(command::reproduce::Args),
    #[command(subcommand)]
    Ledger(command::ledger::Command),
}

fn main() -> ExitCode {
    let cli = match parsed() {
        Ok(cli) => cli,
        Err(error) => return finish(Err(error)),
    };
    veilwalk::error::word_remedies(remedy::as_flag);
    progress::listen();
    let outcome = match cli.command {
        Command::Demo(args) => command::demo::run(&args),
        Command::Prepare(args) => command::prepare::run(&args),
        Command::Chain(args) => command::chain::run(&args),
        Command::Guarantee(args) => return finish(command::guarantee::run(&args)),
        Command::Analyze(args) => command::analyze::run(&args),
        Command::Compare(args) => command::compare::run(&args),
        Command::Kernel(args) => command::kernel::run(&args),
        Command::Tune(args) => command::tune::run(&args),
        Command::Privatize(args) => command::privatize::run(&args),
        Command::Serve(args) => command::serve::run(&args),
        Command::Verify(args) => command::verify::run(&args),
        Command::Refine(args) => command::refine::run(&args),
        Command::Estimate(args) => command::estimate::run(&args),
        Command::Score(args) => command::score::run(&args),
        Command::Map(args) => command::map::run(&args),
        Command::Attack(args) => command::attack::run(&args),
        Command::Audit(args) => return finish(command::audit::run(&args)),
        Command::Reproduce(args) => command::reproduce::run(&args),
        Command::Ledger(args) => command::ledger::run(&args),
    };
    finish(outcome.map(|()| ExitCode::SUCCESS))
}

/// The command line, with what a configuration file adds to it.
fn parsed() -> anyhow::Result<Cli> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let mut command = with_negative_numbers(Cli::command());
    let serve = command.find_subcommand("serve");
    let configured = match (args.get(1), serve) {
        (Some(name), Some(serve)) if name == "serve" => Configured::read(serve, args)?,
        _ => {
            return Ok(parse(&mut command, &args).unwrap_or_else(|error| terminal::usage(&error)));
        }
    };
    let cli = parse(&mut command, &configured.args);
    Ok(cli.unwrap_or_else(|error| {
        if let Some(places) = configured.blame(&error.to_string()) {
            terminal::note(places);
        }
        terminal::usage(&error)
    }))
}

fn parse(command: &mut clap::Command, args: &[OsString]) -> Result<Cli, clap::Error> {
    let mut matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(command))
}

/// Lets every flag that takes a value take one such as -1: what is wrong with it is then said in the flag's own words.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let all = |arg: clap::Arg| {
        let takes_one = !arg.is_positional() && arg.get_action().takes_values();
        if takes_one { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(all).mut_subcommands(with_negative_numbers)
}

/// The exit status, and what went wrong on standard error.
fn finish(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    match outcome {
        Ok(status) => status,
        Err(error) if error.is::<terminal::OutputClosed>() => {
            terminal::error(&error);
            ExitCode::from(terminal::OutputClosed::STATUS)
        }
        // Whoever reads from us has seen enough, as `head` does.
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(_) if progress::stop_requested() => {
            terminal::stopped(&progress::stopped());
            ExitCode::from(progress::STOPPED)
        }
        Err(error) => {
            terminal::error(&error);
            ExitCode::from(2)
        }
    }
}
