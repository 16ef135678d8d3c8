//! Traces of turns: which there are, what is in them, and following one.

mod brief;
mod withheld;

use super::input::{Id, NoQuery, PagedQuery, Path, PathId, Query, Text};
use super::paging::{PageParameters, PageResponse};
use super::routes::{Routes, routes};
use super::sse::{PING, StreamCaller};
use super::sse_source::{self, SseSource};
use super::{ApiCaller, ErrorBody, HttpError, ServerState, rate_limits};
use crate::auth::rate_limits::StreamPlace;
use ambit_runtime::chats::ListPart;
use ambit_runtime::inspect::traces::{self, StoredTrace, TraceFilter, TraceSummary};
use ambit_runtime::trace::{NodeView, SpaceView, TraceEvent, TraceLogEntry, TraceTree, fold_texts};
use ambit_runtime::{Authorized, Error, ErrorCode, Result};
use ambit_storage::batch::LogEntry;
use ambit_storage::driver::LogWatch;
use axum::Json;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write as _;
use std::time::Duration;
use utoipa::{IntoParams, ToSchema};

/// Entries read in one go.
const BATCH_SIZE: usize = 200;

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_traces,
        show_trace,
        list_nodes,
        show_node,
        list_log_lines,
        list_log_lines_of_node,
        list_spaces,
        show_space,
        stream_trace
    ]
}

/// Which traces.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TraceQuery {
    /// Of this chat.
    chat_id: Option<Id>,
    /// Of the conversation whose history has this index row; the chat is named `-` or not at all then.
    context: Option<Id>,
    /// The chat's agent, where several have one of this name.
    assistant_id: Option<Id>,
    /// Of this turn.
    request_id: Option<Id>,
    /// Of this status: `running`, `completed`, `failed` or `cancelled`.
    status: Option<Text>,
}

/// A node of a trace.
#[derive(Deserialize, IntoParams)]
struct NodePath {
    /// The turn's id.
    id: Id,
    /// The node's id.
    node: Id,
}

/// A board of a trace.
#[derive(Deserialize, IntoParams)]
struct SpacePath {
    /// The turn's id.
    id: Id,
    /// The board's id.
    space: Id,
}

/// Traces of conversations that the caller may use, the last begun first.
#[utoipa::path(get, path = "/trace/traces", tag = "traces", params(TraceQuery, PageParameters),
    responses((status = 200, description = "A page of traces", body = PageResponse<TraceSummary>), (status = 400, body = ErrorBody)))]
async fn list_traces(
    ApiCaller { server, who }: ApiCaller,
    listed: PagedQuery<TraceQuery>,
) -> Result<Json<PageResponse<TraceSummary>>, HttpError> {
    let PagedQuery { query, paging } = listed;
    let status = query.status.as_ref();
    let filter = TraceFilter {
        chat_id: query.chat_id.map(|id| id.0),
        context: query.context.map(|id| id.0),
        assistant_id: query.assistant_id.map(|id| id.0),
        request_id: query.request_id.map(|id| id.0),
        status: status
            .map(|name| TraceFilter::status(&name.0))
            .transpose()?,
    };
    let ambit = server.runtime.contexts(&who);
    let part = traces::list(&ambit, &who, &filter, paging.window()).await?;
    Ok(Json(paging.listing(part)))
}

async fn open(server: &ServerState, who: &Authorized, id: &Id) -> Result<StoredTrace> {
    traces::open(&server.runtime.contexts(who), who, &id.0).await
}

/// The trace as its log says. It is read whole, as a large page is.
async fn tree(server: &ServerState, who: &Authorized, id: &Id) -> Result<TraceTree> {
    let _build = rate_limits::page_build(server, who).await;
    let log = open(server, who, id).await?;
    let entries = log.all().await?;
    let texts = entries.iter().flat_map(texts).collect::<Vec<_>>();
    let mut tree = fold_texts(texts.iter().map(String::as_str));
    for node in &mut tree.nodes {
        let call_id = node.metadata.get("call_id");
        node.input = withheld::input(&node.kind, call_id, std::mem::take(&mut node.input));
        node.output = withheld::instructions(std::mem::take(&mut node.output));
        if !log.shows_user_memory {
            withheld::withhold_user_memory(&mut node.metadata);
        }
    }
    Ok(tree)
}

