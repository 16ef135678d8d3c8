//! Connections, which the server can cut: who does not read what is sent must not be waited for.

use super::{Shared, router};
use axum::Router;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use futures::task::AtomicWaker;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Serves until `stop`, and then until every answer that has begun is sent.
pub async fn serve(
    listener: TcpListener,
    server: Shared,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    run(listener, router(server), stop).await
}

/// Puts a service on a listener.
pub(super) async fn run(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let service = router.into_make_service_with_connect_info::<Peer>();
    axum::serve(Lines(listener), service)
        .with_graceful_shutdown(stop)
        .await
}

/// The other end of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    knife: Arc<Knife>,
}

impl Peer {
    fn new(address: SocketAddr) -> Self {
        Self {
            address,
            knife: Arc::default(),
        }
    }

    /// Ends the connection at once.
    pub fn cut(&self) {
        self.knife.is_used.store(true, Ordering::Release);
        self.knife.waker.wake();
    }
}

#[derive(Debug, Default)]
struct Knife {
    is_used: AtomicBool,
    waker: AtomicWaker,
}

impl Knife {
    /// Whoever waits for the connection hears of the cut.
    fn check(&self, context: &Context<'_>) -> Result<()> {
        self.waker.register(context.waker());
        match self.is_used.load(Ordering::Acquire) {
            true => Err(Error::new(
                ErrorKind::ConnectionAborted,
                "the reader is too slow",
            )),
            false => Ok(()),
        }
    }
}

struct Lines(TcpListener);

impl Listener for Lines {
    type Io = Line;
    type Addr = Peer;

    async fn accept(&mut self) -> (Line, Peer) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // Small frames go out when they are made; where that cannot be had they go out a little later.
        let _ = stream.set_nodelay(true);
        let peer = Peer::new(address);
        let knife = peer.knife.clone();
        (Line { stream, knife }, peer)
    }

    fn local_addr(&self) -> Result<Peer> {
        self.0.local_addr().map(Peer::new)
    }
}

impl Connected<IncomingStream<'_, Lines>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Lines>) -> Self {
        stream.remote_addr().clone()
    }
}

struct Line {
    stream: TcpStream,
    knife: Arc<Knife>,
}

impl Line {
    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        self.knife.check(context)?;
        self.stream().poll_read(context, into)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        self.knife.check(context)?;
        self.stream().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.knife.check(context)?;
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.stream().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.knife.check(context)?;
        self.stream().poll_write_vectored(context, pieces)
    }
}
