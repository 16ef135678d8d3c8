//! Searches of hooks: what they give, whose references they are, and who is asked.

use crate::place::{
    Place, agent, ann, ask, borrowed, end, named, place, place_with, request, tree,
};
use ambit_runtime::{Authorized, Frame, ModelSecret, TurnRequest};
use serde_json::{Value, json};

/// Settings of a web that knows two pages, one more for `slow`, which takes long, and none for `nothing`.
fn web() -> Value {
    let page = |name: &str| json!({"title": name, "url": format!("https://{name}.test/"), "content": format!("about {name}")});
    json!({"provider": "scripted", "results": [
        {"match": "slow", "items": [page("late")], "delay": "60s"},
        {"match": "fail", "error": "out of order"},
        {"match": "nothing", "items": []},
        {"items": [page("one"), page("two")]},
    ]})
}

/// An agent with this search, whose `Create` leaves what this expression is.
async fn place_of(search: &Value, expression: &str, more: &[(String, String)]) -> Place {
    let hooks = format!(
        "export function Create(ctx, messages) {{ return {{ search: false, metadata: {{ found: ({expression}) }} }}; }}
         export function Next(ctx) {{ return {{ data: ctx.metadata.found }}; }}"
    );
    let mut files = agent(search, &hooks);
    files.extend_from_slice(more);
    let key = ModelSecret("a key that has thirty-two letters or more".to_owned());
    place_with(&borrowed(&files), |settings| {
        settings.models.key = Some(key);
    })
    .await
}

async fn asked(place: &Place) -> (Value, Vec<Frame>) {
    let frames = ask(place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["error"], Value::Null, "{}", end(&frames));
    (end(&frames)["next"].clone(), frames)
}

/// What the expression gives in a hook of an agent that searches this web.
async fn found(expression: &str) -> (Value, Vec<Frame>) {
    asked(&place_of(&json!({"search": {"web": web()}}), expression, &[]).await).await
}

fn ids(result: &Value) -> Vec<&str> {
    let items = result["items"].as_array().unwrap().iter();
    items
        .map(|item| item["citation_id"].as_str().unwrap())
        .collect()
}

/// All that is told of references.
fn announced_items(frames: &[Frame]) -> Value {
    let events = frames
        .iter()
        .filter(|frame| frame.event_name() == Some("references"));
    events.map(|frame| json!(frame.event_data())).collect()
}

/// The ids of each event of references.
fn announced(frames: &[Frame]) -> Vec<Vec<String>> {
    let events = frames
        .iter()
        .filter(|frame| frame.event_name() == Some("references"));
    let ids = events.map(|frame| {
        let references = frame.event_data().unwrap()["references"]
            .as_array()
            .unwrap()
            .iter();
        references
            .map(|reference| reference["id"].as_str().unwrap().to_owned())
            .collect()
    });
    ids.collect()
}

#[tokio::test]
async fn a_hook_searches_the_web_and_what_it_finds_are_references() {
    let settings = json!({"search": {"web": web(), "weights": {"hook": 0.7}}});
    let place = place_of(&settings, "ctx.search.Web('pages', { limit: 1 })", &[]).await;
    let (mut result, frames) = asked(&place).await;
    result["duration_ms"] = 0.into();
    // A script's whole number is one.
    assert_eq!(result["items"][0]["score"].take(), 1);
    result["items"][0]["score"] = json!(1.0);
    let item = json!({"citation_id": "1", "type": "web", "source": "hook", "weight": 0.7, "score": 1.0, "title": "one",
        "content": "about one", "url": "https://one.test/", "metadata": {"provider": "scripted", "position": 1}});
    let expected = json!({"type": "web", "query": "pages", "source": "hook", "items": [item], "total": 1, "duration_ms": 0});
    assert_eq!(result, expected);
    let event = frames
        .iter()
        .find(|frame| frame.event_name() == Some("references"))
        .unwrap();
    let mut reference = item;
    reference.as_object_mut().unwrap().remove("citation_id");
    for (name, value) in [
        ("id", json!("1")),
        ("index", json!(1)),
        ("snippet", json!("about one")),
    ] {
        reference[name] = value;
    }
    let mut told = event.event_data().unwrap()["references"][0].clone();
    told.as_object_mut().unwrap().remove("citation_id");
    assert_eq!(told, reference);
    let traced = tree(&place, &frames).await;
    let kinds: Vec<String> = traced
        .nodes
        .iter()
        .map(|node| format!("{} {}", node.kind, node.label))
        .collect();
    for expected in ["search search", "step web"] {
        assert!(kinds.iter().any(|kind| kind == expected), "{kinds:?}");
    }
}