/// The events of an entry, which is one of them or a list.
fn texts(entry: &LogEntry) -> Vec<String> {
    let text = entry.body.as_str();
    match entry.body.to::<Vec<Value>>() {
        Ok(events) => events.iter().map(Value::to_string).collect(),
        Err(_) => vec![text.to_owned()],
    }
}

/// A list that is whole, in the shape of a page.
fn paged<T: Clone>(
    all: &[T],
    wants: impl Fn(&T) -> bool,
    paging: PageParameters,
) -> Json<PageResponse<T>> {
    let wanted: Vec<&T> = all.iter().filter(|item| wants(item)).collect();
    let window = paging.window();
    let items = wanted.iter().skip(window.skip).take(window.limit);
    Json(paging.listing(ListPart {
        items: items.map(|item| (*item).clone()).collect(),
        total: wanted.len() as u64,
    }))
}

/// One trace in one line.
#[utoipa::path(get, path = "/trace/traces/{id}/info", tag = "traces", params(("id" = Id, Path)),
    responses((status = 200, description = "The trace", body = TraceSummary), (status = 404, body = ErrorBody)))]
async fn show_trace(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<TraceSummary>, HttpError> {
    Ok(Json(open(&server, &who, &id).await?.row))
}

/// The nodes, in the order in which they began.
#[utoipa::path(get, path = "/trace/traces/{id}/nodes", tag = "traces", params(("id" = Id, Path), PageParameters),
    responses((status = 200, description = "A page of nodes", body = PageResponse<NodeView>), (status = 404, body = ErrorBody)))]
async fn list_nodes(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    Query(paging): Query<PageParameters>,
) -> Result<Json<PageResponse<NodeView>>, HttpError> {
    let tree = tree(&server, &who, &id).await?;
    Ok(paged(&tree.nodes, |_| true, paging))
}

/// One node.
#[utoipa::path(get, path = "/trace/traces/{id}/nodes/{node}", tag = "traces", params(NodePath),
    responses((status = 200, description = "The node", body = NodeView), (status = 404, body = ErrorBody)))]
async fn show_node(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<NodePath>,
    _: NoQuery,
) -> Result<Json<NodeView>, HttpError> {
    let tree = tree(&server, &who, &path.id).await?;
    let id = path.node.0;
    let found = tree.nodes.into_iter().find(|node| node.id == id);
    let found = found.ok_or_else(|| Error::not_found("node", &id))?;
    Ok(Json(found))
}

/// The lines, in the order in which they were written.
#[utoipa::path(get, path = "/trace/traces/{id}/logs", tag = "traces", params(("id" = Id, Path), PageParameters),
    responses((status = 200, description = "A page of lines", body = PageResponse<TraceLogEntry>), (status = 404, body = ErrorBody)))]
async fn list_log_lines(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    Query(paging): Query<PageParameters>,
) -> Result<Json<PageResponse<TraceLogEntry>>, HttpError> {
    let tree = tree(&server, &who, &id).await?;
    Ok(paged(&tree.logs, |_| true, paging))
}

/// The lines of one node.
#[utoipa::path(get, path = "/trace/traces/{id}/logs/{node}", tag = "traces", params(NodePath, PageParameters),
    responses((status = 200, description = "A page of lines", body = PageResponse<TraceLogEntry>), (status = 404, body = ErrorBody)))]
async fn list_log_lines_of_node(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<NodePath>,
    Query(paging): Query<PageParameters>,
) -> Result<Json<PageResponse<TraceLogEntry>>, HttpError> {
    let tree = tree(&server, &who, &path.id).await?;
    let id = path.node.0;
    if !tree.nodes.iter().any(|node| node.id == id) {
        return Err(Error::not_found("node", &id).into());
    }
    Ok(paged(&tree.logs, |line| line.node_id == id, paging))
}

/// The boards of values.
#[utoipa::path(get, path = "/trace/traces/{id}/spaces", tag = "traces", params(("id" = Id, Path), PageParameters),
    responses((status = 200, description = "A page of boards", body = PageResponse<SpaceView>), (status = 404, body = ErrorBody)))]
async fn list_spaces(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    Query(paging): Query<PageParameters>,
) -> Result<Json<PageResponse<SpaceView>>, HttpError> {
    let tree = tree(&server, &who, &id).await?;
    Ok(paged(&tree.spaces, |_| true, paging))
}

