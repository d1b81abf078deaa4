//! A fit that may be published: noisy counts of public moves.

use std::num::NonZeroU32;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use veilwalk::Chain;
use veilwalk::chain::{Collected, FitTally, FitTerms, PrivateFit};
use veilwalk::mechanism::Epsilon;
use veilwalk::random::{ReleaseId, SourceKind};
use veilwalk_io::{AtomicFile, ChainText, ReadError, ReadErrorKind};
use veilwalk_ledger::{Charge, Ledger, Loss, LossUnit, Terms};

use super::Args;
use crate::args::{self, Input, counted, is_standard_output, thousands};
use crate::terminal;

pub(super) fn run(args: &Args, epsilon: Epsilon) -> Result<()> {
    let (person_column, max_moves) = args.person_and_moves()?;
    args.settle_outputs()?;
    let terms = args.terms(epsilon, max_moves)?;
    let source = args.randomness.source()?;
    let release_id = source.release_id().map_or_else(ReleaseId::random, Ok)?;
    let graph = args.graph.read(args.scope())?;
    let ledger = args.budget.open()?;
    let collected = args.collect(PrivateFit::new(&graph, terms, &source)?, person_column)?;
    let tally = collected.tally();
    let tables = args.tables.create()?;
    let output = match is_standard_output(&args.output) {
        true => None,
        false => Some(AtomicFile::create(&args.output)?),
    };
    if source.kind() == SourceKind::Seeded {
        terminal::warning(
            "fitted with --seed: whoever knows the seed can undo the noise. This chain is NOT private; \
             use it for tests only",
        );
    }
    terminal::note(format!("release id {release_id}"));
    if let Some(ledger) = &ledger {
        args.charge(ledger, &collected, terms, &graph, release_id)?;
    }
    let fitted = collected.release()?;
    let comments = comments(terms, source.kind(), release_id);
    let counts = args.counts.then_some(&fitted.counts[..]);
    // First the files beside the chain: a chain that is there is complete.
    tables.write(&fitted)?;
    let text = ChainText { comments: &comments, counts, ..ChainText::default() };
    let name = super::super::write_to(&fitted.chain, text, output)?;
    tell(&name, &fitted.chain, terms);
    tell_tally(&args.walks, tally);
    Ok(())
}

impl Args {
    fn person_and_moves(&self) -> Result<(&str, NonZeroU32)> {
        let Some(person) = self.person_column.as_deref() else {
            bail!(
                "--person-column is missing: --epsilon protects persons, so say whose walk each is. Where \
                 every walk is of another person, give --person-column {}",
                args::quoted(&self.columns.trajectory_column)
            );
        };
        let Some(max_moves) = self.max_moves else {
            bail!(
                "--max-moves is missing: say how many moves of one person are counted at most, such as \
                 --max-moves 20. Choose it by what is known without the walks, such as how long walks \
                 can be"
            );
        };
        Ok((person, max_moves))
    }

    fn terms(&self, epsilon: Epsilon, max_moves: NonZeroU32) -> Result<FitTerms> {
        let terms = self.tables.share(FitTerms::new(epsilon.value(), max_moves)?)?;
        match self.floor {
            Some(floor) => Ok(terms.with_floor(floor).context("--floor")?),
            None => Ok(terms),
        }
    }

