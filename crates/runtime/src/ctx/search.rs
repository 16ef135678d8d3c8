//! `ctx.search`: searches of scripts, as their caller.

use super::{ScriptCall, ScriptClass};
use crate::app::EffectiveSearch;
use crate::concurrent_calls::{JoinPolicy, run_concurrently};
use crate::error::{Error, Result};
use crate::optional::optional;
use crate::search::{ItemSource, SearchKind, SearchRequest, SearchResult, Searcher, announce};
use crate::trace::Trace;
use ambit_script::HostValue;
use serde_json::{Map, Value, json};
use tracing::Instrument;

/// `ctx.search`.
pub const SEARCH: ScriptClass = ScriptClass {
    name: "Search",
    place: "ctx.search",
    doc: "Searches the web, collections of knowledge and tables of the app, as the caller: what they may not see does not exist. A \
        search that fails does not throw: its `error` says why. What is found are references of the turn, cited by `citation_id`.",
    members: &[],
    methods: &[rows! {
        "Web(query: string, options?: WebSearchOptions): SearchResult",
        Some((1, "a query argument")), one(SearchKind::Web): "Searches the web.",
        "KB(query: string, options?: KBSearchOptions): SearchResult",
        Some((1, "a query argument")), one(SearchKind::Kb): "Searches collections of knowledge.",
        "DB(query: string, options?: DBSearchOptions): SearchResult",
        Some((1, "a query argument")), one(SearchKind::Db): "Searches tables of the app.",
        "All(requests: SearchRequest[]): (SearchResult | null)[]",
        Some((1, "an array of requests")), many: "Searches at once and waits for all.",
        "Any(requests: SearchRequest[]): (SearchResult | null)[]",
        Some((1, "an array of requests")), many: "Searches at once and waits for the first that finds something; the others are cancelled.",
        "Race(requests: SearchRequest[]): (SearchResult | null)[]",
        Some((1, "an array of requests")), many: "Searches at once and waits for the first that ends; the others are cancelled.",
    }],
    is_lenient: false,
};

async fn one(call: &ScriptCall<'_>, kind: SearchKind) -> Result<HostValue> {
    let name = call.method.name();
    let query = call.given(0).and_then(Value::as_str);
    let query = query.filter(|query| !query.trim().is_empty());
    let missing = || Error::invalid("query", format!("{name} requires a query argument"));
    let query = query.ok_or_else(missing)?;
    let none = Map::new();
    let is_no_object = || Error::invalid("options", "options must be an object");
    let options = optional(call.given(1), Value::as_object, is_no_object)?.unwrap_or(&none);
    let request = SearchRequest::read(kind, query, options, "")?;
    call.warn_of_unknown("search", "", options, SearchRequest::option_names(kind));
    let mut result = search(call, &request).await;
    Ok(taken(call, vec![Some(&mut result)]).remove(0).into())
}

async fn many(call: &ScriptCall<'_>) -> Result<HostValue> {
    let name = call.method.name();
    let Some(Value::Array(given)) = call.given(0) else {
        let text = format!("{name} requires an array of requests");
        return Err(Error::invalid("requests", text));
    };
    let requests = given.iter().enumerate();
    let requests = requests.map(|(at, request)| read_request(call, at, request));
    let requests: Vec<SearchRequest> = requests.collect::<Result<_>>()?;
    let searches = requests.iter();
    let searches = searches.map(|request| async { Ok::<_, Error>(search(call, request).await) });
    let until = JoinPolicy::named(name);
    let has_items = |result: &SearchResult| !result.items.is_empty();
    let bounds = call.reach.scope.limits.calls;
    let slots = run_concurrently(until, bounds, searches.collect(), has_items).await;
    let mut slots = slots?;
    let results = slots.iter_mut().map(Option::as_mut).collect();
    Ok(json!(taken(call, results)).into())
}

/// One of several requests.
fn read_request(call: &ScriptCall<'_>, at: usize, request: &Value) -> Result<SearchRequest> {
    let path = format!("requests[{at}].");
    let wrong = |name: &str, rule: &str| {
        let field = format!("{path}{name}");
        Error::invalid(field.as_str(), format!("{field} {rule}"))
    };
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    let kind = text("type").and_then(SearchKind::named);
    let kind = kind.ok_or_else(|| wrong("type", "must be web, kb or db"))?;
    let query = text("query").filter(|query| !query.trim().is_empty());
    let query = query.ok_or_else(|| wrong("query", "is required"))?;
    let none = Map::new();
    let mut options = request.as_object().unwrap_or(&none).clone();
    options.retain(|name, _| name != "type" && name != "query");
    let known = SearchRequest::option_names(kind);
    call.warn_of_unknown("search", &path, &options, known);
    SearchRequest::read(kind, query, &options, &path)
}

async fn search(call: &ScriptCall<'_>, request: &SearchRequest) -> SearchResult {
    let scope = &call.reach.scope;
    let kind = request.target.kind();
    let node = Searcher::search_node(&call.reach.cursor.current(), &request.query, &[kind.name()]);
    let levels: Vec<&Map<String, Value>> = scope.search.levels.iter().collect();
    let effective = EffectiveSearch::of(&scope.app, &scope.agent, &levels);
    effective
        .faults
        .iter()
        .for_each(|fault| node.node().warn(fault));
    // What agents and tools see of results is in no trace.
    let untraced = Trace::off(scope.trace.trace().id()).root();
    let searcher = Searcher {
        app: scope.app.clone(),
        models: scope.processes.models.clone(),
        authorized: scope.properties.authorized.clone(),
        agent: scope.agent.id.clone(),
        settings: effective.settings,
        context: scope.search.clone(),
        asker: scope.turn_host.asker(scope, untraced),
        node: node.node().clone(),
    };
    // Scripts run on threads that know nothing of the turn.
    let span = tracing::error_span!(
        "turn",
        request.id = scope.properties.request_id,
        chat.id = scope.properties.chat_id,
        agent.id = scope.properties.assistant_id,
    );
    let searched = searcher.run(request, ItemSource::Hook).instrument(span);
    let result = searched.await;
    node.complete(json!({"count": result.total, "duration_ms": result.duration_ms}));
    result
}

/// Results as scripts get them: their items are references of the turn now, and clients are told.
fn taken(call: &ScriptCall<'_>, mut results: Vec<Option<&mut SearchResult>>) -> Vec<Value> {
    let scope = &call.reach.scope;
    let references = &scope.search.turn.references;
    references.add(results.iter_mut().filter_map(Option::as_deref_mut));
    for result in results.iter().flatten() {
        announce(&scope.outbox, &result.items);
    }
    results.iter().map(|result| json!(result)).collect()
}
