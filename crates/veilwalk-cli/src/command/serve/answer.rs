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
    let (status, code) = match refusal {
        Refusal::Gap { .. } => (StatusCode::CONFLICT, "gap"),
        Refusal::Forgotten { .. } => (StatusCode::GONE, "forgotten"),
        Refusal::Over { .. } => (StatusCode::GONE, "over"),
        Refusal::NoSuchWalk => (StatusCode::NOT_FOUND, "no-such-walk"),
        Refusal::UnknownState { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "unknown-state"),
        Refusal::NoSteps => (StatusCode::UNPROCESSABLE_ENTITY, "no-steps"),
        Refusal::TooManyWalks { .. } => (StatusCode::TOO_MANY_REQUESTS, "too-many-walks"),
        Refusal::Budget(_) => (StatusCode::FORBIDDEN, "budget"),
        Refusal::Ledger(_) => (StatusCode::SERVICE_UNAVAILABLE, "ledger"),
        Refusal::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "store"),
        Refusal::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
        Refusal::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
    };
    let mut body = json!({ "code": code, "error": refusal.to_string() });
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
