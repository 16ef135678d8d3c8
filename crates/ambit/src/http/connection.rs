//! Connections, which the server can cut: who does not read what is sent must not be waited for.

use super::open_connections::{ConnectionState, OpenConnections};
use super::tls::ServerTls;
use super::transport::ClientTransport;
use super::{SharedState, router};
use axum::Router;
use axum::extract::Request;
use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::serve::{IncomingStream, Listener};
use std::future::Future;
use std::io::Result;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;

/// Serves until `stop`, and then until every answer that has begun is sent. Reloads of the app are judged from this call on, before
/// the future is first polled.
pub fn serve(
    listener: TcpListener,
    server: SharedState,
    stop: impl Future<Output = ()> + Send + 'static,
) -> impl Future<Output = Result<()>> + Send {
    let connections = OpenConnections::new(server.settings.connection_limit);
    let tls = server.settings.tls.clone();
    let router = router(server);
    async move {
        let listener = ClientListener::new(listener, connections, tls)?;
        run(listener, router, stop).await
    }
}

/// Puts a service on a listener.
pub(super) async fn run(
    listener: ClientListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let router = router.layer(from_fn(count_request));
    let service = router.into_make_service_with_connect_info::<ClientConnection>();
    axum::serve(listener, service)
        .with_graceful_shutdown(stop)
        .await
}

/// A connection is not idle until the answer to its request begins.
async fn count_request(
    ConnectInfo(client): ConnectInfo<ClientConnection>,
    request: Request,
    next: Next,
) -> Response {
    let _working = client.state.request();
    next.run(request).await
}

/// The other end of a connection.
#[derive(Clone, Debug)]
pub struct ClientConnection {
    /// Its address.
    pub address: SocketAddr,
    /// The server listens to this machine alone.
    pub is_local_only: bool,
    /// It is encrypted up to this server.
    pub is_tls: bool,
    state: Arc<ConnectionState>,
}

impl ClientConnection {
    /// Ends the connection at once.
    pub fn disconnect(&self) {
        self.state.cut();
    }
}

/// A listener whose connections are counted, and encrypted if they are to be.
pub(super) struct ClientListener {
    listener: TcpListener,
    connections: OpenConnections,
    tls: Option<Arc<ServerTls>>,
    is_local_only: bool,
}

impl ClientListener {
    pub fn new(
        listener: TcpListener,
        connections: OpenConnections,
        tls: Option<Arc<ServerTls>>,
    ) -> Result<Self> {
        let is_local_only = listener.local_addr()?.ip().is_loopback();
        Ok(Self {
            listener,
            connections,
            tls,
            is_local_only,
        })
    }
}

impl Listener for ClientListener {
    type Io = ClientStream;
    type Addr = ClientConnection;

    async fn accept(&mut self) -> (ClientStream, ClientConnection) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            let Some(state) = self.connections.admit() else {
                // Over TLS a plain word would say nothing: the client is cut.
                if self.tls.is_none() {
                    self.connections.refuse(stream);
                }
                continue;
            };
            // Small frames go out when they are made; where that cannot be had they go out a little later.
            let _ = stream.set_nodelay(true);
            let client = ClientConnection {
                address,
                is_local_only: self.is_local_only,
                is_tls: self.tls.is_some(),
                state: state.clone(),
            };
            let transport = ClientTransport::of(stream, self.tls.as_deref());
            return (ClientStream { transport, state }, client);
        }
    }

    fn local_addr(&self) -> Result<ClientConnection> {
        Ok(ClientConnection {
            address: self.listener.local_addr()?,
            is_local_only: self.is_local_only,
            is_tls: self.tls.is_some(),
            state: self.connections.hold(),
        })
    }
}

impl Connected<IncomingStream<'_, ClientListener>> for ClientConnection {
    fn connect_info(stream: IncomingStream<'_, ClientListener>) -> Self {
        stream.remote_addr().clone()
    }
}

pub(super) struct ClientStream {
    transport: ClientTransport,
    state: Arc<ConnectionState>,
}

impl AsyncRead for ClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let this = self.get_mut();
        this.state.check(context)?;
        ready!(this.transport.poll_open(context))?.poll_read(context, into)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let this = self.get_mut();
        this.state.check(context)?;
        this.state.sent();
        ready!(this.transport.poll_open(context))?.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        this.state.check(context)?;
        // Before it is open nothing waits to be sent.
        let open = this.transport.open();
        open.map_or(Poll::Ready(Ok(())), |open| open.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        // TLS says that it closes, which waits for a client that reads nothing.
        this.state.check(context)?;
        let open = this.transport.open();
        open.map_or(Poll::Ready(Ok(())), |open| open.poll_shutdown(context))
    }

    fn is_write_vectored(&self) -> bool {
        self.transport.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let this = self.get_mut();
        this.state.check(context)?;
        this.state.sent();
        ready!(this.transport.poll_open(context))?.poll_write_vectored(context, pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientStream, ClientTransport, OpenConnections};
    use futures::FutureExt;
    use std::io::Result;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

    /// A client that neither sends nor takes anything.
    struct StalledClient;

    impl AsyncRead for StalledClient {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for StalledClient {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<Result<usize>> {
            Poll::Pending
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Pending
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Pending
        }
    }

    #[test]
    fn a_connection_that_waits_to_be_closed_can_be_cut() {
        let state = OpenConnections::new(1).hold();
        let mut stream = ClientStream {
            transport: ClientTransport::Open(Box::new(StalledClient)),
            state: state.clone(),
        };
        assert!(stream.shutdown().now_or_never().is_none());
        state.cut();
        let closed = stream.shutdown().now_or_never();
        assert!(closed.is_some_and(|closed| closed.is_err()));
    }
}
