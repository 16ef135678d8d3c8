//! A turn's stream as server-sent events. What the client has not taken yet is counted in bytes: who falls too far behind
//! the turn is cut off and may come back; the turn and its other readers never wait. What was there before the client came is sent in
//! steps, as the client takes them.

mod stream_caller;

pub use stream_caller::StreamCaller;

use super::connection::ClientConnection;
use super::{ServerState, SharedState};
use crate::auth::rate_limits::StreamPlace;
use crate::format::{self, Format, FormatDefinition, FormatEvent};
use ambit_runtime::stream::{StreamEntry, StreamReader};
use ambit_runtime::{Authorized, Result, Runtime};
use ambit_telemetry::table;
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::{AppendHeaders, IntoResponse, Response};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tracing::Instrument;

/// Frames are hardly ever smaller; so many fit into the bytes that a reader may be behind.
const FRAME: usize = 64;
/// What was there before is sent in texts of about so many bytes.
const STEP: usize = 64 << 10;
/// So many bytes of it wait for the client at most, but for one text.
const BACKLOG: usize = 256 << 10;
/// What a silent stream says from time to time.
pub const PING: Bytes = Bytes::from_static(format::PING.as_bytes());

/// One reader's view of a turn.
pub struct StreamView {
    /// The entries.
    pub reader: StreamReader,
    /// Entries that were taken from it already.
    pub first: Vec<StreamEntry>,
    /// The format of the answer.
    pub definition: &'static FormatDefinition,
    /// What is made of them.
    pub format: Box<dyn Format>,
    /// Entries up to this one are known to the client: the format sees them, the client does not.
    pub last_received: u64,
    /// Entries up to this one were there when the client came: they are sent as fast as it takes them.
    pub backlog_end: u64,
    /// What happens when the client leaves before the end.
    pub leaving: Option<CancelOnDisconnect>,
    /// Held as long as the stream is read.
    pub place: StreamPlace,
}

/// Cancels a turn when it is dropped: its client wants that when it leaves.
pub struct CancelOnDisconnect {
    runtime: Runtime,
    who: Authorized,
    request_id: String,
    is_disarmed: bool,
}

impl CancelOnDisconnect {
    /// For this turn.
    pub fn of(server: &ServerState, who: &Authorized, request_id: &str) -> Self {
        Self {
            runtime: server.runtime.clone(),
            who: who.clone(),
            request_id: request_id.to_owned(),
            is_disarmed: false,
        }
    }

    /// The client has got all of its answer.
    pub fn disarm(mut self) {
        self.is_disarmed = true;
    }
}

impl Drop for CancelOnDisconnect {
    fn drop(&mut self) {
        if self.is_disarmed {
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
                tracing::warn!(request.id = id, error.code = %error.code, "a turn whose client left goes on: {error}");
            }
        });
    }
}

/// Bytes on their way to the client, and their share of what it may be behind.
type QueuedBytes = (Bytes, Option<OwnedSemaphorePermit>);

