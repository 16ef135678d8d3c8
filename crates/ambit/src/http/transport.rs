//! The bytes of a connection: as they are, or over TLS, whose handshake is done while the connection is first used, so that it
//! keeps no other client waiting.

use super::tls::ServerTls;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::Accept;

/// A connection that is open.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// How the bytes of a client come and go.
pub(super) enum ClientTransport {
    Open(Box<dyn ByteStream>),
    Handshake(Box<Accept<TcpStream>>),
    /// The handshake has failed.
    Failed,
}

impl ClientTransport {
    /// That of a client who has just come.
    pub fn of(stream: TcpStream, tls: Option<&ServerTls>) -> Self {
        match tls {
            Some(tls) => Self::Handshake(Box::new(tls.acceptor().accept(stream))),
            None => Self::Open(Box::new(stream)),
        }
    }

    /// The open connection, once its handshake is done.
    pub fn poll_open(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Pin<&mut (dyn ByteStream + 'static)>>> {
        if let Self::Handshake(accept) = self {
            match ready!(Pin::new(accept).poll(context)) {
                Ok(stream) => *self = Self::Open(Box::new(stream)),
                Err(error) => {
                    *self = Self::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(
            self.open().ok_or_else(|| {
                Error::new(ErrorKind::NotConnected, "the handshake of TLS has failed")
            }),
        )
    }

    /// The connection, if it is open already.
    pub fn open(&mut self) -> Option<Pin<&mut (dyn ByteStream + 'static)>> {
        match self {
            Self::Open(stream) => Some(Pin::new(&mut **stream)),
            Self::Handshake(_) | Self::Failed => None,
        }
    }

    /// Whether several pieces are written at once.
    pub fn is_write_vectored(&self) -> bool {
        matches!(self, Self::Open(stream) if stream.is_write_vectored())
    }
}
