//! The feed of events: what has happened in the tenant, as far as the caller may see what it is about.

use super::input::{Id, Query, Text, filter};
use super::routes::{Routes, routes};
use super::sse::{PING, StreamCaller};
use super::sse_source::{self, SseSource};
use super::{ErrorBody, HttpError, rate_limits};
use crate::auth::rate_limits::StreamPlace;
use ambit_runtime::{EventFilter, FeedItem, FeedReader, Result, feed_types};
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use utoipa::{IntoParams, ToSchema};

/// A feed ends after this time and its client comes back: what it may see is judged again then.
const LONGEST: Duration = Duration::from_secs(3600);

/// The routes.
pub fn routes() -> Routes {
    routes![stream_events]
}

/// Which events.
#[derive(Deserialize, IntoParams)]
struct FeedQuery {
    /// Those of this agent.
    agent: Option<Id>,
    /// Those of this user's sessions.
    user: Option<Id>,
    /// Those of sessions with this chat name.
    chat: Option<Id>,
    /// Those of this group's sessions.
    group: Option<Id>,
    /// Names of events, with commas between them.
    #[serde(rename = "type")]
    types: Option<Text>,
}

/// What an event of the feed holds.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum FeedPayload {
    /// What has happened. It is sent as it is stored.
    #[expect(dead_code, reason = "the document alone needs it")]
    Event(Box<FeedEvent>),
    /// Events that were more than the feed could keep.
    Missed {
        /// How many.
        count: u64,
    },
}

/// What has happened: what every event says, and what this one says besides.
#[derive(Serialize, ToSchema)]
struct FeedEvent {
    /// Unique.
    event_id: String,
    /// When, in milliseconds since 1970; orders nothing.
    at: i64,
    /// The partition.
    tenant: String,
    /// The agent at work.
    agent_name: String,
    /// What it is about.
    identity: EventIdentity,
    /// The turn, inside one.
    turn_id: Option<String>,
    /// Who acts, if it is not the system.
    caller_id: Option<String>,
    /// What events of its type say.
    #[serde(flatten)]
    payload: Map<String, Value>,
}

/// What an event is about.
#[derive(Serialize, ToSchema)]
struct EventIdentity {
    /// The agent.
    agent_name: String,
    /// The chat's name.
    chat_name: Option<String>,
    /// The user.
    user_id: Option<String>,
    /// The group.
    group: Option<String>,
    /// The scope.
    scope: Option<String>,
    /// All of them in one text.
    key: String,
}

/// What happens in contexts that the caller may list, from now on or from behind `Last-Event-ID`: one event for each
/// after-event, named like it. Events are kept for ten minutes for who comes back; the feed ends after an hour.
#[utoipa::path(get, path = "/events", tag = "contexts", params(FeedQuery, ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, description = "The events; the schema is that of their `data`", body = FeedPayload, content_type = "text/event-stream"),
        (status = 400, body = ErrorBody), (status = 410, body = ErrorBody)))]
async fn stream_events(
    caller: StreamCaller,
    Query(query): Query<FeedQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let (server, who) = (&caller.server, &caller.who);
    let types = query.types.as_ref();
    let wanted = filter!(EventFilter from query: agent user chat group;
        types: types.map_or(Ok(Vec::new()), |names| feed_types(&names.0))?);
    let behind = headers.get("last-event-id").filter(|id| !id.is_empty());
    let behind = behind.map(|id| id.to_str().unwrap_or_default().trim().parse());
    let follower = server
        .runtime
        .follow_events(who, wanted, behind.transpose()?);
    let place = rate_limits::stream_place(server, who).await?;
    let feed = sse_source::answer(FeedSource {
        _place: place,
        follower: follower.await?,
        ping: server.settings.ping,
        end: Instant::now() + LONGEST,
        has_begun: false,
    });
    Ok(caller.guard(feed))
}

/// What one client follows.
struct FeedSource {
    follower: FeedReader,
    ping: Duration,
    end: Instant,
    has_begun: bool,
    /// Held as long as the feed is read.
    _place: StreamPlace,
}

impl SseSource for FeedSource {
    const WHAT: &'static str = "the feed of events";

    async fn next(&mut self) -> Result<Option<(Bytes, bool)>> {
        // The client hears at once that it is heard of.
        if !std::mem::replace(&mut self.has_begun, true) {
            return Ok(Some((PING, false)));
        }
        let next = timeout(self.ping, self.follower.next());
        match timeout_at(self.end, next).await {
            Err(_over) => Ok(None),
            Ok(Err(_silent)) => Ok(Some((PING, false))),
            Ok(Ok(told)) => Ok(told?.map(|told| (frames(&told), false))),
        }
    }
}

fn frames(all: &[FeedItem]) -> Bytes {
    let mut text = String::new();
    for told in all {
        // Writing to a text cannot fail.
        let _ = match told {
            FeedItem::Event {
                cursor,
                name,
                event,
            } => {
                let event = event.as_str();
                write!(text, "id: {cursor}\nevent: {name}\ndata: {event}\n\n")
            }
            FeedItem::Missed(count) => {
                let missed = json!(FeedPayload::Missed { count: *count });
                write!(text, "event: missed\ndata: {missed}\n\n")
            }
        };
    }
    text.into()
}
