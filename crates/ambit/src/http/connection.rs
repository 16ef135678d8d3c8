//! Connections, which the server can cut: who does not read what is sent must not be waited for.

use super::{SharedState, router};
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
    server: SharedState,
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
    let service = router.into_make_service_with_connect_info::<ClientConnection>();
    let is_local_only = listener.local_addr()?.ip().is_loopback();
    let listener = ClientListener {
        listener,
        is_local_only,
    };
    axum::serve(listener, service)
        .with_graceful_shutdown(stop)
        .await
}

/// The other end of a connection.
#[derive(Clone, Debug)]
pub struct ClientConnection {
    /// Its address.
    pub address: SocketAddr,
    /// The server listens to this machine alone.
    pub is_local_only: bool,
    disconnect_signal: Arc<DisconnectSignal>,
}

impl ClientConnection {
    fn new(address: SocketAddr, is_local_only: bool) -> Self {
        Self {
            address,
            is_local_only,
            disconnect_signal: Arc::default(),
        }
    }

    /// Ends the connection at once.
    pub fn disconnect(&self) {
        self.disconnect_signal.is_set.store(true, Ordering::Release);
        self.disconnect_signal.waker.wake();
    }
}

#[derive(Debug, Default)]
struct DisconnectSignal {
    is_set: AtomicBool,
    waker: AtomicWaker,
}

impl DisconnectSignal {
    /// Whoever waits for the connection hears of the cut.
    fn check(&self, context: &Context<'_>) -> Result<()> {
        self.waker.register(context.waker());
        match self.is_set.load(Ordering::Acquire) {
            true => Err(Error::new(
                ErrorKind::ConnectionAborted,
                "the reader is too slow",
            )),
            false => Ok(()),
        }
    }
}

struct ClientListener {
    listener: TcpListener,
    is_local_only: bool,
}

impl Listener for ClientListener {
    type Io = ClientStream;
    type Addr = ClientConnection;

    async fn accept(&mut self) -> (ClientStream, ClientConnection) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Small frames go out when they are made; where that cannot be had they go out a little later.
        let _ = stream.set_nodelay(true);
        let peer = ClientConnection::new(address, self.is_local_only);
        let knife = peer.disconnect_signal.clone();
        (
            ClientStream {
                stream,
                disconnect_signal: knife,
            },
            peer,
        )
    }

    fn local_addr(&self) -> Result<ClientConnection> {
        let address = self.listener.local_addr()?;
        Ok(ClientConnection::new(address, self.is_local_only))
    }
}

impl Connected<IncomingStream<'_, ClientListener>> for ClientConnection {
    fn connect_info(stream: IncomingStream<'_, ClientListener>) -> Self {
        stream.remote_addr().clone()
    }
}

struct ClientStream {
    stream: TcpStream,
    disconnect_signal: Arc<DisconnectSignal>,
}

impl ClientStream {
    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        self.disconnect_signal.check(context)?;
        self.stream().poll_read(context, into)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        self.disconnect_signal.check(context)?;
        self.stream().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.disconnect_signal.check(context)?;
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
        self.disconnect_signal.check(context)?;
        self.stream().poll_write_vectored(context, pieces)
    }
}
