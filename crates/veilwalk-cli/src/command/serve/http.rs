//! The service as routes: what is asked over HTTP, handed to the engine, and answered.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use tokio::sync::oneshot;
use tokio::time::timeout;
use veilwalk::Mechanism;
use veilwalk_io::UnknownStates;
use veilwalk_live::{self as live, Ask, Delay, Done, Live, Refusal, WalkName};

use super::answer::{answer, json_answer, refusal, refused};
use super::connections::Peer;
use super::http_rate::{Client, Rate};
use super::message::{Answered, Ended, Form, Steps};
use super::metrics::{self, Requests};
use super::tokens::Tokens;
use crate::terminal;

/// What is described to programs.
const OPENAPI: &str = include_str!("openapi.json");

/// How long a body may take to come.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Whether a ledger counts what persons' walks cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persons {
    Counted,
    NotCounted,
}

/// What all requests share.
pub(super) struct App {
    live: Live,
    mechanism: Arc<Mechanism>,
    delay: Delay,
    unknown_states: UnknownStates,
    tokens: Option<Tokens>,
    rate: Option<Rate>,
    max_body: usize,
    persons: Persons,
    requests: Requests,
    /// Whether the last answer could not be stored, and that was said.
    in_trouble: AtomicBool,
    draining: AtomicBool,
}

type Shared = State<Arc<App>>;
type Named = Result<Path<String>, PathRejection>;

impl App {
    pub(super) fn new(
        live: Live,
        mechanism: Arc<Mechanism>,
        delay: Delay,
        unknown_states: UnknownStates,
        tokens: Option<Tokens>,
        max_body: usize,
        persons: Persons,
    ) -> Self {
        let (requests, in_trouble, draining) = Default::default();
        Self {
            live,
            mechanism,
            delay,
            unknown_states,
            tokens,
            rate: None,
            max_body,
            persons,
            requests,
            in_trouble,
            draining,
        }
    }

    pub(super) fn router(self: Arc<Self>) -> Router {
        let nothing_here = || async {
            let error = "there is nothing here; see docs/serve.md for what is";
            refused(StatusCode::NOT_FOUND, "no-such-path", error)
        };
        let open = || async { answer(StatusCode::OK, "application/json", OPENAPI) };
        let private = Router::new()
            .route("/v1/walks/{walk}/steps", post(post_steps))
            .route("/v1/walks/{walk}", delete(delete_walk))
            .route("/metrics", get(get_metrics))
            .layer(DefaultBodyLimit::max(self.max_body))
            .layer(middleware::from_fn_with_state(self.clone(), check_token));
        Router::new()
            .merge(private)
            .route("/healthz", get(|| async { "alive\n" }))
            .route("/readyz", get(get_ready))
            .route("/openapi.json", get(open))
            .fallback(nothing_here)
            .method_not_allowed_fallback(|| async {
                let error = "this path takes another method; see docs/serve.md for which";
                refused(StatusCode::METHOD_NOT_ALLOWED, "method", error)
            })
            .layer(middleware::from_fn_with_state(self.clone(), count))
            .with_state(self)
    }

    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    pub(super) fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    pub(super) fn unknown_states(&self) -> UnknownStates {
        self.unknown_states
    }

    pub(super) fn max_body(&self) -> usize {
        self.max_body
    }

    pub(super) fn persons(&self) -> Persons {
        self.persons
    }

    /// Lets each client ask only so often.
    pub(super) fn limiting(self, rate: Option<Rate>) -> Self {
        Self { rate, ..self }
    }

    /// From here on others should ask another instance.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether no request can be answered any more.
    pub(super) fn engine_has_stopped(&self) -> bool {
        self.live.has_stopped()
    }

    /// Hands a request to the engine, and waits for its outcome.
    async fn ask(&self, request: live::Request) -> Result<Done, Refusal> {
        let (sender, outcome) = oneshot::channel();
        // Whoever asked may have gone: the answer is stored, and comes when they ask again.
        self.live.ask(request, move |outcome| drop(sender.send(outcome)))?;
        let outcome = outcome.await.unwrap_or(Err(Refusal::Stopping));
        self.tell_trouble(&outcome);
        outcome
    }

    /// Says once that answers cannot be stored, and once that they can again.
    pub(super) fn tell_trouble(&self, outcome: &Result<Done, Refusal>) {
        match outcome {
            Err(error @ (Refusal::Store(_) | Refusal::Ledger(_) | Refusal::Draw(_)))
                if !self.in_trouble.swap(true, Ordering::Relaxed) =>
            {
                terminal::warning(error);
            }
            Ok(_) if self.in_trouble.swap(false, Ordering::Relaxed) => {
                terminal::note("answers are stored again");
            }
            _ => {}
        }
    }
}

