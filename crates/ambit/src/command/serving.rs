//! Serving until the process is told to stop, and what happens then.

use crate::command::service_manager::ServiceManager;
use crate::command_error::Result;
use crate::settings::serve::StopTimes;
use ambit::http::{self, ServerState, ServerTls};
use ambit_runtime::Runtime;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::Signal;
use tokio::sync::oneshot;
use tokio::time::{Instant, interval, sleep, timeout_at};

/// The last part of the grace: turns that have not ended are left to other nodes, what was said of them is sent, the stores close.
const CLOSING: Duration = Duration::from_secs(4);
/// How often it is looked whether the files of the certificate have changed.
const TLS_LOOKS: Duration = Duration::from_secs(30);

/// The end of a server.
pub struct ServerShutdown<F> {
    /// Is ready when the process is asked to stop.
    pub request: F,
    /// Asks for the app's files to be loaded again. It is there before anybody is told of the server, as a request without it
    /// ends the process.
    pub hangup: Signal,
    pub times: StopTimes,
}

/// Serves until a shutdown is requested. Then `/readyz` says so at once, requests are taken for the drain time, running turns go
/// on, and everything has ended when the grace is over.
pub async fn serve<F: Future<Output = ()>>(
    listener: TcpListener,
    server: ServerState,
    shutdown: ServerShutdown<F>,
    manager: &ServiceManager,
) -> Result<()> {
    let times = shutdown.times;
    let runtime = server.runtime.clone();
    let is_stopping = server.settings.is_stopping.clone();
    let tls = server.settings.tls.clone();
    let (stop_sender, stop_receiver) = oneshot::channel::<()>();
    let serving = http::serve(listener, Arc::new(server), async move {
        // A sender that is dropped says the same as one that sends.
        let _ = stop_receiver.await;
    });
    tokio::pin!(serving);
    manager.tell("READY=1");
    tokio::select! {
        served = &mut serving => return Ok(served?),
        () = shutdown.request => {}
        () = reloads(&runtime, tls.as_deref(), shutdown.hangup) => {}
    }
    let end = Instant::now() + times.grace.max(times.drain + CLOSING);
    is_stopping.store(true, Ordering::Relaxed);
    manager.tell("STOPPING=1");
    let (drain, grace) = (times.drain.as_secs(), times.grace.as_secs());
    tracing::info!(drain, grace, "stopping: running turns may finish");
    tokio::select! {
        served = &mut serving => return Ok(served?),
        () = sleep(times.drain) => {}
    }
    drop(stop_sender);
    let left = end.saturating_duration_since(Instant::now());
    let closing = timeout_at(end, runtime.close(left.saturating_sub(CLOSING)));
    // What is still being sent then is cut; it is stored and can be read again.
    let ending = timeout_at(end, &mut serving);
    let (closed, served) = tokio::join!(closing, ending);
    match closed {
        Ok(closed) => closed?,
        Err(_) => tracing::warn!("the stores did not close in time; what is stored is kept"),
    }
    Ok(served.unwrap_or(Ok(()))?)
}

/// Loads the app's files again each time that the process is asked to, and the certificate then and when its files have changed.
/// Never ends.
async fn reloads(runtime: &Runtime, tls: Option<&ServerTls>, mut hangup: Signal) {
    let mut looks = interval(TLS_LOOKS);
    loop {
        tokio::select! {
            _ = hangup.recv() => runtime.reload_and_tell().await,
            _ = looks.tick() => {}
        }
        if let Some(tls) = tls {
            tls.reload();
        }
    }
}