    /// Everything that is read, and the ledger.
    fn inputs(&self) -> Vec<Input<'_>> {
        let mut inputs = vec![(Path::new(&self.walks), "the walks")];
        inputs.extend(self.graph.inputs());
        inputs.extend(self.budget.input());
        inputs
    }

    fn settle_outputs(&self) -> Result<()> {
        let mut inputs = self.inputs();
        self.randomness.refuse_known_secret(&inputs)?;
        inputs.extend(self.randomness.input());
        super::super::settle_output(&self.output, &inputs)?;
        inputs.push((&self.output, "the chain"));
        self.tables.settle_outputs(&mut inputs)
    }

    fn input_name(&self) -> &str {
        if self.walks == "-" { "standard input" } else { &self.walks }
    }

    fn collect<'a>(&self, mut fit: PrivateFit<'a>, person: &str) -> Result<Collected<'a>> {
        let same = person.trim() == self.columns.trajectory_column.trim();
        let more = if same { Vec::new() } else { vec![person.to_owned()] };
        let read = self.each_row(&more, |row| {
            let owner = if same { row.trajectory } else { row.kept.clone().next().unwrap_or("") };
            let failed = |kind| ReadError::at(self.input_name(), row.place, kind);
            if owner.is_empty() {
                let column = person.to_owned();
                return Err(failed(ReadErrorKind::EmptyField { column }).into());
            }
            let added = fit.add(owner, row.trajectory, row.state);
            added.map_err(|two| {
                let kind = ReadErrorKind::OtherPerson {
                    name: two.walk,
                    first: two.first,
                    second: two.second,
                };
                failed(kind).into()
            })
        });
        read.map_err(|error| match error.downcast::<ReadError>() {
            Ok(error) => match error.kind() {
                ReadErrorKind::MissingColumn { column, found, .. } if column == person => anyhow!(
                    "{}: there is no column {column:?} for --person-column; the columns are {}",
                    self.walks,
                    found.join(", ")
                ),
                _ => error.into(),
            },
            Err(other) => other,
        })?;
        Ok(fit.collected())
    }

    /// Charges every person, whose walks may all be replaced.
    fn charge(
        &self,
        ledger: &Ledger,
        collected: &Collected<'_>,
        terms: FitTerms,
        graph: &Chain,
        release: ReleaseId,
    ) -> Result<()> {
        let epsilon = terms.replaced_person().and_then(Epsilon::new);
        let Some(epsilon) = epsilon else {
            bail!("epsilon {} is beyond what a ledger can count", terms.epsilon());
        };
        let entry = Terms {
            release: release.to_bytes(),
            promise: Loss { epsilon, unit: LossUnit::Person },
            chain: graph.hash(),
            one_state: terms.one_state(),
            linear: true,
            start_disclosed: false,
        };
        let digest = collected.digest();
        let charges: Vec<Charge<'_>> =
            collected.persons().map(|person| Charge::of_person(person).digest(digest)).collect();
        let charged = ledger.charge(&entry, &charges, self.budget.limit())?;
        if charged.repeated > 0 {
            terminal::note(
                "the same chain was fitted before under this release id, from the same rows: it costs nothing",
            );
        }
        Ok(())
    }
}

/// What the file says of itself: for people, and for programs.
fn comments(terms: FitTerms, source: SourceKind, release_id: ReleaseId) -> Vec<String> {
    let private = source != SourceKind::Seeded;
    let promise = format!(
        "Fitted with noise: one person added or removed, with all walks, changes the odds of this chain by a \
         factor of at most exp({}).",
        terms.epsilon()
    );
    let figures = json!({ "private_fit": {
        "veilwalk": env!("CARGO_PKG_VERSION"),
        "private": private,
        "epsilon": terms.epsilon().to_string(),
        "epsilon_person_replaced": terms.replaced_person().map(|all| all.to_string()),
        "epsilon_one_state_replaced": terms.one_state().map(|all| all.to_string()),
        "max_moves": terms.max_moves(),
        "starts_share": terms.starts_share().to_string(),
        "ends_share": terms.ends_share().to_string(),
        "lengths_share": terms.lengths_share().to_string(),
        "longest_walk": terms.longest(),
        "floor": terms.floor().to_string(),
        "release_id": release_id.to_string(),
    }});
    let seeded = "NOT private: the noise comes from a seed that anybody may know.".to_owned();
    let mut comments = vec![if private { promise } else { seeded }];
    comments.push(figures.to_string());
    comments
}

fn tell(name: &str, chain: &Chain, terms: FitTerms) {
    let scale = 1.0 / terms.moves_rate().as_f64();
    terminal::note(format!(
        "{name}: {} and {}; epsilon {} for each person, of whom {} at most are counted; the noise on a count \
         is {scale:.1} on average",
        counted(chain.len(), "state"),
        counted(chain.transitions(), "transition"),
        terms.epsilon(),
        counted(terms.max_moves().get() as usize, "move"),
    ));
}

/// What only whoever holds the walks may know.
fn tell_tally(walks: &str, tally: FitTally) {
    let number = |count: u64| thousands(count as usize);
    let some = |count: u64, what: &str, which: &str| {
        (count > 0).then(|| format!("; {} {which}", counted(count as usize, what)))
    };
    let left_out = [
        some(tally.unknown_states, "row", "with a state that is not public"),
        some(tally.unknown_moves, "move", "that the public graph does not have"),
        some(tally.clipped, "person", "with more moves than are counted"),
    ];
    let left_out = left_out.into_iter().flatten().collect::<String>();
    terminal::note(format!(
        "for your eyes only, because this is not protected: {} of {} public moves were counted, of {} in {}{left_out}",
        number(tally.counted),
        number(tally.moves),
        counted(tally.persons as usize, "person"),
        counted(tally.walks as usize, "walk"),
    ));
    if tally.counted == 0 {
        terminal::warning(format!(
            "{walks}: not a single public move was counted, so the chain is noise alone; check --edges, \
             --state-column and --trajectory-column"
        ));
    }
}
