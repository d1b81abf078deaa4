//! Connections: how many there are, what their requests may look like, and TLS.
//!
//! A connection waits for a place before it is accepted, so whoever opens many of them holds up no more than the queue
//! of the system. One that sends nothing for long is closed, whether it is within the head of a request or between two.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// How long the head of a request, or the beginning of TLS, may take to come.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How many headers a request may have.
const MOST_HEADERS: usize = 64;
/// How soon it is tried again to accept connections.
const RETRY: Duration = Duration::from_millis(50);

/// What connections may be.
pub(super) struct Connections {
    pub(super) tls: Option<TlsAcceptor>,
    /// How many there are at a time.
    pub(super) most: usize,
    /// The most bytes of the head of a request.
    pub(super) longest_head: usize,
}

/// Who sent a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

impl Connections {
    /// The scheme of addresses.
    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Answers requests until it is stopped, and then those that are under way.
    pub(super) async fn serve(
        self,
        listener: TcpListener,
        router: Router,
        mut stopped: oneshot::Receiver<()>,
    ) {
        let places = Arc::new(Semaphore::new(self.most));
        let graceful = GracefulShutdown::new();
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
        builder.max_buf_size(self.longest_head).max_headers(MOST_HEADERS);
        loop {
            let place = tokio::select! {
                Ok(place) = places.clone().acquire_owned() => place,
                _ = &mut stopped => break,
            };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = &mut stopped => break,
            };
            let Ok((stream, peer)) = accepted else {
                // Such as too many open files: there may be fewer in a moment.
                sleep(RETRY).await;
                continue;
            };
            // A small answer is sent at once.
            let _ = stream.set_nodelay(true);
            let (peer, tls) = (Peer(peer.ip()), self.tls.clone());
            let (router, builder, watcher) = (router.clone(), builder.clone(), graceful.watcher());
            tokio::spawn(async move {
                let _place = place;
                match tls {
                    None => answer(stream, peer, router, &builder, watcher).await,
                    Some(tls) => {
                        if let Ok(Ok(stream)) = timeout(HEAD_TIME, tls.accept(stream)).await {
                            answer(stream, peer, router, &builder, watcher).await;
                        }
                    }
                }
            });
        }
        drop(listener);
        graceful.shutdown().await;
    }
}

/// Answers the requests of one connection.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    router: Router,
    builder: &http1::Builder,
    watcher: Watcher,
) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        router.clone().oneshot(request)
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    // Whatever ends it, whoever asked knows as much as we do.
    let _ = watcher.watch(connection).await;
}