/// Settings, a search, and why it fails.
fn failures() -> Vec<(Value, &'static str, &'static str)> {
    vec![
        (
            json!({}),
            "Web('x')",
            "no provider searches the web: set search.web.provider or uses.web",
        ),
        (
            json!({"uses": {"web": "nobody"}}),
            "Web('x')",
            "uses.web: there is no agent \"nobody\"",
        ),
        (
            json!({"uses": {"web": "disabled"}}),
            "Web('x')",
            "uses.web is disabled",
        ),
        (
            json!({"search": {"web": web()}}),
            "Web('fail')",
            "scripted: out of order",
        ),
        (
            json!({}),
            "KB('x')",
            "no collections: set search.kb.collections, or name some",
        ),
        (
            json!({"kb": {"collections": ["docs"]}}),
            "KB('x')",
            "collection \"docs\" not found",
        ),
        (
            json!({}),
            "KB('x', { collections: ['a', 'b'] })",
            "collection \"a\" not found, collection \"b\" not found",
        ),
        (
            json!({}),
            "DB('x')",
            "no models: set search.db.models, or name some",
        ),
        (
            json!({}),
            "DB('x', { models: ['product'] })",
            "model \"product\" not found",
        ),
        (
            json!({"search": {"web": {"provider": "tavily"}}}),
            "Web('x')",
            "tavily: TAVILY_API_KEY is not set",
        ),
    ]
}

#[tokio::test]
async fn a_search_that_fails_says_why_and_throws_nothing() {
    let model = (
        "models/note.mod.yao".to_owned(),
        json!({"name": "Note", "columns": [{"name": "id", "type": "ID"}]}).to_string(),
    );
    for (settings, expression, expected) in failures() {
        let place = place_of(
            &settings,
            &format!("ctx.search.{expression}"),
            std::slice::from_ref(&model),
        )
        .await;
        let (result, frames) = asked(&place).await;
        let told = (&result["error"], &result["items"], &result["total"]);
        assert_eq!(
            told,
            (&json!(expected), &json!([]), &json!(0)),
            "{expression}"
        );
        assert!(announced(&frames).is_empty());
    }
}

#[tokio::test]
async fn a_search_that_takes_too_long_is_ended() {
    let settings = json!({"search": {"web": web(), "options": {"timeout": "50ms"}}});
    let place = place_of(&settings, "ctx.search.Web('slow')", &[]).await;
    let (result, _) = asked(&place).await;
    assert_eq!(result["error"], "timed out after 0.05 s");
}

#[tokio::test]
async fn any_and_race_leave_the_others() {
    let requests = "[{ type: 'web', query: 'nothing' }, { type: 'web', query: 'slow' }, { type: 'web', query: 'pages' }]";
    let (results, frames) = found(&format!("ctx.search.Any({requests})")).await;
    assert_eq!(results[1], Value::Null);
    assert_eq!(ids(&results[2]), ["1", "2"]);
    assert_eq!(announced(&frames), [["1", "2"]]);
    let (results, _) =
        found("ctx.search.Race([{ type: 'web', query: 'slow' }, { type: 'web', query: 'fail' }])")
            .await;
    assert_eq!(
        (&results[0], &results[1]["error"]),
        (&Value::Null, &json!("scripted: out of order"))
    );
}

