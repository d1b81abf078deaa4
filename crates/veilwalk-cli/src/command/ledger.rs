//! `veilwalk ledger`: what was spent on each person, and what may be.

use std::path::PathBuf;

use anyhow::{Result, bail};
use comfy_table::CellAlignment;
use veilwalk::Rational;
use veilwalk::internal::mechanism::Budget;
use veilwalk::mechanism::Unit;
use veilwalk_ledger::{Entry, Ledger, Limit, Spending, Window, migrate, shown};

use crate::args::{self, Format, counted};
use crate::terminal;

/// Look at a budget ledger, or set what it allows
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Show(Show),
    SetBudget(SetBudget),
    Migrate(Migrate),
}

/// Print how much epsilon was spent on each person
///
/// A person's walks add up: thirty walks cost thirty times epsilon. The total is counted in the largest
/// radius or number of substitutions among the person's releases, and in replaced states (one in each
/// walk) where they cannot be compared.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The ledger: a file, or postgres://…
    ledger: PathBuf,

    /// Only this person, with every release
    #[arg(long, value_name = "NAME")]
    person: Option<String>,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Keep a budget in a ledger, so that every run is held to it
///
/// A run with --budget is held to both.
#[derive(Debug, clap::Args)]
pub(crate) struct SetBudget {
    /// The ledger: a file, or postgres://…
    ledger: PathBuf,

    /// What each person may spend
    #[arg(value_name = "E", required_unless_present = "remove", allow_negative_numbers = true)]
    budget: Option<Budget>,

    /// Count only what was released in this time, such as 30d
    #[arg(long, value_name = "SPAN", conflicts_with = "remove")]
    window: Option<Window>,

    /// Take the budget away
    #[arg(long, conflicts_with = "budget")]
    remove: bool,
}

/// Convert a ledger from an earlier version
///
/// An earlier ledger records less. Its entries can be added to releases on the same chain, within the
/// same radius or a smaller one. They cannot be added to other releases, and a budget refuses those.
#[derive(Debug, clap::Args)]
pub(crate) struct Migrate {
    /// The earlier ledger, which stays as it is
    old: PathBuf,

    /// The new ledger
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn run(command: &Command) -> Result<()> {
    match command {
        Command::Show(args) => show(args),
        Command::SetBudget(args) => set_budget(args),
        Command::Migrate(args) => migrate_old(args),
    }
}

fn set_budget(args: &SetBudget) -> Result<()> {
    let ledger = Ledger::open_existing(&args.ledger)?;
    let limit = args.budget.map(|budget| Limit { budget: budget.value(), window: args.window });
    ledger.set_budget(limit)?;
    terminal::note(match limit {
        Some(limit) => format!("{}: {}", ledger.name(), in_words(&limit)),
        None => format!("{}: no budget is kept", ledger.name()),
    });
    Ok(())
}

fn migrate_old(args: &Migrate) -> Result<()> {
    if args::is_standard_output(&args.output) || veilwalk_ledger::is_server(&args.output) {
        bail!("a ledger is migrated to a file; give -o the name of one");
    }
    let migrated = migrate(&args.old, &args.output)?;
    terminal::note(format!(
        "wrote {}: {}, counted for {}",
        args.output.display(),
        counted(migrated.walks, "walk"),
        migrated.unit
    ));
    if matches!(migrated.unit, Unit::Radius(_)) {
        terminal::warning(
            "what was migrated adds up with releases on the same chain within this radius or a smaller \
             one; with a budget, others of the same walks are refused",
        );
    }
    Ok(())
}

fn in_words(limit: &Limit) -> String {
    match limit.window {
        Some(window) => format!("each person may spend epsilon {} in {window}", limit.budget),
        None => format!("each person may spend epsilon {} in all", limit.budget),
    }
}

fn show(args: &Show) -> Result<()> {
    let ledger = Ledger::open_existing(&args.ledger)?;
    let budget = ledger.budget()?;
    let (people, entries) = match &args.person {
        None => (ledger.spending()?, None),
        Some(person) => match ledger.spending_of(person)? {
            Some(spending) => (vec![spending], Some(ledger.entries_of(person)?)),
            None => bail!("{}: nothing was released of {person:?}", ledger.name()),
        },
    };
    match args.format {
        Format::Json => {
            let answer = shown(&ledger, args.person.as_deref())?;
            terminal::print(format_args!("{answer:#}"))?;
        }
        Format::Text => {
            if let Some(limit) = &budget {
                terminal::note(in_words(limit));
            }
            print_people(&people, budget)?;
            if let Some(entries) = entries {
                print_entries(&entries)?;
            }
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn print_people(people: &[Spending], budget: Option<Limit>) -> Result<()> {
    let window = budget.and_then(|limit| limit.window);
    let last = window.map(|window| format!("in {window}"));
    let disclosed = people.iter().any(|person| person.starts_disclosed > 0);
    let mut header = vec!["person", "epsilon"];
    header.extend(last.as_deref());
    header.extend(["walks", "releases"]);
    header.extend(disclosed.then_some("first states disclosed"));
    let right = header.len();
    header.push("counted in");
    let mut table = terminal::table(&header);
    for person in people {
        let shown = |value: Option<Rational>| value.map_or("unknown".to_owned(), |v| v.to_string());
        let mut row = vec![person.person.clone(), shown(person.spent)];
        row.extend(window.map(|_| shown(person.recent)));
        row.extend([person.walks.to_string(), person.releases.to_string()]);
        row.extend(disclosed.then(|| person.starts_disclosed.to_string()));
        row.push(person.counted_in.to_string());
        table.add_row(row);
    }
    for column in table.column_iter_mut().take(right).skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    terminal::print(terminal::lines(&table))
}

fn print_entries(entries: &[Entry]) -> Result<()> {
    let mut table =
        terminal::table(&["walk", "epsilon", "unit", "one replaced state", "release id"]);
    for entry in entries {
        let terms = &entry.terms;
        table.add_row([
            entry.walk.clone(),
            terms.promise.epsilon.to_string(),
            terms.promise.unit.to_string(),
            terms.one_state.map_or("unknown".to_owned(), |loss| format!("{:.4}", loss.as_f64())),
            hex(&terms.release),
        ]);
    }
    terminal::print("")?;
    terminal::print(terminal::lines(&table))
}
