//! How many connections a server holds, so that descriptors are left for its stores and for telling further clients that it is full.

use ambit_runtime::lock::lock;
use futures::task::AtomicWaker;
use std::io::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::Context;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// A connection without a whole request may be closed for another one when nothing has been sent over it for so long. Longer than the
/// pause between two pings of a stream.
const IDLE: Duration = Duration::from_secs(20);
/// How many clients are told at once that the server is full; further ones are cut without a word.
const REFUSED_AT_ONCE: usize = 16;
/// How long such a client may take to hear it.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 111\r\n\r\n\
    {\"error\":{\"message\":\"the server has no connection left; try again\",\"type\":\"server_error\",\"code\":\"unavailable\"}}";

/// The connections of a server.
#[derive(Clone, Debug)]
pub struct OpenConnections(Arc<ConnectionTable>);

#[derive(Debug)]
struct ConnectionTable {
    /// So many at most.
    limit: usize,
    /// Those that have seen nothing for so long may be closed.
    idle: Duration,
    began: Instant,
    count: AtomicUsize,
    has_warned: AtomicBool,
    all: Mutex<Vec<Weak<ConnectionState>>>,
    refusals: Arc<Semaphore>,
}

impl OpenConnections {
    /// At most so many.
    pub fn new(limit: usize) -> Self {
        Self::with_idle(limit, IDLE)
    }

    fn with_idle(limit: usize, idle: Duration) -> Self {
        Self(Arc::new(ConnectionTable {
            limit,
            idle,
            began: Instant::now(),
            count: AtomicUsize::new(0),
            has_warned: AtomicBool::new(false),
            all: Mutex::default(),
            refusals: Arc::new(Semaphore::new(REFUSED_AT_ONCE)),
        }))
    }

    /// The state of a new connection, if there is a place for it or one can be made.
    pub(super) fn admit(&self) -> Option<Arc<ConnectionState>> {
        let count = self.0.count.load(Ordering::Relaxed);
        if count >= self.0.limit && !self.cut_longest_idle() {
            return None;
        }
        self.warn(count + 1);
        Some(self.hold())
    }

    /// The state of a connection, whether there is a place or not.
    pub(super) fn hold(&self) -> Arc<ConnectionState> {
        self.0.count.fetch_add(1, Ordering::Relaxed);
        let state = Arc::new(ConnectionState {
            connections: self.clone(),
            is_cut: AtomicBool::new(false),
            waker: AtomicWaker::new(),
            sent_at: AtomicU64::new(self.now()),
            requests: AtomicUsize::new(0),
        });
        let mut all = self.all();
        // Now and then, what has gone is forgotten.
        if all.len() > 2 * self.0.count.load(Ordering::Relaxed) {
            all.retain(|one| one.strong_count() > 0);
        }
        all.push(Arc::downgrade(&state));
        drop(all);
        state
    }

    /// Tells a client for which there is no place.
    pub(super) fn refuse(&self, mut stream: TcpStream) {
        let Ok(permit) = self.0.refusals.clone().try_acquire_owned() else {
            return;
        };
        tokio::spawn(async move {
            let telling = async {
                stream.write_all(REFUSAL).await?;
                stream.shutdown().await?;
                // A connection that is closed over bytes that nobody has read takes the answer along.
                while stream.read(&mut [0; 1024]).await? > 0 {}
                Result::Ok(())
            };
            // Whoever does not listen is not told.
            let _ = timeout(REFUSAL_TIME, telling).await;
            drop(permit);
        });
    }

    /// Cuts the connection that has been idle for longest; false where none is idle.
    fn cut_longest_idle(&self) -> bool {
        let (now, long) = (self.now(), millis(self.0.idle));
        let connections = self.all();
        let held = connections.iter().filter_map(Weak::upgrade);
        let idle = held.filter(|one| one.is_idle(now, long));
        let longest = idle.min_by_key(|one| one.sent_at.load(Ordering::Relaxed));
        longest.inspect(|one| one.cut()).is_some()
    }

    /// Says once that places run out, and again when there were many in between.
    fn warn(&self, count: usize) {
        let limit = self.0.limit;
        if count <= limit / 2 {
            self.0.has_warned.store(false, Ordering::Relaxed);
        }
        if count >= limit / 5 * 4 && !self.0.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                connections = count,
                limit,
                "most connections are taken: raise the limit of open files, or have a proxy close idle ones"
            );
        }
    }

    fn now(&self) -> u64 {
        millis(self.0.began.elapsed())
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<Weak<ConnectionState>>> {
        lock(&self.0.all)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What is known of a connection, and how it is cut.
#[derive(Debug)]
pub(super) struct ConnectionState {
    connections: OpenConnections,
    is_cut: AtomicBool,
    waker: AtomicWaker,
    /// When the server sent something over it last, in milliseconds since it began. What clients send does not count: a header that
    /// comes byte by byte would hold a place for ever.
    sent_at: AtomicU64,
    /// Requests whose answers have not begun.
    requests: AtomicUsize,
}

impl ConnectionState {
    /// Ends the connection at once.
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Whoever waits for the connection hears of the cut.
    pub fn check(&self, context: &Context<'_>) -> Result<()> {
        self.waker.register(context.waker());
        match self.is_cut.load(Ordering::Acquire) {
            true => Err(Error::new(
                ErrorKind::ConnectionAborted,
                "the server has cut the connection",
            )),
            false => Ok(()),
        }
    }

    /// Something is sent over it.
    pub fn sent(&self) {
        let now = self.connections.now();
        self.sent_at.store(now, Ordering::Relaxed);
    }

    /// A request is worked on until the guard is dropped.
    pub fn request(self: &Arc<Self>) -> RequestGuard {
        self.requests.fetch_add(1, Ordering::Relaxed);
        RequestGuard(self.clone())
    }

    /// Whether nothing has been sent for so long, and no request is worked on.
    fn is_idle(&self, now: u64, long: u64) -> bool {
        let pause = now.saturating_sub(self.sent_at.load(Ordering::Relaxed));
        let is_open = !self.is_cut.load(Ordering::Relaxed);
        is_open && self.requests.load(Ordering::Relaxed) == 0 && pause >= long
    }
}

impl Drop for ConnectionState {
    fn drop(&mut self) {
        self.connections.0.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request on a connection.
#[derive(Debug)]
pub(super) struct RequestGuard(Arc<ConnectionState>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.sent();
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{OpenConnections, REFUSAL};
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn the_refusal_says_how_long_it_is() {
        let text = std::str::from_utf8(REFUSAL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{}",
            body.len()
        );
    }

    #[test]
    fn no_more_are_held_than_there_are_places() {
        let connections = OpenConnections::with_idle(2, LONG);
        let first = connections.admit().unwrap();
        let _second = connections.admit().unwrap();
        assert!(connections.admit().is_none());
        drop(first);
        assert!(connections.admit().is_some());
    }

    #[test]
    fn one_that_is_idle_gives_its_place_and_one_with_a_request_does_not() {
        let connections = OpenConnections::with_idle(2, Duration::ZERO);
        let busy = connections.admit().unwrap();
        let request = busy.request();
        let idle = connections.admit().unwrap();
        let third = connections.admit().unwrap();
        assert!(idle.is_cut.load(super::Ordering::Relaxed));
        assert!(!busy.is_cut.load(super::Ordering::Relaxed));
        let _asked = third.request();
        assert!(connections.admit().is_none());
        drop(request);
        assert!(connections.admit().is_some());
    }
}
