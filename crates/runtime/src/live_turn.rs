//! The turns that run on this node, and how they are told to stop.

use crate::access::{Authorized, DataAccess};
use crate::error::Result;
use crate::inbox::TurnInbox;
use crate::lock::lock;
use crate::request::TurnRequest;
use crate::stream::{StreamReader, StreamWriter};
use crate::turn_info::TurnInfo;
use crate::turn_info::TurnStopReason;
use ambit_storage::lease::{Lease, LeaseEnd};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use tokio::sync::watch;

/// What the outside can do with a running turn.
pub(crate) struct LiveTurn {
    /// What is known of it.
    info: Mutex<TurnInfo>,
    /// Its stream.
    pub log: StreamWriter,
    /// Who asked.
    pub asked_by: Authorized,
    /// Nobody can fetch its answer later: it is cancelled when nobody reads its stream any more.
    ends_unread: bool,
    readers: Mutex<Weak<ReaderHold>>,
    /// The turn has ended and its last commit is done.
    done: watch::Sender<bool>,
    stop: watch::Sender<Option<TurnStopReason>>,
    /// What is sent to it.
    pub inbox: TurnInbox,
    is_closing: tokio::sync::Mutex<bool>,
}

impl LiveTurn {
    pub fn new(info: TurnInfo, log: StreamWriter, inbox: TurnInbox, request: &TurnRequest) -> Self {
        Self {
            info: Mutex::new(info),
            log,
            asked_by: request.authorized.clone(),
            ends_unread: !request.is_stored(),
            readers: Mutex::default(),
            done: watch::channel(false).0,
            stop: watch::channel(None).0,
            inbox,
            is_closing: tokio::sync::Mutex::new(false),
        }
    }
}

impl LiveTurn {
    /// What is known of the turn, to be changed.
    pub fn info(&self) -> MutexGuard<'_, TurnInfo> {
        lock(&self.info)
    }

    /// What is known of the turn at this moment.
    pub fn info_now(&self) -> TurnInfo {
        let mut info = lock(&self.info).clone();
        info.last_event = self.log.last();
        info
    }

    /// The turn's stream behind this entry.
    pub fn reader(self: &Arc<Self>, after: u64) -> Result<StreamReader> {
        let reader = self.log.reader(after)?;
        if !self.ends_unread {
            return Ok(reader);
        }
        let mut readers = lock(&self.readers);
        let hold = readers.upgrade().unwrap_or_else(|| {
            let hold = Arc::new(ReaderHold(self.clone()));
            *readers = Arc::downgrade(&hold);
            hold
        });
        Ok(reader.holding(hold))
    }

    /// Whoever asked may see the turn here; others find it by its conversation.
    pub fn is_visible_to(&self, who: &Authorized) -> bool {
        let access = DataAccess::of(who);
        let is_here = self.asked_by.tenant() == access.tenant();
        let is_same = match access.user() {
            Some(user) => self.asked_by.user_id.as_deref() == Some(user),
            None => who.user_id.is_none() && self.asked_by == *who,
        };
        is_here && is_same
    }

    /// The last commit is done, or the turn was left.
    pub fn end(&self) {
        self.done.send_replace(true);
    }

    /// Waits for `end`.
    pub async fn ended(&self) {
        let mut done = self.done.subscribe();
        // The sender lives as long as this.
        let _ = done.wait_for(|done| *done).await;
    }

    /// Breaks the work off; the first reason counts, but leaving counts always.
    pub fn stop(&self, reason: TurnStopReason) {
        self.stop.send_if_modified(|stop| {
            let counts = stop.is_none() || reason == TurnStopReason::NodeClosing;
            if counts {
                *stop = Some(reason);
            }
            counts
        });
    }

    /// Waits until the work has to be broken off.
    pub async fn stopped(&self, lease: Option<&Lease>) -> TurnStopReason {
        let mut stop = self.stop.subscribe();
        let asked = async {
            let reason = stop.wait_for(Option::is_some).await;
            reason
                .ok()
                .and_then(|reason| *reason)
                .unwrap_or(TurnStopReason::NodeClosing)
        };
        let ended = async {
            match lease {
                Some(lease) => lease.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            reason = asked => reason,
            end = ended => match end {
                LeaseEnd::Interrupted => TurnStopReason::Cancelled,
                LeaseEnd::Lost => TurnStopReason::LeaseLost,
            },
        }
    }

    /// This node is being closed, and the turn is left to others.
    pub fn is_left(&self) -> bool {
        *self.stop.borrow() == Some(TurnStopReason::NodeClosing)
    }

    /// Whether it is too late for messages. While this is held, that does not change.
    pub async fn is_closing(&self) -> tokio::sync::MutexGuard<'_, bool> {
        self.is_closing.lock().await
    }

    /// It is too late for messages, until another agent takes over.
    pub async fn set_closing(&self, is_closing: bool) {
        *self.is_closing.lock().await = is_closing;
    }
}

/// What all readers of a turn share. With the last of them the turn is cancelled; one that has ended stays as it is.
struct ReaderHold(Arc<LiveTurn>);

impl Drop for ReaderHold {
    fn drop(&mut self) {
        self.0.stop(TurnStopReason::Cancelled);
    }
}

/// All turns of this node, by request id.
#[derive(Default)]
pub(crate) struct LiveTurns(Mutex<HashMap<String, Arc<LiveTurn>>>);

impl LiveTurns {
    pub fn insert(&self, request_id: &str, live: Arc<LiveTurn>) {
        lock(&self.0).insert(request_id.to_owned(), live);
    }

    /// Takes a turn in unless one of its id is there.
    pub fn insert_new(&self, request_id: &str, live: Arc<LiveTurn>) -> bool {
        let mut turns = lock(&self.0);
        let is_new = !turns.contains_key(request_id);
        if is_new {
            turns.insert(request_id.to_owned(), live);
        }
        is_new
    }

    pub fn get(&self, request_id: &str) -> Option<Arc<LiveTurn>> {
        lock(&self.0).get(request_id).cloned()
    }

    /// Forgets a turn; not another one of its id, which has been taken up again meanwhile.
    pub fn remove(&self, request_id: &str, live: &Arc<LiveTurn>) {
        let mut turns = lock(&self.0);
        if turns
            .get(request_id)
            .is_some_and(|own| Arc::ptr_eq(own, live))
        {
            turns.remove(request_id);
        }
    }

    pub fn all(&self) -> Vec<Arc<LiveTurn>> {
        lock(&self.0).values().cloned().collect()
    }
}
