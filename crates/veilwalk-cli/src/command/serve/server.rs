//! From the first connection to the last answer: listening, and stopping in good order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

use super::brokers::{Running, Starting};
use super::connections::Connections;
use super::http::App;
use crate::{progress, terminal};

/// Serves until the program is asked to stop, and then until all requests are answered or the time is over.
pub(super) fn serve(
    app: Arc<App>,
    brokers: Starting,
    stop_brokers: &watch::Sender<bool>,
    connections: Connections,
    address: SocketAddr,
    drain: Duration,
) -> Result<()> {
    let runtime = Builder::new_multi_thread().enable_io().enable_time().build()?;
    let served =
        runtime.block_on(until_stopped(app, brokers, stop_brokers, connections, address, drain));
    // Connections that are still there are cut off.
    runtime.shutdown_background();
    served
}

async fn until_stopped(
    app: Arc<App>,
    brokers: Starting,
    stop_brokers: &watch::Sender<bool>,
    connections: Connections,
    address: SocketAddr,
    drain: Duration,
) -> Result<()> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    let stop = StopSignal::new()?;
    let (stop_accepting, stopped) = oneshot::channel::<()>();
    let scheme = connections.scheme();
    let router = app.clone().router();
    let mut server = tokio::spawn(connections.serve(listener, router, stopped));
    terminal::note(format!("listening on {scheme}://{address}"));
    let mut brokers = brokers.start();
    tokio::select! {
        () = stop.given() => {}
        // They end before they are stopped only if they cannot go on.
        Some(ended) = brokers.join_next() => return ended?,
        // The caller says why.
        () = engine_stopped(&app) => {}
        ended = &mut server => {
            ended?;
            return Ok(());
        }
    }
    app.drain();
    terminal::note("stopping: requests that are under way are answered, and no more are taken");
    let _ = stop_accepting.send(());
    stop_brokers.send_replace(true);
    let all = async {
        server.await?;
        all_stopped(&mut brokers).await
    };
    match timeout(drain, all).await {
        Ok(ended) => ended?,
        Err(_) => terminal::warning(format!(
            "some requests were not complete after {} s and are cut off; if they are sent again, steps that were \
             stored get their answer",
            drain.as_secs()
        )),
    }
    Ok(())
}

async fn all_stopped(brokers: &mut Running) -> Result<()> {
    while let Some(ended) = brokers.join_next().await {
        ended??;
    }
    Ok(())
}

async fn engine_stopped(app: &App) {
    while !app.engine_has_stopped() {
        sleep(Duration::from_millis(50)).await;
    }
}

/// SIGTERM or SIGHUP, or Ctrl-C, which the whole program listens to.
struct StopSignal {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
}

impl StopSignal {
    #[cfg(unix)]
    fn new() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { terminate, hang_up: signal(SignalKind::hangup())? })
    }

    #[cfg(not(unix))]
    fn new() -> Result<Self> {
        Ok(Self {})
    }

    #[cfg(unix)]
    async fn given(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
            () = ctrl_c() => {}
        }
    }

    #[cfg(not(unix))]
    async fn given(self) {
        ctrl_c().await;
    }
}

async fn ctrl_c() {
    while !progress::stop_requested() {
        sleep(Duration::from_millis(50)).await;
    }
}