#[tokio::test]
async fn g213_ids_are_in_the_order_of_requests_over_hooks_and_delegates() {
    let create = "export function Create(ctx, messages) {
        const all = ctx.search.All([{ type: 'web', query: 'a' }, { type: 'kb', query: 'x' }, { type: 'web', query: 'b', limit: 1 }]);
        const called = ctx.agent.Call('apart', [{ role: 'user', content: 'x' }]);
        return { search: false, delegate: { agent_id: 'second', messages }, metadata: { all, called: called.response.next } };
    }";
    let second = "export function Create(ctx) { return { search: false, metadata: { own: ctx.search.Web('c', { limit: 1 }) } }; }
        export function Next(ctx) { return { data: { ...ctx.metadata, last: ctx.search.Web('d', { limit: 1 }) } }; }";
    let apart = "export function Next(ctx) { return { data: ctx.search.Web('e', { limit: 1 }) }; }";
    let settings = json!({"search": {"web": web()}});
    let mut files = agent(&settings, create);
    files.extend(named("second", &settings, second));
    files.extend(named("apart", &settings, apart));
    let place = place(&borrowed(&files)).await;
    let (data, frames) = asked(&place).await;
    assert_eq!(ids(&data["own"]), ["4"], "{data}");
    assert_eq!(ids(&data["last"]), ["5"]);
    assert_eq!(announced(&frames)[..2], [vec!["1", "2"], vec!["3"]]);
    let last = announced(&frames);
    assert_eq!(last[last.len() - 2..], [["4"], ["5"]]);
}

#[tokio::test]
async fn the_web_is_searched_and_put_in_order_by_agents() {
    let request =
        "const asked = JSON.parse(payload.messages[payload.messages.length - 1].content);";
    let finder = format!("export function Next(ctx, payload) {{ {request} return {{ data: {{ items: [
        {{ name: asked.query, link: 'https://a.test', snippet: Object.keys(asked).sort().join(' '), score: '40' }},
        {{ title: 'b', url: 'https://b.test', score: 80 }}, {{ score: 1 }}], total: 3 }} }}; }}");
    let sorter = format!(
        "export function Next(ctx, payload) {{ {request} return {{ data: {{ order: ['2', 'x', '2'] }} }}; }}"
    );
    let mut more = named("finder", &json!({}), &finder);
    more.extend(named("sorter", &json!({}), &sorter));
    let settings = json!({"uses": {"web": "finder", "rerank": "sorter"}});
    let expression =
        "ctx.search.Web('cats', { sites: ['a.test'], time_range: 'week', rerank: { top_n: 5 } })";
    let (result, _) = asked(&place_of(&settings, expression, &more).await).await;
    let items = &result["items"];
    let titles = (&items[0]["title"], &items[1]["title"], &result["total"]);
    assert_eq!(titles, (&json!("b"), &json!("cats"), &json!(2)), "{result}");
    assert_eq!(
        (&items[0]["score"], &items[1]["score"]),
        (&json!(1), &json!(0.5))
    );
    assert_eq!(
        items[1]["content"],
        "limit query sites source time_range type"
    );
    assert_eq!(ids(&result), ["1", "2"]);
}

#[tokio::test]
async fn equal_searches_of_a_turn_ask_once() {
    let finder = "export function Next(ctx) { ctx.memory.user.Incr('asked'); return { data: { items: [{ title: 't' }] } }; }";
    let more = named("finder", &json!({}), finder);
    let settings = json!({"uses": {"web": "finder"}});
    let expression = "[ctx.search.Web('cats'), ctx.search.Web('cats'), ctx.search.Web('dogs'), ctx.memory.user.Get('asked')]";
    let (results, _) = asked(&place_of(&settings, expression, &more).await).await;
    assert_eq!(results[3], 2);
    assert_eq!((ids(&results[0]), ids(&results[1])), (vec!["1"], vec!["2"]));
}

/// Notes of whoever asks, which only their maker sees, and a table of secrets.
fn notes() -> Vec<(String, String)> {
    let columns = json!([
        {"name": "id", "type": "ID"}, {"name": "title", "type": "string"}, {"name": "body", "type": "text", "nullable": true},
        {"name": "secret", "type": "string", "nullable": true, "crypt": "PASSWORD"},
        {"name": "story", "type": "longText", "nullable": true},
        {"name": "card", "type": "text", "nullable": true, "crypt": "AES"},
    ]);
    let model = json!({"name": "Note", "columns": columns, "option": {"permission": true, "soft_deletes": true}});
    let other = json!({"name": "Other", "columns": [{"name": "id", "type": "ID"}, {"name": "title", "type": "string"}]});
    let app = json!({"name": "Test", "version": "1.0.0", "ambit": {"capabilities": {"process": ["models.*"]}}});
    vec![
        ("models/note.mod.yao".to_owned(), model.to_string()),
        ("models/other.mod.yao".to_owned(), other.to_string()),
        ("app.yao".to_owned(), app.to_string()),
    ]
}

