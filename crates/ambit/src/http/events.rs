//! The feed of events: what has happened in the tenant, as far as the caller may see what it is about.

use super::sse::PING;
use super::sse_source::{self, SseSource};
use super::{AuthorizedCaller, ErrorBody, HttpError, QueryParameters, SharedState};
use ambit_runtime::Result;
use ambit_runtime::feed::{EventFilter, FeedItem, FeedReader};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use std::fmt::Write as _;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// A feed ends after this time and its client comes back: what it may see is judged again then.
const LONGEST: Duration = Duration::from_secs(3600);

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new().routes(routes!(feed))
}

/// What happens in contexts that the caller may list, from now on or from behind `Last-Event-ID`: one event for each
/// after-event, named like it. Events are kept for ten minutes for who comes back; the feed ends after an hour.
#[utoipa::path(get, path = "/events", tag = "contexts",
    params(("agent" = Option<String>, Query), ("user" = Option<String>, Query), ("chat" = Option<String>, Query),
        ("group" = Option<String>, Query), ("type" = Option<String>, Query, description = "Names of events, with commas between them"),
        ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, description = "The events", content_type = "text/event-stream"),
        (status = 400, body = ErrorBody), (status = 410, body = ErrorBody)))]
async fn feed(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    mut conditions: QueryParameters,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let types = conditions.text("type")?;
    let wanted = EventFilter {
        agent: conditions.id("agent")?,
        user: conditions.id("user")?,
        chat: conditions.id("chat")?,
        group: conditions.id("group")?,
        types: types
            .as_deref()
            .map_or(Ok(Vec::new()), EventFilter::types)?,
    };
    conditions.finish()?;
    let behind = headers.get("last-event-id").filter(|id| !id.is_empty());
    let behind = behind.map(|id| id.to_str().unwrap_or_default().trim().parse());
    let follower = server
        .runtime
        .follow_events(&who, wanted, behind.transpose()?);
    Ok(sse_source::answer(FeedSource {
        follower: follower.await?,
        ping: server.settings.ping,
        end: Instant::now() + LONGEST,
        has_begun: false,
    }))
}

/// What one client follows.
struct FeedSource {
    follower: FeedReader,
    ping: Duration,
    end: Instant,
    has_begun: bool,
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
            FeedItem::Event { place, name, event } => {
                write!(text, "id: {place}\nevent: {name}\ndata: {event}\n\n")
            }
            FeedItem::Missed(count) => {
                write!(text, "event: missed\ndata: {{\"count\":{count}}}\n\n")
            }
        };
    }
    text.into()
}