async fn post_steps(State(app): Shared, walk: Named, request: Request) -> Response {
    let walk = match name(walk) {
        Ok(walk) => walk,
        Err(error) => return refused(StatusCode::BAD_REQUEST, "name", &error),
    };
    // A web page of elsewhere cannot send this type without asking first, and is never allowed to.
    if !is_json(&request) {
        let error = "post JSON, with the header `Content-Type: application/json`";
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", error);
    }
    let body = match timeout(BODY_TIME, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let error = format!(
                "the body is longer than {} bytes; post fewer steps at a time",
                app.max_body
            );
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "too-long", &error);
        }
        Ok(Err(error)) => return refused(error.status(), "body", &error.body_text()),
        Err(_) => {
            let error = "the body took too long to come; post it again";
            return refused(StatusCode::REQUEST_TIMEOUT, "timeout", error);
        }
    };
    let chain = app.mechanism.model().chain();
    let Steps { steps, person, form } = match Steps::read(&body, chain, app.unknown_states) {
        Ok(steps) => steps,
        Err(error) => return refused(StatusCode::BAD_REQUEST, "body", &error),
    };
    if person.is_some() && app.persons == Persons::NotCounted {
        let error =
            "`person` is for a ledger, and this service was started without --ledger; leave it out";
        return refused(StatusCode::BAD_REQUEST, "person", error);
    }
    match app.ask(live::Request { walk, person, ask: Ask::Steps(steps) }).await {
        Ok(Done::Answered(answers)) => {
            let answers: Vec<_> =
                answers.iter().map(|a| Answered::new(a, &app.mechanism)).collect();
            match (form, &answers[..]) {
                (Form::One, [answer]) if app.delay == Delay::None => {
                    json_answer(StatusCode::OK, answer)
                }
                _ => json_answer(StatusCode::OK, &answers),
            }
        }
        Ok(Done::Ended { .. }) => refusal(&Refusal::Stopping),
        Err(Refusal::UnknownState { number, unknown }) => {
            let unknown = chain.unknown(&unknown.label);
            refusal(&Refusal::UnknownState { number, unknown })
        }
        Err(error) => refusal(&error),
    }
}

async fn delete_walk(State(app): Shared, walk: Named) -> Response {
    let walk = match name(walk) {
        Ok(walk) => walk,
        Err(error) => return refused(StatusCode::BAD_REQUEST, "name", &error),
    };
    match app.ask(live::Request::end(&walk)).await {
        Ok(Done::Ended { steps, rest }) => {
            let rest = rest.iter().map(|answer| Answered::new(answer, &app.mechanism)).collect();
            let answers = (app.delay != Delay::None).then_some(rest);
            json_answer(StatusCode::OK, &Ended { ended: true, steps, answers })
        }
        Ok(Done::Answered(_)) => refusal(&Refusal::Stopping),
        Err(error) => refusal(&error),
    }
}

async fn get_metrics(State(app): Shared) -> Response {
    let text = metrics::text(app.live.figures(), &app.requests);
    answer(StatusCode::OK, "text/plain; version=0.0.4", text)
}

async fn get_ready(State(app): Shared) -> Response {
    if app.draining.load(Ordering::Relaxed) || !app.live.is_ready() {
        let error = "answers cannot be stored, or the service is about to stop";
        return refused(StatusCode::SERVICE_UNAVAILABLE, "not-ready", error);
    }
    "ready\n".into_response()
}

/// The walk in the path, or what is wrong with it.
fn name(path: Named) -> Result<WalkName, String> {
    let Path(name) = path.map_err(|error| error.body_text())?;
    name.parse().map_err(|error: live::NotAName| error.to_string())
}

fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Whether a request names this machine. A web page whose name was made to lead here names another.
fn is_for_here(request: &Request) -> bool {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| {
        let host = host.host();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    })
}

async fn check_token(State(app): Shared, request: Request, next: Next) -> Response {
    if app.tokens.is_none() && !is_for_here(&request) {
        let error =
            "without --tokens, requests have to name localhost or a loopback address as their host";
        return refused(StatusCode::MISDIRECTED_REQUEST, "host", error);
    }
    let header = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let peer = request.extensions().get::<Peer>().map_or(IpAddr::from([0; 4]), |peer| peer.0);
    let client = match &app.tokens {
        None => Some(Client::at(peer)),
        Some(tokens) => tokens.find(header).map(Client::Token),
    };
    if let Some(client) = client {
        let rate = app.rate.as_ref().map(|rate| rate.take(client, Instant::now()));
        if let Some(Err(wait)) = rate {
            return too_often(wait);
        }
        return next.run(request).await;
    }
    let error = "give a token of this service as `Authorization: Bearer TOKEN`";
    let mut refused = refused(StatusCode::UNAUTHORIZED, "token", error);
    let challenge = HeaderValue::from_static("Bearer");
    refused.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    refused
}

fn too_often(wait: Duration) -> Response {
    let error =
        "more requests than this service takes from one client; wait, or post more steps at a time";
    let mut refused = refused(StatusCode::TOO_MANY_REQUESTS, "rate", error);
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    refused.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    refused
}

async fn count(State(app): Shared, request: Request, next: Next) -> Response {
    let answer = next.run(request).await;
    app.requests.count(answer.status().as_u16());
    answer
}