/// A request that first keeps this note, and then searches.
fn with_note(who: &str, note: &Value) -> TurnRequest {
    let mut asked = request("hello", "hi");
    asked.authorized = Authorized {
        user_id: Some(who.to_owned()),
        ..ann()
    };
    asked.authorized.constraints.owner_only = true;
    asked.chat = Some(format!("chat of {who}"));
    asked.metadata.insert("note".to_owned(), note.clone());
    asked
}

async fn place_of_notes(package: &Value, expression: &str, more: &[(String, String)]) -> Place {
    let mut files = notes();
    files.extend_from_slice(more);
    let expression = format!(
        "(() => {{ for (const note of ctx.metadata.note ?? []) Process('models.note.Create', note); return {expression}; }})()"
    );
    place_of(package, &expression, &files).await
}

#[tokio::test]
async fn rows_are_found_by_words_as_the_caller_may_see_them() {
    let package = json!({"db": {"models": ["note"], "options": {"limit": 3}}});
    let place = place_of_notes(&package, "ctx.search.DB('the lease of the boats')", &[]).await;
    let canary = json!([{"title": "lease lease", "body": "boats CANARY"}]);
    ask(&place, with_note("bob", &canary)).await;
    let notes = json!([
        {"title": "cats", "body": "nothing of it"},
        {"title": "a lease", "body": "about a house"},
        {"title": "boats", "body": "the lease of a boat"},
    ]);
    let frames = ask(&place, with_note("ann", &notes)).await;
    let result = end(&frames)["next"].clone();
    let titles: Vec<&Value> = result["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["title"])
        .collect();
    assert_eq!(titles, [&json!("boats"), &json!("a lease")], "{result}");
    let first = &result["items"][0];
    assert_eq!(
        (&first["model"], &first["url"], &first["content"]),
        (&json!("note"), &json!(""), &json!("the lease of a boat"))
    );
    assert_eq!(first["record_id"], first["data"]["id"]);
    assert!(first["data"].get("secret").is_none());
    let all = serde_json::to_string(&frames).unwrap();
    assert!(
        !all.contains("CANARY"),
        "what Bob keeps does not exist for Ann"
    );
}

#[tokio::test]
async fn g202_rows_of_others_change_no_score() {
    let package = json!({"db": {"models": ["note"]}});
    let mine =
        json!([{"title": "a lease", "body": "x"}, {"title": "boats", "body": "lease lease"}]);
    let mut results = Vec::new();
    for theirs in [
        json!([]),
        json!([{"title": "lease", "body": "lease"}, {"title": "boats"}, {"title": "y"}]),
    ] {
        let place = place_of_notes(&package, "ctx.search.DB('lease boats')", &[]).await;
        ask(&place, with_note("bob", &theirs)).await;
        let result = end(&ask(&place, with_note("ann", &mine)).await)["next"].clone();
        let items = result["items"].as_array().unwrap().iter();
        results.push(
            items
                .map(|item| json!([item["title"], item["score"]]))
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0].len(), 2);
}

#[tokio::test]
async fn conditions_orders_and_columns_of_the_call_count_for_words() {
    let package = json!({"db": {"models": ["note", "gone"]}});
    let options = "{ wheres: [{ column: 'title', op: 'ne', value: 'bee' }], orders: [{ column: 'title', option: 'desc' }], select: ['title'] }";
    let place = place_of_notes(
        &package,
        &format!("ctx.search.DB('ant bee cow', {options})"),
        &[],
    )
    .await;
    let notes = json!([{"title": "ant"}, {"title": "bee"}, {"title": "cow ant"}, {"title": "z", "body": "cow"}]);
    let result = end(&ask(&place, with_note("ann", &notes)).await)["next"].clone();
    let rows: Vec<&Value> = result["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["data"])
        .collect();
    assert_eq!(
        rows,
        [&json!({"title": "cow ant"}), &json!({"title": "ant"})],
        "{result}"
    );
    assert_eq!(result["notes"], json!(["model \"gone\" not found"]));
}

/// An agent `maker` that answers one of these after the other, and leaves what it was asked.
fn maker(answers: &Value) -> Vec<(String, String)> {
    let hooks = format!(
        "export function Next(ctx, payload) {{
            const asked = JSON.parse(payload.messages[payload.messages.length - 1].content);
            ctx.memory.user.Push('asked', [asked.retry ?? null]);
            const answers = {answers};
            return {{ data: answers[(asked.retry?.attempt ?? 1) - 1] }};
        }}"
    );
    named("maker", &json!({}), &hooks)
}

