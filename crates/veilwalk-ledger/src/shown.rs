//! A ledger as JSON, as the command and Python show it.

use serde_json::{Map, Value, json};
use veilwalk::Rational;
use veilwalk::mechanism::Unit;

use crate::entry::{Entry, hex};
use crate::error::LedgerError;
use crate::ledger::{Ledger, Spending};
use crate::total::CountedIn;

/// The budget that is kept, and what was spent on each person; or on one, with every release.
///
/// # Errors
///
/// If the ledger cannot be read, is damaged, or a total is beyond what can be counted.
pub fn shown(ledger: &Ledger, person: Option<&str>) -> Result<Value, LedgerError> {
    let people = match person {
        None => ledger.spending()?,
        Some(person) => ledger.spending_of(person)?.into_iter().collect(),
    };
    let spent: Map<_, _> =
        people.iter().map(|one| (one.person.clone(), person_json(one))).collect();
    let budget = ledger.budget()?.map(|limit| {
        let mut value = number_json(limit.budget);
        value["window"] = json!(limit.window.map(|window| window.to_string()));
        value
    });
    let mut answer = json!({ "budget": budget, "spent": spent });
    if let Some(person) = person {
        answer["releases"] = ledger.entries_of(person)?.iter().map(entry_json).collect();
    }
    Ok(answer)
}

fn number_json(value: Rational) -> Value {
    json!({ "epsilon": value.as_f64(), "exact": value.to_string() })
}

fn person_json(person: &Spending) -> Value {
    let mut value = match person.spent {
        Some(spent) => number_json(spent),
        None => json!({ "epsilon": null, "exact": null }),
    };
    value["unit"] = json!(person.counted_in.to_string());
    if let CountedIn::Unit(Unit::Radius(_), chain) = person.counted_in {
        value["chain"] = json!(chain.to_string());
    }
    if let Some(recent) = person.recent {
        value["in_window"] = number_json(recent);
    }
    value["walks"] = json!(person.walks);
    value["releases"] = json!(person.releases);
    value["first_states_disclosed"] = json!(person.starts_disclosed);
    value
}

fn entry_json(entry: &Entry) -> Value {
    let mut value = number_json(entry.terms.promise.epsilon.value());
    value["walk"] = json!(entry.walk);
    value["release_id"] = json!(hex(&entry.terms.release));
    value["unit"] = json!(entry.terms.promise.unit.to_string());
    value["chain"] = json!(entry.terms.chain.to_string());
    value["linear"] = json!(entry.terms.linear);
    value["one_replaced_state"] = json!(entry.terms.one_state.map(|loss| loss.to_string()));
    value["first_state_disclosed"] = json!(entry.terms.start_disclosed);
    value["releases"] = json!(entry.releases);
    value["charged"] = json!(entry.charged);
    value
}
