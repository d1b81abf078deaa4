//! What every ledger does, wherever it is kept.

use std::sync::atomic::{AtomicI64, Ordering};

use veilwalk::Promise;
use veilwalk::Rational;
use veilwalk::chain::ChainHash;
use veilwalk_ledger::{Charge, Charged, Ledger, Limit, Problem, Spending, Terms};

pub(crate) fn number(text: &str) -> Rational {
    text.parse().unwrap()
}

pub(crate) fn within(epsilon: &str, radius: &str, release: u8) -> Terms {
    Terms {
        release: [release; 16],
        promise: Promise::within_radius(epsilon.parse().unwrap(), radius.parse().unwrap()).into(),
        chain: ChainHash([7; 32]),
        one_state: Some(number("5")),
        linear: true,
        start_disclosed: false,
    }
}

pub(crate) fn substitutions(epsilon: &str, b: u32, release: u8) -> Terms {
    let promise = Promise::for_substitutions(epsilon.parse().unwrap(), b.try_into().unwrap());
    let one_state = number(epsilon).multiply_rounding_up(Rational::new(1, b.into()).unwrap());
    Terms { promise: promise.into(), one_state, ..within("1", "1", release) }
}

fn of<'a>(person: &'a str, walks: &[&'a str]) -> Vec<Charge<'a>> {
    walks.iter().map(|walk| Charge::of_walk(walk).person(person)).collect()
}

fn spent(ledger: &Ledger, person: &str) -> Spending {
    ledger.spending_of(person).unwrap().unwrap()
}

fn refusal(result: Result<Charged, veilwalk_ledger::LedgerError>) -> Problem {
    result.unwrap_err().problem
}

/// All of it, on a ledger that is empty and opened anew for each part.
pub(crate) fn hold(open: impl Fn() -> Ledger) {
    people_and_units(&open());
    budgets(&open());
    windows(open());
    repeats(&open());
    let ledger = open();
    assert_eq!(ledger.entries().unwrap().len(), 37);
    assert_eq!(ledger.budget().unwrap(), None);
}

fn people_and_units(ledger: &Ledger) {
    let names: Vec<String> = (0..30).map(|day| format!("day {day}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let charged = ledger.charge(&within("1/3", "2", 1), &of("ann", &names), None).unwrap();
    assert_eq!(charged, Charged { new: 30, repeated: 0 });
    let ann = spent(ledger, "ann");
    assert_eq!((ann.spent, ann.walks, ann.releases), (Some(number("10")), 30, 30), "thirty times");
    assert_eq!(ann.counted_in.to_string(), "radius 2 nats");
    // The larger radius counts the smaller ones as often as they fit.
    ledger.charge(&within("1", "4", 2), &of("ann", &["day 0"]), None).unwrap();
    let ann = spent(ledger, "ann");
    assert_eq!((ann.spent, ann.walks, ann.releases), (Some(number("21")), 30, 31));
    assert_eq!(ann.counted_in.to_string(), "radius 4 nats");
    // Another kind of unit: all are counted in replaced states.
    ledger.charge(&substitutions("1", 2, 3), &of("ann", &["day 0"]), None).unwrap();
    let ann = spent(ledger, "ann");
    assert_eq!(ann.spent, Some(number("155.5")), "31 times 5, and a half");
    assert!(ann.counted_in.to_string().contains("replaced state"));
    let all = ledger.spending().unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0], ann);
    assert_eq!(ledger.entries_of("ann").unwrap().len(), 32);
    assert!(ledger.spending_of("nobody").unwrap().is_none());
}

fn budgets(ledger: &Ledger) {
    let limit = Some(Limit::in_all(number("1.5")));
    let one = within("1", "2", 10);
    ledger.charge(&one, &of("bob", &["b"]), limit).unwrap();
    let again = Terms { release: [11; 16], ..one };
    // All or nothing, and the message says whose, how much and in what.
    let both = [of("bob", &["b"]), of("eve", &["e"])].concat();
    let error = ledger.charge(&again, &both, limit).unwrap_err();
    let message = error.to_string();
    for part in ["\"bob\" has spent epsilon 1 for radius 2 nats", "1 more", "budget of 1.5"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(ledger.spending_of("eve").unwrap().is_none());
    // In another unit the same budget counts replaced states.
    match refusal(ledger.charge(&substitutions("1", 1, 12), &of("bob", &["b"]), limit)) {
        Problem::OverBudget { spent, unit, .. } => {
            assert_eq!(spent, number("5"));
            assert!(unit.contains("replaced state"), "{unit}");
        }
        other => panic!("{other}"),
    }
    // A budget that the ledger keeps holds without being given, and beside one that is.
    ledger.set_budget(limit).unwrap();
    assert_eq!(ledger.budget().unwrap(), limit);
    let large = Some(Limit::in_all(number("100")));
    for given in [None, large] {
        let refused = refusal(ledger.charge(&again, &of("bob", &["b"]), given));
        assert!(matches!(refused, Problem::OverBudget { .. }), "{refused}");
    }
    let tight = Some(Limit::in_all(number("1/2")));
    let refused = refusal(ledger.charge(&again, &of("cid", &["c"]), tight));
    assert!(matches!(refused, Problem::OverBudget { .. }), "{refused}");
    // Several walks of one person in one charge count one by one.
    let refused = refusal(ledger.charge(&again, &of("cid", &["c", "d"]), None));
    assert!(matches!(refused, Problem::OverBudget { others: 0, .. }), "{refused}");
    ledger.set_budget(None).unwrap();
    ledger.charge(&again, &of("bob", &["b"]), None).unwrap();
}

static NOW: AtomicI64 = AtomicI64::new(0);

fn windows(ledger: Ledger) {
    let ledger = ledger.with_clock(|| NOW.load(Ordering::Relaxed));
    let day = 86_400;
    let limit = Some(Limit::within(number("1"), "30d".parse().unwrap()));
    let at = |now: i64, release| {
        NOW.store(now, Ordering::Relaxed);
        ledger.charge(&within("1", "2", release), &of("dan", &["d"]), limit)
    };
    at(1000 * day, 20).unwrap();
    match refusal(at(1030 * day, 21)) {
        Problem::OverBudget { window, .. } => assert_eq!(window.unwrap().to_string(), "30d"),
        other => panic!("{other}"),
    }
    at(1030 * day + 1, 21).unwrap();
    // A clock that was put back makes nothing cheaper: both count now.
    match refusal(at(10, 22)) {
        Problem::OverBudget { spent, .. } => assert_eq!(spent, number("2")),
        other => panic!("{other}"),
    }
    NOW.store(1030 * day + 1, Ordering::Relaxed);
    ledger.set_budget(limit).unwrap();
    let dan = spent(&ledger, "dan");
    assert_eq!((dan.spent, dan.recent), (Some(number("2")), Some(number("1"))));
    ledger.set_budget(None).unwrap();
}

fn repeats(ledger: &Ledger) {
    let terms = within("1", "2", 30);
    let known = |digest| [Charge::of_walk("w").digest(Some([digest; 16]))];
    let limit = Some(Limit::in_all(number("1")));
    assert_eq!(ledger.charge(&terms, &known(1), limit).unwrap(), Charged { new: 1, repeated: 0 });
    assert_eq!(ledger.charge(&terms, &known(1), limit).unwrap(), Charged { new: 0, repeated: 1 });
    let other_terms = Terms { start_disclosed: true, ..terms };
    let other_person = [known(1)[0].person("somebody else")];
    for result in [
        ledger.charge(&terms, &known(2), None),
        ledger.charge(&terms, &[Charge::of_walk("w")], None),
        ledger.charge(&other_terms, &known(1), None),
        ledger.charge(&terms, &other_person, None),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains("Leave the release id out"), "{message}");
        assert!(message.contains(&"1e".repeat(16)), "{message}");
    }
    let two = [Charge::of_walk("v").person("a"), Charge::of_walk("v").person("b")];
    assert!(matches!(refusal(ledger.charge(&terms, &two, None)), Problem::TwoPersons { .. }));
    assert_eq!(spent(ledger, "w").releases, 1);
}
