//! What a request says, and what is said in return.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use veilwalk::chain::UnknownState;
use veilwalk::{Chain, Mechanism};
use veilwalk_io::UnknownStates;
use veilwalk_live::{Answer, Step};

/// The body of a request: one step, or a list of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    step: Option<u64>,
    state: Option<String>,
    steps: Option<Vec<Posted>>,
    person: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posted {
    step: u64,
    state: String,
}

/// What is said to whoever publishes something else.
pub(super) const BROKER_EXAMPLE: &str = "send {\"step\": 0, \"state\": \"…\"}, {\"steps\": [{\"step\": 0, \"state\": \"…\"}]} or \
                                         {\"end\": true}";

/// Whether a message of a broker says that the walk is over.
pub(super) fn is_end(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct End {
        end: bool,
    }
    // Most messages are steps, which are longer.
    body.len() < 64 && serde_json::from_slice(body).is_ok_and(|End { end }| end)
}

/// Steps that were posted.
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
    /// Whose walk it is.
    pub(super) person: Option<String>,
    pub(super) form: Form,
}

/// How steps were posted, and are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    One,
    List,
}

/// The answer to the end of a walk.
#[derive(Serialize)]
pub(super) struct Ended<'a> {
    pub(super) ended: bool,
    pub(super) steps: u64,
    /// Those that had not come yet, where answers come later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answers: Option<Vec<Answered<'a>>>,
}

/// The answer to a step.
#[derive(Serialize)]
pub(super) struct Answered<'a> {
    step: u64,
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<Cow<'a, str>>,
    replayed: bool,
}

impl Steps {
    /// Reads a body. The error is for whoever sent it, and for nobody else.
    pub(super) fn read(
        body: &[u8],
        chain: &Chain,
        unknown_states: UnknownStates,
    ) -> Result<Self, String> {
        const EXAMPLE: &str = "send {\"step\": 0, \"state\": \"…\"} or {\"steps\": [{\"step\": 0, \
                               \"state\": \"…\"}]}";
        let body: Body =
            serde_json::from_slice(body).map_err(|error| format!("{error}; {EXAMPLE}"))?;
        let (posted, form) = match (body.step, body.state, body.steps) {
            (Some(step), Some(state), None) => (vec![Posted { step, state }], Form::One),
            (None, None, Some(steps)) => (steps, Form::List),
            _ => return Err(EXAMPLE.to_owned()),
        };
        let step = |Posted { step, state }: Posted| {
            let real = match (chain.state(&state), unknown_states) {
                (Some(real), _) | (None, UnknownStates::Replace(real)) => Ok(real),
                // Which state was meant is looked for only if this step is refused for it.
                (None, _) => Err(UnknownState { label: state, closest: None }),
            };
            Step { number: step, real }
        };
        let steps = posted.into_iter().map(step).collect();
        Ok(Self { steps, person: body.person, form })
    }
}

impl<'a> Answered<'a> {
    pub(super) fn new(answer: &Answer, mechanism: &'a Mechanism) -> Self {
        let (chain, outcomes) = (mechanism.model().chain(), mechanism.outcomes());
        Self {
            step: answer.number,
            state: chain.label(answer.state),
            observed: answer.observed.map(|seen| outcomes.text(seen)),
            replayed: answer.replayed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Steps, String> {
        Steps::read(body.as_bytes(), &Chain::credit(), UnknownStates::Refuse)
    }

    #[test]
    fn one_step_or_a_list_is_read() {
        let one = read(r#"{"step": 3, "state": "Caa"}"#).unwrap();
        assert_eq!((one.form, one.steps.len(), one.steps[0].number), (Form::One, 1, 3));
        let list = r#"{"person": "ann", "steps": [{"step": 0, "state": "B"}, {"state": "caa", "step": 1}]}"#;
        let list = read(list).unwrap();
        assert_eq!((list.form, list.person.as_deref()), (Form::List, Some("ann")));
        assert!(list.steps[0].real.is_ok());
        let unknown = list.steps[1].real.as_ref().unwrap_err();
        assert_eq!(
            (unknown.label.as_str(), &unknown.closest),
            ("caa", &None),
            "not looked for yet"
        );
        let other = UnknownStates::Replace(Chain::credit().require("B").unwrap());
        let body = br#"{"step": 0, "state": "no"}"#;
        assert!(Steps::read(body, &Chain::credit(), other).unwrap().steps[0].real.is_ok());
    }

    #[test]
    fn an_end_is_told_from_steps() {
        assert!(is_end(br#"{"end": true}"#) && is_end(br#" { "end" : true } "#));
        for other in ["", "{}", r#"{"end": false}"#, r#"{"end": 1}"#, r#"{"end": true, "step": 0}"#]
        {
            assert!(!is_end(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for body in [
            "",
            "[]",
            "3",
            "{}",
            r#"{"step": 0}"#,
            r#"{"state": "B"}"#,
            r#"{"step": -1, "state": "B"}"#,
            r#"{"step": 1.5, "state": "B"}"#,
            r#"{"step": 0, "state": 7}"#,
            r#"{"step": 0, "state": "B", "steps": []}"#,
            r#"{"step": 0, "state": "B", "more": 1}"#,
            r#"{"step": 0, "step": 1, "state": "B"}"#,
            r#"{"steps": [{"step": 0}]}"#,
            r#"{"step": 18446744073709551616, "state": "B"}"#,
        ] {
            assert!(read(body).is_err_and(|error| error.contains("send {")), "{body}");
        }
    }
}