async fn generated(package: &Value, options: &str, answers: &Value) -> (Value, Place) {
    let mut whole = json!({"uses": {"querydsl": "maker"}, "db": {"models": ["note"]}});
    for (name, value) in package.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let place = place_of_notes(
        &whole,
        &format!("ctx.search.DB('boats', {options})"),
        &maker(answers),
    )
    .await;
    ask(
        &place,
        with_note("bob", &json!([{"title": "boats of bob"}])),
    )
    .await;
    let notes = json!([{"title": "boats", "body": "b"}, {"title": "cats", "body": "b"}, {"title": "dogs", "body": "b"}]);
    let frames = ask(&place, with_note("ann", &notes)).await;
    (end(&frames)["next"].clone(), place)
}

fn titles(result: &Value) -> Vec<&str> {
    let items = result["items"].as_array().unwrap().iter();
    items.map(|item| item["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn g215_a_made_query_is_narrowed_and_sees_what_its_caller_sees() {
    let dsl = json!({"dsl": {"select": ["title"], "from": "note", "wheres": [{"field": "title", "op": "<>", "value": "cats"},
        {"or": true, "field": "title", "op": "=", "value": "cats"}], "limit": 50}});
    let answers = json!([dsl]);
    let (result, _) = generated(&json!({}), "{}", &answers).await;
    assert_eq!(titles(&result), ["boats", "cats", "dogs"], "{result}");
    assert_eq!(
        (&result["items"][1]["score"], &result["dsl"]["limit"]),
        (&json!(0.95), &json!(20))
    );
    let options = "{ wheres: [{ column: 'title', value: 'boats' }, { column: 'title', value: 'dogs', method: 'orwhere' }], orders: [{ column: 'title', option: 'desc' }], limit: 5 }";
    let (result, _) = generated(&json!({}), options, &answers).await;
    assert_eq!(titles(&result), ["dogs", "boats"], "{result}");
    assert_eq!(result["dsl"]["limit"], 5);
}

#[tokio::test]
async fn g215_a_query_that_reads_more_than_it_was_given_is_refused_three_times() {
    let beyond = json!({"select": ["title"], "from": "other"});
    let within = json!({"select": ["title"], "from": "note", "wheres": [{"field": "id", "op": "in", "query": {"select": ["id"], "from": "other"}}]});
    let joined = json!({"select": ["note.title"], "from": "note", "joins": [{"from": "other", "key": "other.id", "foreign": "note.id"}]});
    let answers = json!([beyond, within, joined]);
    let (result, _) = generated(
        &json!({"search": {"querydsl": {"strict": true}}}),
        "{}",
        &answers,
    )
    .await;
    let why = result["error"].as_str().unwrap();
    assert!(
        why.starts_with(
            "querydsl: 3 attempts failed: [unknown_table] from: unknown table \"other\""
        ),
        "{why}"
    );
    let (result, _) = generated(&json!({}), "{}", &answers).await;
    assert_eq!(titles(&result), ["boats"], "words find what no query does");
    assert!(
        result["notes"][0]
            .as_str()
            .unwrap()
            .starts_with("querydsl: 3 attempts failed")
    );
}

#[tokio::test]
async fn faults_of_a_query_go_back_to_its_maker() {
    let good = json!({"dsl": {"select": [{"field": "title"}, "body", "*"], "from": "note", "orders": [{"field": "title", "sort": "asc"}]}});
    let answers = json!([{"select": ["title"]}, "no query", good]);
    let (result, place) = generated(&json!({}), "{ select: ['title'] }", &answers).await;
    assert_eq!(titles(&result), ["boats", "cats", "dogs"], "{result}");
    assert!(result["items"][0]["data"].get("body").is_none());
    assert!(result["notes"][0].as_str().unwrap().contains("body"));
    let asked = crate::place::left(&place, "asked").await;
    let retries = asked.as_array().unwrap();
    assert_eq!(retries[0], Value::Null);
    assert_eq!(
        (&retries[1]["attempt"], &retries[1]["lint_errors"]),
        (&json!(2), &json!("[missing_from] from: from is missing"))
    );
    assert!(
        retries[2]["lint_errors"]
            .as_str()
            .unwrap()
            .starts_with("[unreadable] ")
    );
}

#[tokio::test]
async fn encrypted_columns_and_those_of_ambit_are_in_no_result() {
    let package = json!({"db": {"models": ["note"]}});
    let secret = json!([{"title": "boats", "card": "CANARY"}]);
    let place = place_of_notes(&package, "ctx.search.DB('boats')", &[]).await;
    let frames = ask(&place, with_note("ann", &secret)).await;
    let result = &end(&frames)["next"];
    let data = result["items"][0]["data"].as_object().unwrap();
    assert_eq!(data["title"], "boats", "{result}");
    let is_hidden = |name: &String| name == "card" || name.starts_with("__");
    assert!(!data.keys().any(is_hidden), "{result}");
    let told = announced_items(&frames);
    assert!(!format!("{result}{told}").contains("CANARY"), "{told}");
    let named = "ctx.search.DB('boats', { select: ['title', 'card'] })";
    let place = place_of_notes(&package, named, &[]).await;
    let result = end(&ask(&place, with_note("ann", &secret)).await)["next"].clone();
    let expected = "models.note: column \"card\" is encrypted: no search shows it";
    assert_eq!(result["error"], expected);
}

#[tokio::test]
async fn g215_no_query_within_hides_a_column_that_was_not_asked_for() {
    let inner = |field: &str| json!({"from": "note", "select": ["id", field]});
    for field in [
        ":UPPER(body) as title",
        "body as title",
        ":MAX(body) as title",
    ] {
        let mut within = inner(field);
        if field.contains("MAX") {
            within["groups"] = json!(["id"]);
        }
        let dsl = json!({"query": within, "select": ["title"]});
        let strict = json!({"search": {"querydsl": {"strict": true}}});
        let (result, _) =
            generated(&strict, "{ select: ['title'] }", &json!([dsl, dsl, dsl])).await;
        assert_eq!(result["items"], json!([]), "{field}: {result}");
    }
    let within = json!({"query": inner(":UPPER(title) as title"), "select": ["title"]});
    let (result, _) = generated(&json!({}), "{ select: ['title'] }", &json!([within])).await;
    assert_eq!(titles(&result), ["BOATS", "CATS", "DOGS"], "{result}");
    let own = json!({"from": "note", "select": ["title", "__yao_created_by"]});
    let strict = json!({"search": {"querydsl": {"strict": true}}});
    let (result, _) = generated(&strict, "{}", &json!([own, own, own])).await;
    let why = result["error"].as_str().unwrap();
    assert!(why.contains("__yao_created_by"), "{why}");
}

#[tokio::test]
async fn g215_conditions_of_the_call_hold_wherever_its_table_is_read() {
    let options = "{ wheres: [{ column: 'title', value: 'boats' }] }";
    let strict = json!({"search": {"querydsl": {"strict": true}}});
    let join = |side: &str| {
        let mut join =
            json!({"from": "note as other", "key": "note.body", "foreign": "other.body"});
        if !side.is_empty() {
            join[side] = true.into();
        }
        json!({"from": "note", "select": ["other.title"], "joins": [join]})
    };
    let within = json!({"from": "note", "select": ["title"], "wheres": [
        {"field": "title", "op": "in", "query": {"from": "note", "select": [":MIN(title) as least"],
            "wheres": [{"field": "title", "op": "<>", "value": "boats"}]}}]});
    for (dsl, expected) in [
        (join(""), vec!["boats"]),
        (join("left"), vec!["boats"]),
        (within, vec![]),
    ] {
        let (result, _) = generated(&strict, options, &json!([dsl, dsl, dsl])).await;
        assert_eq!(titles(&result), expected, "{dsl}: {result}");
        assert_eq!(result["error"], Value::Null);
    }
    let right = join("right");
    let (result, _) = generated(&strict, options, &json!([right, right, right])).await;
    let why = result["error"].as_str().unwrap();
    assert!(why.contains("[right_join] joins: "), "{why}");
}

#[tokio::test]
async fn many_long_rows_are_cut_and_end_no_turn() {
    let package = json!({"db": {"models": ["note"]}});
    let expression = "(() => {
        const story = 'boats '.repeat(80000);
        for (let at = 0; at < 40; at++) Process('models.note.Create', { title: `boats ${at}`, story });
        return ctx.search.DB('boats of old', { limit: 40 });
    })()";
    let place = place_of_notes(&package, expression, &[]).await;
    let frames = ask(&place, with_note("ann", &json!([]))).await;
    let result = &end(&frames)["next"];
    assert_eq!(
        (&end(&frames)["status"], &result["total"]),
        (&json!("completed"), &json!(40)),
        "{:?}",
        result["error"]
    );
    let row = &result["items"][0];
    let story = row["data"]["story"].as_str().unwrap().len();
    assert!((8_000..20_480).contains(&story), "{story}");
    assert_eq!(row["record_id"], row["data"]["id"]);
    let id = end(&frames)["request_id"].as_str().unwrap().to_owned();
    let mut who = with_note("ann", &json!([])).authorized;
    who.constraints.owner_only = true;
    let list = place.runtime.references(&who, &id).await.unwrap();
    assert_eq!(list.references.len(), 40);
    assert!(!list.references[39].gone);
}

