//! Whose connection is it? A proxy like pgbouncer may lend a connection of the server for one transaction only; then
//! nothing may be left behind on it: no settings, no prepared statements, nobody who listens.

use crate::{Error, Result};
use parking_lot::Mutex;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Client;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// How long a connection of the server is one's own. The names are those of pgbouncer's `pool_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolMode {
    /// As long as the client stays connected: there is no proxy, or one that does not matter.
    Session,
    /// For the length of a transaction.
    Transaction,
}

impl PoolMode {
    /// The mode of this name.
    pub(super) fn named(name: &str) -> Result<Self> {
        match name {
            "session" => Ok(Self::Session),
            "transaction" => Ok(Self::Transaction),
            _ => Err(Error::invalid(
                "ambit_pool_mode",
                format!("\"{name}\" must be session or transaction"),
            )),
        }
    }

    /// What a connection seems to be. A server tells the number of its process and a secret, by which a statement can be
    /// cancelled. A proxy must make up these numbers: its client has no process of its own.
    pub(super) async fn detect(
        client: &Client,
    ) -> std::result::Result<Self, tokio_postgres::Error> {
        let rows = client.query_typed("SELECT pg_backend_pid()", &[]).await?;
        let at_work: Option<i32> = rows.first().map(|row| row.get(0));
        Ok(match told_process(client).await? == at_work {
            true => Self::Session,
            false => Self::Transaction,
        })
    }
}

/// The process whose statements a request to cancel would name. The client shows it nowhere else.
async fn told_process(client: &Client) -> std::result::Result<Option<i32>, tokio_postgres::Error> {
    let stream = RecordedStream::default();
    let written = Arc::clone(&stream.0);
    let token = client.cancel_token();
    token.cancel_query_raw(stream, RecordedTls).await?;
    let written = written.lock();
    // Its length, its kind, the process and the secret: four bytes each.
    let process = written
        .last_chunk::<8>()
        .and_then(|last| last.first_chunk());
    Ok(process.map(|number| i32::from_be_bytes(*number)))
}

/// A stream that keeps what is written. What is read from it is the answer of a server that can do TLS.
#[derive(Default)]
struct RecordedStream(Arc<Mutex<Vec<u8>>>);

/// TLS that changes nothing.
struct RecordedTls;

impl TlsConnect<RecordedStream> for RecordedTls {
    type Stream = RecordedStream;
    type Error = io::Error;
    type Future = Ready<io::Result<RecordedStream>>;

    fn connect(self, stream: RecordedStream) -> Self::Future {
        ready(Ok(stream))
    }
}

impl TlsStream for RecordedStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for RecordedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buffer.put_slice(b"S");
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for RecordedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
