//! Answers with their status: which refusal is whose fault, and what to do about it.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Value, json};
use veilwalk_live::Refusal;

/// An answer in JSON.
pub(super) fn json_answer(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => answer(status, "application/json", bytes),
        Err(_) => answer(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", Vec::new()),
    }
}

/// An answer as it is.
pub(super) fn answer(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// A refusal: a word for programs, and a sentence for people.
pub(super) fn refused(status: StatusCode, code: &str, error: &str) -> Response {
    json_answer(status, &json!({ "code": code, "error": error }))
}

/// The refusal of the engine.
pub(super) fn refusal(refusal: &Refusal) -> Response {
    let status = match refusal {
        Refusal::Gap { .. } => StatusCode::CONFLICT,
        Refusal::Forgotten { .. } | Refusal::RestForgotten { .. } | Refusal::Over { .. } => {
            StatusCode::GONE
        }
        Refusal::NoSuchWalk => StatusCode::NOT_FOUND,
        Refusal::UnknownState { .. } | Refusal::NoSteps | Refusal::TooLong { .. } => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        Refusal::TooManyWalks { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Budget(_) => StatusCode::FORBIDDEN,
        Refusal::Ledger(_) | Refusal::Store(_) | Refusal::Busy | Refusal::Stopping => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let mut body = json!({ "code": refusal.code(), "error": refusal.to_string() });
    // For clients that go on by themselves.
    if let Refusal::Gap { expected, .. } = refusal {
        body["next"] = Value::from(*expected);
    }
    let mut answer = json_answer(status, &body);
    let later = matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS);
    if later {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}