#[tokio::test]
async fn what_only_looks_like_a_key_is_none() {
    let columns = json!({"from": "note", "select": ["id", "title"]});
    let counted = json!({"from": "note", "select": [":COUNT(*) as id"]});
    let renamed = json!({"from": "note", "select": ["id", "body as title"]});
    let joined = json!({"from": "note", "select": ["other.id", "note.title"],
        "joins": [{"from": "note as other", "key": "note.body", "foreign": "other.body"}]});
    for (dsl, is_row) in [
        (columns, true),
        (counted, false),
        (renamed, false),
        (joined, false),
    ] {
        let (result, _) = generated(&json!({}), "{}", &json!([dsl])).await;
        let items = result["items"].as_array().unwrap();
        assert!(!items.is_empty() && result["dsl"].is_object(), "{result}");
        for item in items {
            assert_eq!(item.get("record_id").is_some(), is_row, "{dsl}: {item}");
        }
    }
}

#[tokio::test]
async fn columns_and_orders_of_the_call_fit_joined_and_grouped_queries() {
    let options = "{ select: ['title', 'id'], orders: [{ column: 'id', option: 'desc' }] }";
    let joined = json!({"from": "note as n", "select": ["n.title"],
        "joins": [{"from": "note as other", "key": "n.id", "foreign": "other.id"}]});
    let bare = json!({"from": "note"});
    for dsl in [joined, bare] {
        let (result, _) = generated(&json!({}), options, &json!([dsl])).await;
        assert_eq!(
            titles(&result),
            ["dogs", "cats", "boats"],
            "{dsl}: {result}"
        );
        assert!(result["items"][0]["record_id"].is_number(), "{result}");
    }
    let grouped = json!({"from": "note", "select": ["title", ":COUNT(id) as many"], "groups": ["title"],
        "orders": [{"field": "title", "sort": "desc"}]});
    let (result, _) = generated(&json!({}), options, &json!([grouped])).await;
    assert_eq!(titles(&result), ["dogs", "cats", "boats"], "{result}");
    assert_eq!(result["items"][0]["data"]["many"], 1);
    let related = "{ orders: [{ rel: 'maker', column: 'name' }] }";
    let (result, _) = generated(
        &json!({}),
        related,
        &json!([{"from": "note", "select": ["title"]}]),
    )
    .await;
    assert!(
        result["notes"][0].as_str().unwrap().contains("orders[0]"),
        "{result}"
    );
}

#[tokio::test]
async fn a_query_that_fails_when_it_is_run_is_made_anew() {
    // More tables than SQLite joins.
    let joins = (0..70).map(|at| {
        let (table, foreign) = (format!("note as n{at}"), format!("n{at}.id"));
        json!({"from": table, "key": "note.id", "foreign": foreign})
    });
    let joins: Vec<Value> = joins.collect();
    let many = json!({"from": "note", "select": ["note.title"], "joins": joins});
    let good = json!({"from": "note", "select": ["title"]});
    let (result, place) = generated(&json!({}), "{}", &json!([many, good])).await;
    assert_eq!(titles(&result), ["boats", "cats", "dogs"], "{result}");
    let retries = crate::place::left(&place, "asked").await;
    assert_eq!(retries[1]["attempt"], 2);
}
