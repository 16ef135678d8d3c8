//! What turns count, beside what is stored of them.

use crate::place::{
    Place, agent, ann, ask, borrowed, end, frames, model, place, place_of_tools, request, until,
};
use crate::toolbox::Tools;
use ambit_runtime::{Authorized, Runtime, TurnRequest, TurnStatus};
use ambit_storage::Usage;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Every series that is shown, without its value.
fn series(runtime: &Runtime) -> BTreeSet<String> {
    let text = runtime.metrics_text();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let names = lines.filter_map(|line| line.rsplit_once(' '));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// The sum of all series that begin so and have this label.
fn counted(runtime: &Runtime, name: &str, label: &str) -> i64 {
    let text = runtime.metrics_text();
    let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
    let meant = lines.filter(|(series, _)| series.split('{').next() == Some(name));
    let meant = meant.filter(|(series, _)| series.contains(label));
    meant
        .map(|(_, value)| value.parse::<f64>().unwrap() as i64)
        .sum()
}

/// Waits for the ends of turns, which are counted behind those of their streams.
pub async fn all_are_over(runtime: &Runtime) {
    while counted(runtime, "ambit_turns_running", "") > 0 {
        tokio::task::yield_now().await;
    }
}

/// A connector that counts tokens.
fn counting(name: &str, rules: &Value) -> (String, String) {
    let (file, text) = model(name, rules);
    let mut text: Value = serde_json::from_str(&text).unwrap();
    text["options"]["usage"] = json!({"prompt_tokens": 10, "completion_tokens": 3});
    (file, text.to_string())
}

/// A request of somebody's own, in a tenant of its own.
fn strangers(at: usize) -> TurnRequest {
    let mut asked = request("hello", "hi");
    asked.authorized = Authorized {
        user_id: Some(format!("user-{at}")),
        tenant_id: Some(format!("tenant-{at}")),
        ..Authorized::default()
    };
    asked.chat = Some(format!("chat-{at}"));
    // It tells nothing here, and takes its time.
    asked.skip.trace = true;
    asked
}

async fn ask_strangers(place: &Place, whose: std::ops::Range<usize>) {
    let turns = stream::iter(whose).map(|at| async move {
        let mut started = place.runtime.start(strangers(at)).await.unwrap();
        while started.stream.next().await.unwrap().is_some() {}
    });
    turns.buffer_unordered(64).collect::<Vec<()>>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g176_ten_thousand_users_chats_and_tenants_add_no_series() {
    let mut files = agent(&json!({"connector": "counting"}), "");
    files.push(counting("counting", &json!([{"reply": "hello"}])));
    let place = place(&borrowed(&files)).await;
    ask_strangers(&place, 0..100).await;
    let before = series(&place.runtime);
    ask_strangers(&place, 100..10_100).await;
    assert_eq!(series(&place.runtime), before);
    let id = before
        .iter()
        .find(|it| it.contains("user-") || it.contains("tenant-"));
    assert_eq!(id, None);
    all_are_over(&place.runtime).await;
    let turns = counted(&place.runtime, "ambit_turns_total", "completed");
    assert_eq!(turns, 10_100);
}

/// Rules for a model that calls tools, fails, or never comes to its end.
fn rules() -> Value {
    json!([
        {"match": {"last_user": "bad"}, "reply": "one two", "error": {"status": 400, "message": "no"}},
        {"match": {"last_user": "endless"}, "reply": "one two three four five", "delay": "1h"},
        {"match": {"has_tool_result": false}, "tool_calls": [{"name": "s__show"}, {"name": "s__fail"}]},
        {"match": {"round": 1}, "reply": "more ", "tool_calls": [{"name": "s__show"}, {"name": "made-up"}]},
        {"reply": "done"},
    ])
}

/// Runs turns of each kind to their ends; their ids.
async fn mixed_turns(place: &Place) -> Vec<String> {
    let mut ids = Vec::new();
    for at in 0..9 {
        let text = ["good", "bad", "endless"][at % 3];
        let mut asked = request("hello", text);
        asked.chat = Some(format!("chat-{at}"));
        let mut started = place.runtime.start(asked).await.unwrap();
        ids.push(started.request_id.clone());
        if text == "endless" {
            until(&mut started, |frame| {
                frame.event_name() == Some("step_start")
            })
            .await;
            place
                .runtime
                .cancel(&ann(), &started.request_id)
                .await
                .unwrap();
            while started.stream.next().await.unwrap().is_some() {}
        } else {
            frames(started).await;
        }
    }
    ids
}

#[tokio::test]
async fn g176_counts_of_turns_tokens_and_errors_equal_what_is_stored() {
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.push(counting("calling", &rules()));
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let runtime = &place.runtime;
    let mut stored = BTreeMap::new();
    let mut codes = BTreeMap::new();
    for id in mixed_turns(&place).await {
        let info = runtime.turn(&ann(), &id).await.unwrap();
        *stored.entry(info.status.as_str()).or_insert(0) += 1;
        if let Some(error) = info.error {
            let code = json!(error)["code"].as_str().unwrap().to_owned();
            *codes.entry(code).or_insert(0) += 1;
        }
    }
    assert_eq!(stored.len(), 3, "{stored:?}");
    all_are_over(runtime).await;
    for (status, count) in stored {
        let label = format!("status=\"{status}\"");
        assert_eq!(
            counted(runtime, "ambit_turns_total", &label),
            count,
            "{status}"
        );
    }
    assert_eq!(codes.len(), 1, "{codes:?}");
    for (code, count) in codes {
        let label = format!("code=\"{code}\"");
        assert_eq!(counted(runtime, "ambit_model_errors_total", &label), count);
    }
    let usage = Usage::all(runtime.contexts(&ann()));
    let totals = usage.aggregate().await.unwrap().unwrap();
    let tokens = |kind: &str| counted(runtime, "ambit_model_tokens_total", kind);
    assert!(totals.prompt_tokens > 0 && totals.completion_tokens > 0);
    assert_eq!(tokens("kind=\"input\""), totals.prompt_tokens);
    assert_eq!(tokens("kind=\"output\""), totals.completion_tokens);
    let calls = |status: &str| counted(runtime, "ambit_model_calls_total", status);
    let kinds = ["\"ok\"", "\"error\"", "\"cancelled\""].map(calls);
    assert_eq!(kinds, [9, 3, 3]);
    let tools = |labels: &str| counted(runtime, "ambit_tool_calls_total", labels);
    let kinds = [
        r#"{server="s",tool="show",status="ok"}"#,
        r#"{server="s",tool="fail",status="error"}"#,
        r#"{server="",tool="",status="error"}"#,
    ];
    assert_eq!(kinds.map(tools), [6, 3, 3]);
    assert_eq!(counted(runtime, "ambit_turns_running", ""), 0);
    assert_eq!(counted(runtime, "ambit_leases_held", ""), 0);
}

#[tokio::test]
async fn a_busy_chat_counts_by_what_its_next_request_wants() {
    let mut files = agent(&json!({"connector": "calling"}), "");
    files.push(counting("calling", &rules()));
    let place = place(&borrowed(&files)).await;
    let mut started = place
        .runtime
        .start(request("hello", "endless"))
        .await
        .unwrap();
    until(&mut started, |frame| {
        frame.event_name() == Some("step_start")
    })
    .await;
    assert!(place.runtime.start(request("hello", "bad")).await.is_err());
    let mut asked = request("hello", "bad");
    asked.on_busy = ambit_storage::lease::OnBusy::Interrupt;
    ask(&place, asked).await;
    let busy = |label: &str| counted(&place.runtime, "ambit_chat_busy_total", label);
    assert_eq!(
        [busy("reject"), busy("queue"), busy("interrupt")],
        [1, 0, 1]
    );
    let waits = counted(&place.runtime, "ambit_lease_wait_seconds_count", "");
    assert_eq!(waits, 2);
    let status = place
        .runtime
        .turn(&ann(), &started.request_id)
        .await
        .unwrap();
    assert_eq!(status.status, TurnStatus::Cancelled);
}

#[tokio::test]
async fn hooks_count_their_time_and_their_failures() {
    let hooks = r#"export function Create(ctx: any, messages: any[]) {
        if (messages[0].content === "own") throw new Exception("no", "user-4711");
        if (messages[0].content === "bad") return { messages: 3 };
    }"#;
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    for text in ["good", "own", "bad"] {
        let mut asked = request("hello", text);
        asked.chat = Some(text.to_owned());
        let frames = ask(&place, asked).await;
        assert_eq!(
            end(&frames)["status"] == "completed",
            text == "good",
            "{text}"
        );
    }
    let count = |name: &str, label: &str| counted(&place.runtime, name, label);
    let labels = r#"{agent="hello",hook="Create"}"#;
    assert_eq!(count("ambit_hook_seconds_count", labels), 3);
    let failed = |code: &str| {
        let label = format!(r#"{{agent="hello",hook="Create",code="{code}"}}"#);
        count("ambit_hook_failures_total", &label)
    };
    assert_eq!([failed("own"), failed("hook_error")], [1, 1]);
}

#[tokio::test]
async fn stores_count_their_commits_and_streams_that_are_gone_on_with() {
    let place = place(&borrowed(&agent(&json!({}), ""))).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let id = end(&frames)["request_id"].as_str().unwrap().to_owned();
    all_are_over(&place.runtime).await;
    let commits = |name: &str| counted(&place.runtime, name, r#"store="memory""#);
    assert!(commits("ambit_store_commits_total") >= 2);
    assert_eq!(
        commits("ambit_store_commits_total"),
        commits("ambit_store_commit_seconds_count")
    );
    assert_eq!(commits("ambit_store_commit_queue"), 0);
    for (after, resumed) in [(0, 0), (1, 1)] {
        place.runtime.stream(&ann(), &id, after).await.unwrap();
        let found = counted(&place.runtime, "ambit_stream_resumes_total", "");
        assert_eq!(found, resumed);
    }
}
