//! A turn's stream as server-sent events. What the client has not taken yet is counted in bytes: who falls too far behind
//! the turn is cut off and may come back; the turn and its other readers never wait.

use super::line::Peer;
use super::{Server, Shared};
use crate::format::Format;
use ambit_runtime::stream::{Entry, Reader};
use ambit_runtime::{Authorized, Result, Runtime};
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse, Response};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Frames are hardly ever smaller; so many fit into the bytes that a reader may be behind.
const FRAME: usize = 64;
/// What a silent stream says from time to time.
pub const PING: Bytes = Bytes::from_static(b": ping\n\n");

/// One reader's view of a turn.
pub struct View {
    /// The entries.
    pub reader: Reader,
    /// Entries that were taken from it already.
    pub first: Vec<Entry>,
    /// What is made of them.
    pub format: Box<dyn Format>,
    /// Entries up to this one are known to the client: the format sees them, the client does not.
    pub known: u64,
    /// Entries up to this one were there when the client came: they are sent as fast as it takes them.
    pub past: u64,
    /// What happens when the client leaves before the end.
    pub leaving: Option<Leaving>,
}

/// Cancels a turn when it is dropped: its client wants that when it leaves.
pub struct Leaving {
    runtime: Runtime,
    who: Authorized,
    request_id: String,
    has_stayed: bool,
}

impl Leaving {
    /// For this turn.
    pub fn of(server: &Server, who: &Authorized, request_id: &str) -> Self {
        Self {
            runtime: server.runtime.clone(),
            who: who.clone(),
            request_id: request_id.to_owned(),
            has_stayed: false,
        }
    }

    /// The client has got all of its answer.
    pub fn stays(mut self) {
        self.has_stayed = true;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if self.has_stayed {
            return;
        }
        let (runtime, who, id) = (
            self.runtime.clone(),
            self.who.clone(),
            self.request_id.clone(),
        );
        // Nobody is left to wait for it; it ends when the turn has been told.
        tokio::spawn(async move {
            if let Err(error) = runtime.cancel(&who, &id).await {
                tracing::warn!(turn.id = id, error.code = %error.code, "a turn whose client left goes on: {error}");
            }
        });
    }
}

/// Bytes on their way to the client, and their share of what it may be behind.
type Sent = (Bytes, Option<OwnedSemaphorePermit>);