/// One board of values.
#[utoipa::path(get, path = "/trace/traces/{id}/spaces/{space}", tag = "traces", params(SpacePath),
    responses((status = 200, description = "The board", body = SpaceView), (status = 404, body = ErrorBody)))]
async fn show_space(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<SpacePath>,
    _: NoQuery,
) -> Result<Json<SpaceView>, HttpError> {
    let tree = tree(&server, &who, &path.id).await?;
    let id = path.space.0;
    let found = tree.spaces.into_iter().find(|space| space.id == id);
    let found = found.ok_or_else(|| Error::not_found("space", &id))?;
    Ok(Json(found))
}

/// An event of a trace as it is sent: the document alone names it.
#[derive(Serialize, ToSchema)]
struct ShownTraceEvent {
    /// The event.
    #[serde(flatten)]
    event: TraceEvent,
    /// With `brief`: what is left out of it.
    left_out: Option<Vec<String>>,
}

/// How much of the events.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct EventQuery {
    /// `true` leaves out what is large: `input`, `output`, `data` of lines, values of boards, and metadata above 256 bytes. Where
    /// something is left out, `left_out` names it.
    brief: Option<bool>,
}

/// The events of a trace behind `Last-Event-ID`, then those that follow, until it is complete.
#[utoipa::path(get, path = "/trace/traces/{id}/events", tag = "traces", params(("id" = Id, Path), EventQuery, ("Last-Event-ID" = Option<u64>, Header)),
    responses((status = 200, description = "The events; the schema is that of their `data`", body = ShownTraceEvent, content_type = "text/event-stream"), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn stream_trace(
    caller: StreamCaller,
    PathId(id): PathId,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let (server, who) = (&caller.server, &caller.who);
    let known = super::turn::last_event(&headers)?.unwrap_or(0);
    let log = open(server, who, &id).await?;
    let place = rate_limits::stream_place(server, who).await?;
    let follower = TraceSource {
        _place: place,
        watch: log.watch().await?,
        log,
        known,
        is_brief: query.brief.unwrap_or(false),
        ping: server.settings.ping,
    };
    let events = sse_source::answer(follower);
    Ok(caller.guard_by(events, move |server, who| {
        let id = id.clone();
        async move { open(&server, &who, &id).await.map(drop) }
    }))
}

/// One reader of a trace.
struct TraceSource {
    watch: LogWatch,
    log: StoredTrace,
    known: u64,
    is_brief: bool,
    ping: Duration,
    /// Held as long as the trace is read.
    _place: StreamPlace,
}

impl SseSource for TraceSource {
    const WHAT: &'static str = "the events of a trace";

    /// Nothing behind the end of a turn that has ended.
    async fn next(&mut self) -> Result<Option<(Bytes, bool)>> {
        loop {
            let entries = self.log.after(self.known, BATCH_SIZE).await?;
            if let Some(last) = entries.last() {
                self.known = last.seq;
                let (bytes, is_over) = self.frames(&entries);
                if bytes.is_empty() {
                    continue;
                }
                return Ok(Some((bytes, is_over)));
            }
            if self.log.row.status != "running" {
                return Ok(None);
            }
            let changed = tokio::time::timeout(self.ping, self.watch.changed());
            match changed.await {
                Ok(true) => {}
                Ok(false) => {
                    return Err(Error::new(ErrorCode::Unavailable, "the store was closed"));
                }
                Err(_) => return Ok(Some((PING, false))),
            }
        }
    }
}

impl TraceSource {
    /// Entries as events, and whether the trace is complete.
    fn frames(&self, entries: &[LogEntry]) -> (Bytes, bool) {
        let (mut text, mut is_over) = (String::new(), false);
        for entry in entries {
            let events = texts(entry).into_iter();
            let events: Vec<Value> = events
                .filter_map(|text| withheld::event(&text, self.log.shows_user_memory))
                .collect();
            let last = events.len().saturating_sub(1);
            for (at, event) in events.into_iter().enumerate() {
                let kind = event["type"].as_str().unwrap_or_default().to_owned();
                let shown = match self.is_brief {
                    true => brief::of(event),
                    false => event,
                };
                is_over |= kind == "complete";
                // Writing to a text cannot fail. Only behind the last event of an entry all of it is known.
                if at == last {
                    let _ = writeln!(text, "id: {}", entry.seq);
                }
                let _ = write!(text, "event: {kind}\ndata: {shown}\n\n");
            }
        }
        (text.into(), is_over)
    }
}