/// The answer that shows a view.
pub fn answer(
    mut view: StreamView,
    server: &SharedState,
    peer: Option<ClientConnection>,
) -> Response {
    let limit = server.settings.lag_limit;
    let open = server.runtime.metrics().hold(&table::STREAMS_OPEN);
    let server = server.clone();
    let (sender, receiver) = mpsc::channel(limit.div_ceil(FRAME).max(1));
    let leaving = view.leaving.take();
    let place = std::mem::take(&mut view.place);
    let further = view.definition.headers;
    let pump = StreamSender {
        view,
        capacity: Arc::new(Semaphore::new(limit)),
        backlog: Arc::new(Semaphore::new(BACKLOG)),
        limit,
        sender,
    };
    let ticks = ticks(server.settings.ping);
    let pumping = async move {
        let _held = (open, place);
        match pump.run(ticks).await {
            Ok(StreamEnd::Complete) => return true,
            Ok(StreamEnd::ClientLeft) => {}
            Ok(StreamEnd::TooSlow) => {
                tracing::info!("a reader fell too far behind its stream and is cut off");
                server.runtime.metrics().count(&table::STREAMS_CUT, []);
                peer.iter().for_each(ClientConnection::disconnect);
            }
            Err(error) => tracing::error!(error.code = %error.code, "a stream broke off: {error}"),
        }
        false
    };
    let task = tokio::spawn(pumping.in_current_span());
    let headers = [
        (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let incoming = StreamReceiver {
        receiver,
        pump: AbortOnDrop(task),
        leaving,
    };
    (
        headers,
        AppendHeaders(further.iter().copied()),
        incoming.body(),
    )
        .into_response()
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// How a pump ended, if nothing failed.
enum StreamEnd {
    /// The turn has ended and all of it is on its way.
    Complete,
    /// The client has left.
    ClientLeft,
    /// The client is too far behind.
    TooSlow,
}

struct StreamSender {
    view: StreamView,
    capacity: Arc<Semaphore>,
    backlog: Arc<Semaphore>,
    limit: usize,
    sender: mpsc::Sender<QueuedBytes>,
}

impl StreamSender {
    /// Takes entries from the turn as they come.
    async fn run(mut self, mut ticks: Interval) -> Result<StreamEnd> {
        let first = std::mem::take(&mut self.view.first);
        if let Some(end) = self.deliver(first).await {
            return Ok(end);
        }
        loop {
            let Some(entries) = self.next(&mut ticks).await? else {
                return Ok(StreamEnd::ClientLeft);
            };
            let end = match entries {
                Some(entries) => self.deliver(entries).await,
                None => Some(self.finish().await),
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// The next entries, or that there are no more; nothing if the client has left.
    async fn next(&mut self, ticks: &mut Interval) -> Result<Option<Option<Vec<StreamEntry>>>> {
        let ping = Bytes::from_static(self.view.definition.ping.as_bytes());
        let next = self.view.reader.next();
        tokio::pin!(next);
        loop {
            tokio::select! {
                entries = &mut next => return entries.map(Some),
                () = self.sender.closed() => return Ok(None),
                // A client that has not taken all of what was sent hears enough.
                _ = ticks.tick() => drop(self.sender.try_send((ping.clone(), None))),
            }
        }
    }

    async fn finish(&mut self) -> StreamEnd {
        let mut end = String::new();
        write_events(&mut end, &self.view.format.end(), None);
        match self.follow(end).await {
            true => StreamEnd::Complete,
            false => StreamEnd::ClientLeft,
        }
    }

    /// Sends entries; an answer says why no more can be sent.
    async fn deliver(&mut self, entries: Vec<StreamEntry>) -> Option<StreamEnd> {
        let (mut past, mut live) = (String::new(), String::new());
        for entry in entries {
            let is_past = entry.number <= self.view.backlog_end;
            self.write(&entry, if is_past { &mut past } else { &mut live });
            if past.len() >= STEP && !self.follow(std::mem::take(&mut past)).await {
                return Some(StreamEnd::ClientLeft);
            }
        }
        if !self.follow(past).await {
            return Some(StreamEnd::ClientLeft);
        }
        (!self.send_or_refuse(live)).then_some(StreamEnd::TooSlow)
    }

    /// Writes what is sent of an entry.
    fn write(&mut self, entry: &StreamEntry, to: &mut String) {
        let number = self.view.definition.has_entry_ids.then_some(entry.number);
        let events = self.view.format.events(entry);
        if entry.number > self.view.last_received {
            write_events(to, &events, number);
        }
    }

    /// Sends when the client has room for it; false if it has left.
    async fn follow(&mut self, text: String) -> bool {
        if text.is_empty() {
            return true;
        }
        let share = share(text.len(), BACKLOG);
        let Ok(share) = self.backlog.clone().acquire_many_owned(share).await else {
            return false;
        };
        let sent = self.sender.send((text.into(), Some(share))).await;
        sent.is_ok()
    }

    /// Sends what has just happened; false if the client is too far behind for it.
    fn send_or_refuse(&self, text: String) -> bool {
        if text.is_empty() {
            return true;
        }
        let share = share(text.len(), self.limit);
        let share = self.capacity.clone().try_acquire_many_owned(share);
        share.is_ok_and(|share| self.sender.try_send((text.into(), Some(share))).is_ok())
    }
}

/// One text never needs more than all the room there is.
fn share(bytes: usize, limit: usize) -> u32 {
    u32::try_from(bytes.min(limit)).unwrap_or(u32::MAX)
}

/// Writes events; the last one carries the number.
fn write_events(to: &mut String, events: &[FormatEvent], number: Option<u64>) {
    let last = events.len().saturating_sub(1);
    for (at, event) in events.iter().enumerate() {
        if let Some(number) = number.filter(|_| at == last) {
            // Writing to a text cannot fail.
            let _ = writeln!(to, "id: {number}");
        }
        if let Some(name) = event.name {
            let _ = writeln!(to, "event: {name}");
        }
        to.push_str("data: ");
        to.push_str(&event.data);
        to.push_str("\n\n");
    }
}

/// Ends its task when the client leaves.
struct AbortOnDrop(JoinHandle<bool>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The client's side of a pump.
struct StreamReceiver {
    receiver: mpsc::Receiver<QueuedBytes>,
    pump: AbortOnDrop,
    leaving: Option<CancelOnDisconnect>,
}

impl StreamReceiver {
    fn body(self) -> Body {
        let stream = futures::stream::unfold(Some(self), |incoming| async {
            let mut incoming = incoming?;
            if let Some((bytes, _)) = incoming.receiver.recv().await {
                return Some((Ok(bytes), Some(incoming)));
            }
            // A stream that broke off must not look like one that ended.
            let is_whole = (&mut incoming.pump.0).await.unwrap_or(false);
            if is_whole {
                incoming
                    .leaving
                    .take()
                    .into_iter()
                    .for_each(CancelOnDisconnect::disarm);
            }
            let broken = std::io::Error::other("the stream broke off");
            (!is_whole).then_some((Err(broken), None))
        });
        Body::from_stream(stream)
    }
}
