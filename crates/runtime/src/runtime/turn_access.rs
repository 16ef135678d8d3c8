//! What reaches a turn from outside: looking at it, following its stream, stopping it and adding to it, wherever it runs.

use super::Runtime;
use crate::access::Authorized;
use crate::error::{Error, ErrorCode, Result};
use crate::inbox::TurnInbox;
use crate::journal::{self, TurnKeys};
use crate::live_turn::LiveTurn;
use crate::stream::{self, StreamReader};
use crate::turn_info::{InterruptEffect, TurnInfo, TurnInterrupt, TurnStatus, TurnStopReason};
use crate::turn_location;
use ambit_storage::batch::BatchCheck;
use ambit_storage::clock::to_millis;
use ambit_storage::driver::ValuePart;
use ambit_telemetry::table;
use futures::future::BoxFuture;
use std::sync::Arc;

impl Runtime {
    /// What is known of a turn.
    pub fn turn<'a>(
        &'a self,
        who: &'a Authorized,
        request_id: &'a str,
    ) -> BoxFuture<'a, Result<TurnInfo>> {
        Box::pin(async move {
            if let Some(live) = self.live(who, request_id) {
                let (context, has_ended) = match self.found(who, request_id).await {
                    // Its last commit may be done before this node hears of that.
                    Ok((place, info)) => (place.context, info.status != TurnStatus::Running),
                    // What has stored nothing yet has no row.
                    Err(error) if error.code == ErrorCode::NotFound => (None, false),
                    Err(error) => return Err(error),
                };
                if !has_ended {
                    return Ok(TurnInfo {
                        context,
                        ..live.info_now()
                    });
                }
            }
            let (place, mut info) = self.found(who, request_id).await?;
            // What is stored of a turn is not written again with each entry; its log knows how long it is.
            let last = stream::last_number(place.driver.as_ref(), &place.names.events()).await?;
            info.last_event = last.unwrap_or(info.last_event);
            info.context = place.context;
            Ok(info)
        })
    }

    /// A turn's stream behind this entry, wherever it runs or ran.
    pub fn stream<'a>(
        &'a self,
        who: &'a Authorized,
        request_id: &'a str,
        after: u64,
    ) -> BoxFuture<'a, Result<StreamReader>> {
        Box::pin(async move {
            if after > 0 {
                self.metrics().count(&table::STREAM_RESUMES, []);
            }
            if let Some(live) = self.live(who, request_id) {
                return live.reader(after);
            }
            let (place, info) = self.found(who, request_id).await?;
            if self.is_stream_expired(&info) {
                return Err(stream_expired());
            }
            let log = place.names.events();
            let driver = place.driver;
            match StreamReader::stored(driver.clone(), log.clone(), after).await? {
                Some(reader) => Ok(reader),
                // It has only just begun on another node.
                None if info.status == TurnStatus::Running && after == 0 => {
                    Ok(StreamReader::awaited(driver, log))
                }
                None => Err(stream_expired()),
            }
        })
    }

    /// Stops a turn, wherever it runs. One that has ended stays as it is.
    pub fn cancel<'a>(
        &'a self,
        who: &'a Authorized,
        request_id: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if let Some(live) = self.live(who, request_id) {
                live.stop(TurnStopReason::Cancelled);
                return Ok(());
            }
            let (place, _) = self.found(who, request_id).await?;
            let stop = TurnInterrupt {
                is_forced: true,
                ..TurnInterrupt::default()
            };
            place.send(&stop).await.map(drop)
        })
    }

    /// Adds to a running turn, or stops it. The turn is named by its context's or by its own id.
    pub fn interrupt<'a>(
        &'a self,
        who: &'a Authorized,
        id: &'a str,
        interrupt: TurnInterrupt,
    ) -> BoxFuture<'a, Result<InterruptEffect>> {
        Box::pin(async move {
            let id = journal::request_id(id);
            let applied = match (interrupt.is_forced, interrupt.messages.is_empty()) {
                (false, _) => InterruptEffect::NextStep,
                (true, false) => InterruptEffect::Restart,
                (true, true) => InterruptEffect::Cancel,
            };
            if let Some(live) = self.live(who, id) {
                let is_closing = live.is_closing().await;
                if *is_closing && applied != InterruptEffect::Cancel {
                    return Err(too_late("is about to end"));
                }
                // The turn hears of it as it would of another node's.
                let sent = live.inbox.send(&interrupt, None).await;
                if applied == InterruptEffect::Cancel {
                    live.stop(TurnStopReason::Cancelled);
                }
                return sent.map(|()| applied);
            }
            let (place, _) = self.found(who, id).await?;
            match place.send(&interrupt).await? {
                true => Ok(applied),
                false => Err(too_late("has ended")),
            }
        })
    }

    /// A turn that runs here, if the caller may see it.
    fn live(&self, who: &Authorized, id: &str) -> Option<Arc<LiveTurn>> {
        let live = self.0.turns.get(id)?;
        live.is_visible_to(who).then_some(live)
    }

    /// Whether the time is over for which the turn's stream is kept. The sweep that drops it may come later.
    fn is_stream_expired(&self, info: &TurnInfo) -> bool {
        let period = to_millis(self.app().settings.stream.retention);
        let now = self.stores().options().clock.now();
        let end = info.ended_at.map(|ended| ended.saturating_add(period));
        end.is_some_and(|end| end <= now)
    }

    async fn found(&self, who: &Authorized, request_id: &str) -> Result<(StoredTurn, TurnInfo)> {
        let unknown = || Error::not_found("request", request_id);
        let found = turn_location::find(&self.contexts(who), who, request_id).await?;
        let names = TurnKeys::new(found.space.clone(), request_id);
        let entry = found
            .driver
            .get(&names.info(), ValuePart::Whole)
            .await?
            .ok_or_else(unknown)?;
        let place = StoredTurn {
            names,
            space: found.space,
            driver: found.driver,
            context: found.row.map(|row| row.id),
        };
        Ok((place, entry.value.to()?))
    }
}

/// Where a stored turn is.
struct StoredTurn {
    names: TurnKeys,
    space: ambit_storage::address::Space,
    driver: Arc<dyn ambit_storage::driver::Driver>,
    /// The id of the index row of its conversation's history.
    context: Option<String>,
}

impl StoredTurn {
    /// Sends something to the turn; false where it has ended. Nothing is sent to a turn of which nobody reads it any more.
    async fn send(&self, interrupt: &TurnInterrupt) -> Result<bool> {
        let key = journal::open_key(&self.space, &self.names.request_id);
        let inbox = TurnInbox::new(self.driver.clone(), self.names.inbox());
        while let Some(open) = self.driver.get(&key, ValuePart::Nothing).await? {
            let check = BatchCheck::Version {
                key: key.clone(),
                version: Some(open.version),
            };
            match inbox.send(interrupt, Some(check)).await {
                // It has ended, or was taken up again.
                Err(error) if error.code == ErrorCode::Conflict => {}
                sent => return sent.map(|()| true),
            }
        }
        Ok(false)
    }
}

fn stream_expired() -> Error {
    let message = "the stream of this request is no longer kept";
    Error::new(ErrorCode::StreamExpired, message)
}

fn too_late(why: &str) -> Error {
    let message = format!("the turn {why}; send the messages as a new request");
    Error::new(ErrorCode::TooLate, message)
}
