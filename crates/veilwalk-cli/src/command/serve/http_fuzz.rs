//! Requests as nobody sends them, to the real routes: whatever comes is answered, and nothing panics.
//!
//! `VEILWALK_REQUESTS=1000000 cargo test -p veilwalk-cli --bin veilwalk http_fuzz` sends more of them.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use proptest::prelude::*;
use tower::ServiceExt;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start};
use veilwalk_io::UnknownStates;
use veilwalk_live::{Delay, Engine, Limits, Live};

use super::http::{App, Persons};

/// A request, in parts.
#[derive(Clone, Debug)]
struct Sent {
    method: &'static str,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

fn sent() -> impl Strategy<Value = Sent> {
    let method = prop::sample::select(vec![
        "POST", "POST", "POST", "DELETE", "GET", "PUT", "HEAD", "OPTIONS",
    ]);
    let part = prop_oneof![
        Just("v1".to_owned()),
        Just("walks".to_owned()),
        Just("steps".to_owned()),
        Just("a".to_owned()),
        "[a-z%0-9~.]{0,8}",
        "(%[0-9a-fA-F]{2}){0,6}",
    ];
    let path = prop_oneof![
        4 => "[a-z0-9]{1,2}(%[0-9A-F]{2}){0,2}".prop_map(|walk| format!("/v1/walks/{walk}/steps")),
        1 => "[a-z0-9%]{0,4}".prop_map(|walk| format!("/v1/walks/{walk}")),
        1 => prop::collection::vec(part, 0..6).prop_map(|parts| format!("/{}", parts.join("/"))),
        1 => prop::sample::select(vec!["/metrics", "/healthz", "/readyz", "/openapi.json", "/?a=b#c"])
            .prop_map(str::to_owned),
    ];
    let value = prop::collection::vec(any::<u8>(), 0..40);
    let named = |name: &'static str, values: &'static [&'static str]| {
        let known = prop::sample::select(values).prop_map(|value| value.as_bytes().to_vec());
        (
            Just(name.to_owned()),
            prop_oneof![4 => known, 1 => prop::collection::vec(any::<u8>(), 0..40)],
        )
    };
    let header = prop_oneof![
        6 => named("content-type", &["application/json", "APPLICATION/json; charset=x", "text/plain", ";"]),
        6 => named("host", &["localhost", "127.0.0.1:8700", "[::1]", "[", "example.org", "localhost:x"]),
        1 => named("authorization", &["Bearer x", "Bearer", "bearer 0123456789abcdef-ann"]),
        1 => named("content-length", &["0", "-1", "99999999999999999999", "3"]),
        2 => ("[a-z-]{1,12}", value),
    ];
    let number = prop_oneof![
        (0..4_u64).prop_map(|n| n.to_string()),
        "-?[0-9]{1,25}(\\.[0-9])?(e[0-9]{1,3})?"
    ];
    let state = prop_oneof![Just("Caa".to_owned()), Just("B".to_owned()), "\\PC{0,12}"];
    let step = (number, state).prop_map(|(number, state)| {
        format!("{{\"step\":{number},\"state\":{}}}", serde_json::json!(state))
    });
    let text = prop_oneof![
        4 => step.clone(),
        2 => prop::collection::vec(step, 0..6).prop_map(|steps| format!("{{\"steps\":[{}]}}", steps.join(","))),
        1 => "[\\[{\":,a-z0-9}\\]]{0,60}",
        1 => (1..3_000_usize).prop_map(|depth| "[".repeat(depth)),
    ];
    // Some are cut, or have a byte changed.
    let body = (
        text,
        any::<prop::sample::Index>(),
        prop::option::weighted(0.3, any::<u8>()),
        any::<bool>(),
    )
        .prop_map(|(text, at, byte, cut)| {
            let mut bytes = text.into_bytes();
            if let (Some(byte), 1..) = (byte, bytes.len()) {
                let at = at.index(bytes.len());
                bytes[at] = byte;
                if cut {
                    bytes.truncate(at);
                }
            }
            bytes
        });
    let good = [("content-type", "application/json"), ("host", "localhost")];
    let good = good.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).to_vec();
    let headers = prop_oneof![3 => Just(good), 1 => prop::collection::vec(header, 0..6)];
    (method, path, headers, body).prop_map(|(method, path, headers, body)| Sent {
        method,
        path,
        headers,
        body,
    })
}

/// The request, if its parts can be one at all: what cannot never comes this far.
fn request(sent: &Sent) -> Option<Request<Body>> {
    let method = Method::from_bytes(sent.method.as_bytes()).ok()?;
    let mut request = Request::builder().method(method).uri(&sent.path);
    for (name, value) in &sent.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        request = request.header(name, HeaderValue::from_bytes(value).ok()?);
    }
    request.body(Body::from(Bytes::from(sent.body.clone()))).ok()
}

#[test]
fn whatever_comes_is_answered() {
    const WALKS: u64 = 40;
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    let mechanism = Arc::new(Mechanism::new(model, Preset::Sharp.design(), promise).unwrap());
    let limits = Limits { open_walks: WALKS, kept_answers: 2, ..Limits::default() };
    let engine = Engine::open(folder.path(), mechanism.clone(), Start::Private, limits).unwrap();
    let (live, running) = Live::start(engine, 100).unwrap();
    let (unknown, persons) = (UnknownStates::Refuse, Persons::NotCounted);
    let app = App::new(live.clone(), mechanism, Delay::None, unknown, None, 1_000, persons);
    let router = Arc::new(app).router();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ask = |request: Request<Body>| {
        runtime.block_on(async { router.clone().oneshot(request).await.unwrap().status() })
    };
    let cases = std::env::var("VEILWALK_REQUESTS").ok().and_then(|cases| cases.parse().ok());
    let cases = ProptestConfig::with_cases(cases.unwrap_or(2_000));
    let config = ProptestConfig { failure_persistence: None, ..cases };
    proptest!(config, |(sent in sent())| {
        let Some(request) = request(&sent) else { return Ok(()) };
        let status = ask(request);
        let known = [200, 400, 404, 405, 409, 410, 413, 415, 421, 422, 429];
        prop_assert!(known.contains(&status.as_u16()), "{status} for {sent:?}");
    });
    assert!(live.figures().open() <= WALKS && live.is_ready());
    assert!(live.figures().released() > 0, "some of them were requests");
    let health = Request::builder().uri("/healthz").body(Body::empty()).unwrap();
    assert_eq!(ask(health), StatusCode::OK);
    live.stop();
    running.join().unwrap();
}