/// The answer that shows a view.
pub fn answer(mut view: View, server: &Shared, peer: Option<Peer>) -> Response {
    let limit = server.settings.lag_limit;
    let open = server.measures.stream();
    let server = server.clone();
    let (sender, receiver) = mpsc::channel(limit.div_ceil(FRAME).max(1));
    let leaving = view.leaving.take();
    let pump = Pump {
        view,
        room: Arc::new(Semaphore::new(limit)),
        limit,
        sender,
    };
    let ticks = ticks(server.settings.ping);
    let task = tokio::spawn(async move {
        let _open = open;
        match pump.run(ticks).await {
            Ok(End::Whole) => return true,
            Ok(End::Left) => {}
            Ok(End::Behind) => {
                tracing::info!("a reader fell too far behind its stream and is cut off");
                server.measures.cut();
                peer.iter().for_each(Peer::cut);
            }
            Err(error) => tracing::error!(error.code = %error.code, "a stream broke off: {error}"),
        }
        false
    });
    let headers = [
        (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let incoming = Incoming {
        receiver,
        pump: Owned(task),
        leaving,
    };
    (headers, incoming.body()).into_response()
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// How a pump ended, if nothing failed.
enum End {
    /// The turn has ended and all of it is on its way.
    Whole,
    /// The client has left.
    Left,
    /// The client is too far behind.
    Behind,
}

struct Pump {
    view: View,
    room: Arc<Semaphore>,
    limit: usize,
    sender: mpsc::Sender<Sent>,
}

impl Pump {
    /// Takes entries from the turn as they come.
    async fn run(mut self, mut ticks: Interval) -> Result<End> {
        let first = std::mem::take(&mut self.view.first);
        if let Some(end) = self.deliver(&first).await {
            return Ok(end);
        }
        loop {
            let Some(entries) = self.next(&mut ticks).await? else {
                return Ok(End::Left);
            };
            let end = match entries {
                Some(entries) => self.deliver(&entries).await,
                None => Some(self.finish().await),
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// The next entries, or that there are no more; nothing if the client has left.
    async fn next(&mut self, ticks: &mut Interval) -> Result<Option<Option<Vec<Entry>>>> {
        let next = self.view.reader.next();
        tokio::pin!(next);
        loop {
            tokio::select! {
                entries = &mut next => return entries.map(Some),
                () = self.sender.closed() => return Ok(None),
                // A client that has not taken all of what was sent hears enough.
                _ = ticks.tick() => drop(self.sender.try_send((PING, None))),
            }
        }
    }

    async fn finish(&mut self) -> End {
        let mut end = String::new();
        frames(&mut end, &self.view.format.end(), None);
        match self.follow(end).await {
            true => End::Whole,
            false => End::Left,
        }
    }

    /// Sends entries; an answer says why no more can be sent.
    async fn deliver(&mut self, entries: &[Entry]) -> Option<End> {
        let (past, live) = self.written(entries);
        if !self.follow(past).await {
            return Some(End::Left);
        }
        (!self.keep_up(live)).then_some(End::Behind)
    }

    /// What is sent of these entries: of those that were there when the client came, and of those that came since.
    fn written(&mut self, entries: &[Entry]) -> (String, String) {
        let (mut past, mut live) = (String::new(), String::new());
        for entry in entries {
            let payloads = self.view.format.frames(entry);
            if entry.number > self.view.known {
                let is_past = entry.number <= self.view.past;
                let to = if is_past { &mut past } else { &mut live };
                frames(to, &payloads, Some(entry.number));
            }
        }
        (past, live)
    }

    /// Sends when the client has room for it; false if it has left.
    async fn follow(&mut self, text: String) -> bool {
        if text.is_empty() {
            return true;
        }
        let share = share(text.len(), self.limit);
        let Ok(share) = self.room.clone().acquire_many_owned(share).await else {
            return false;
        };
        let sent = self.sender.send((text.into(), Some(share))).await;
        sent.is_ok()
    }

    /// Sends what has just happened; false if the client is too far behind for it.
    fn keep_up(&self, text: String) -> bool {
        if text.is_empty() {
            return true;
        }
        let share = share(text.len(), self.limit);
        let share = self.room.clone().try_acquire_many_owned(share);
        share.is_ok_and(|share| self.sender.try_send((text.into(), Some(share))).is_ok())
    }
}

/// One text never needs more than all the room there is.
fn share(bytes: usize, limit: usize) -> u32 {
    u32::try_from(bytes.min(limit)).unwrap_or(u32::MAX)
}

/// Payloads as events; the last one carries the number.
fn frames(to: &mut String, payloads: &[String], number: Option<u64>) {
    let last = payloads.len().saturating_sub(1);
    for (at, payload) in payloads.iter().enumerate() {
        if let Some(number) = number.filter(|_| at == last) {
            // Writing to a text cannot fail.
            let _ = writeln!(to, "id: {number}");
        }
        to.push_str("data: ");
        to.push_str(payload);
        to.push_str("\n\n");
    }
}

/// Ends its task when the client leaves.
struct Owned(JoinHandle<bool>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The client's side of a pump.
struct Incoming {
    receiver: mpsc::Receiver<Sent>,
    pump: Owned,
    leaving: Option<Leaving>,
}

impl Incoming {
    fn body(self) -> Body {
        let stream = futures::stream::unfold(Some(self), |incoming| async {
            let mut incoming = incoming?;
            if let Some((bytes, _)) = incoming.receiver.recv().await {
                return Some((Ok(bytes), Some(incoming)));
            }
            // A stream that broke off must not look like one that ended.
            let is_whole = (&mut incoming.pump.0).await.unwrap_or(false);
            if is_whole {
                incoming.leaving.take().into_iter().for_each(Leaving::stays);
            }
            let broken = std::io::Error::other("the stream broke off");
            (!is_whole).then_some((Err(broken), None))
        });
        Body::from_stream(stream)
    }
}
