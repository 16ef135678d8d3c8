//! Calls that fit their models: conversations made shorter, and requests refused.

use crate::place::{Place, agent, ask, borrowed, end, history, place_with, request, session};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::RuntimeSettings;
use ambit_storage::event::EngineError;
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// An agent whose model takes this many tokens, with these rules; what listeners heard of failures.
pub async fn windowed(
    window: u64,
    truncation: &Value,
    rules: &Value,
) -> (Place, Arc<Mutex<Vec<String>>>) {
    windowed_with(window, truncation, rules, |_| {}).await
}

/// The same with other settings.
pub async fn windowed_with(
    window: u64,
    truncation: &Value,
    rules: &Value,
    set: impl FnOnce(&mut RuntimeSettings),
) -> (Place, Arc<Mutex<Vec<String>>>) {
    let connector = json!({"type": "scripted", "options": {
        "model": "small", "rules": rules, "capabilities": {"max_input_tokens": window, "tool_calls": true},
    }});
    let package = json!({"connector": "small", "mcp": {"servers": ["s"]}, "context": {"truncation": truncation}});
    let mut files = agent(&package, "");
    files.push((
        "connectors/small.conn.yao".to_owned(),
        connector.to_string(),
    ));
    let tools = Tools::new(&["look"], |_, _| {
        let text = "b ".repeat(40);
        async move { Ok(outcome(Value::from(text))) }.boxed()
    });
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let own = heard.clone();
    let place = place_with(&borrowed(&files), |settings| {
        settings.tools = Some(Arc::new(tools));
        settings.listeners.after(move |event: Arc<EngineError>| {
            own.lock().unwrap().push(event.provider.clone());
            async { Ok(()) }
        });
        set(settings);
    })
    .await;
    (place, heard)
}

/// What the calls of the turns had, as the model counted: each letter is a word.
pub async fn counted(place: &Place) -> Vec<i64> {
    let records = session(place, "hello")
        .await
        .context()
        .usage()
        .records()
        .await
        .unwrap();
    records.iter().map(|record| record.prompt_tokens).collect()
}

pub fn rules_with_tools() -> Value {
    json!([
        {"match": {"has_tool_result": false, "last_user": "look"}, "tool_calls": [{"name": "s__look"}]},
        {"reply": "c c c c c"},
    ])
}

#[tokio::test]
async fn g048_no_call_is_larger_than_the_window_less_its_reserve() {
    let truncation = json!({"strategy": "simple", "threshold": 150, "buffer": 0});
    let (place, _) = windowed(200, &truncation, &rules_with_tools()).await;
    for turn in 0..12 {
        let text = format!("look {turn} {}", "a ".repeat(20));
        let ended = end(&ask(&place, request("hello", &text)).await);
        assert_eq!(ended["status"], "completed", "{ended}");
    }
    let counted = counted(&place).await;
    assert_eq!(counted.len(), 24);
    assert!(counted.iter().all(|tokens| *tokens <= 200), "{counted:?}");
    assert!(counted.iter().any(|tokens| *tokens > 80), "{counted:?}");
    // Everything is kept.
    let all = session(&place, "hello")
        .await
        .history()
        .archive(1, 1_000)
        .await
        .unwrap();
    assert_eq!(
        all.iter()
            .filter(|message| message.text().starts_with("look"))
            .count(),
        12
    );
    assert!(history(&place, "hello").await.len() < 20);
}

#[tokio::test]
async fn g048_what_cannot_fit_is_refused_before_the_call() {
    let simple = json!({"strategy": "simple", "threshold": 100});
    for truncation in [json!({}), simple] {
        let (place, _) = windowed(200, &truncation, &rules_with_tools()).await;
        let ended = end(&ask(&place, request("hello", &"aaaa ".repeat(2_000))).await);
        assert_eq!(
            (&ended["status"], &ended["code"]),
            (&json!("error"), &json!("limit_exceeded")),
            "{truncation}"
        );
        assert_eq!(ended["usage"]["total_tokens"], 0);
        assert_eq!(counted(&place).await, [0_i64; 0]);
    }
}

#[tokio::test]
async fn g048_a_tool_result_that_does_not_fit_is_refused_before_the_next_call() {
    let (place, _) = windowed(60, &json!({}), &rules_with_tools()).await;
    let ended = end(&ask(&place, request("hello", "look")).await);
    assert_eq!(ended["code"], "limit_exceeded", "{ended}");
    assert_eq!(counted(&place).await.len(), 1);
}

#[tokio::test]
async fn old_messages_are_summarised_by_the_agents_own_model_and_its_usage_is_booked() {
    for strategy in ["summarise", "symbolise"] {
        let truncation =
            json!({"strategy": strategy, "threshold": 120, "buffer": 0, "keep_messages": 4});
        let rules =
            json!([{"match": {"system": "keep the memory"}, "reply": "s"}, {"reply": "c c c c c"}]);
        let (place, heard) = windowed(1_000, &truncation, &rules).await;
        for turn in 0..6 {
            let text = format!("{turn} {}", "a ".repeat(40));
            assert_eq!(
                end(&ask(&place, request("hello", &text)).await)["status"],
                "completed"
            );
        }
        let view = history(&place, "hello").await;
        let stand_ins = view
            .iter()
            .filter(|message| message.text().contains("Earlier in this conversation"))
            .count();
        assert_eq!(stand_ins, 1, "{strategy} {view:?}");
        assert!(counted(&place).await.len() > 6, "{strategy}");
        assert_eq!(*heard.lock().unwrap(), [""; 0]);
    }
}

#[tokio::test]
async fn g046_a_summary_that_comes_to_nothing_leaves_the_view_and_is_reported() {
    let longer = "much ".repeat(500);
    for failing in [
        json!({"error": {"status": 400, "message": "no"}}),
        json!({"reply": " "}),
        json!({"reply": longer}),
        json!({"reply": "a b c", "cut_after": 1}),
    ] {
        let mut rule = failing.clone();
        rule["match"] = json!({"system": "keep the memory"});
        let truncation =
            json!({"strategy": "summarise", "threshold": 120, "buffer": 0, "keep_messages": 4});
        let (place, heard) =
            windowed(1_000, &truncation, &json!([rule, {"reply": "c c c c c"}])).await;
        for turn in 0..6 {
            let text = format!("{turn} {}", "a ".repeat(40));
            assert_eq!(
                end(&ask(&place, request("hello", &text)).await)["status"],
                "completed"
            );
        }
        assert_eq!(history(&place, "hello").await.len(), 12, "{failing}");
        let heard = heard.lock().unwrap().clone();
        assert!(
            !heard.is_empty() && heard.iter().all(|provider| provider == "summarise"),
            "{heard:?}"
        );
    }
}
