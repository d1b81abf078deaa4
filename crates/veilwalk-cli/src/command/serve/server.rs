//! From the first connection to the last answer: listening, and stopping in good order.

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::http::App;
use crate::{progress, terminal};

/// Serves until the program is asked to stop, and then until all requests are answered or the time is over.
pub(super) fn serve(app: Arc<App>, address: SocketAddr, drain: Duration) -> Result<()> {
    let runtime = Builder::new_multi_thread().enable_io().enable_time().build()?;
    let served = runtime.block_on(until_stopped(app, address, drain));
    // Connections that are still there are cut off.
    runtime.shutdown_background();
    served
}

async fn until_stopped(app: Arc<App>, address: SocketAddr, drain: Duration) -> Result<()> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    // A small answer is sent at once.
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    let stop = StopSignal::new()?;
    let (stop_accepting, stopped) = oneshot::channel::<()>();
    let server = axum::serve(listener, app.clone().router()).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let mut server = tokio::spawn(server.into_future());
    terminal::note(format!("listening on http://{address}"));
    tokio::select! {
        () = stop.given() => {}
        // The caller says why.
        () = engine_stopped(&app) => {}
        ended = &mut server => {
            ended??;
            return Ok(());
        }
    }
    app.drain();
    terminal::note("stopping: requests that are under way are answered, and no more are taken");
    let _ = stop_accepting.send(());
    match timeout(drain, server).await {
        Ok(ended) => ended??,
        Err(_) => terminal::warning(format!(
            "some requests were not complete after {} s and are cut off; if they are sent again, steps that were \
             stored get their answer",
            drain.as_secs()
        )),
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
