//! Files that change while turns run.

use crate::place::{
    agent, ask, borrowed, end, frames, model, place, place_of_tools, place_with, request, shown,
};
use crate::toolbox::{Tools, outcome};
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

fn version(number: u32) -> String {
    format!("export function Next() {{ return {{ data: {number} }}; }}")
}

#[tokio::test]
async fn g122_running_turns_finish_on_the_old_code_and_new_ones_use_the_new() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let gates = (begun.clone(), go_on.clone());
    let tools = Tools::new(&["wait"], move |_, _| {
        let (begun, go_on) = gates.clone();
        async move {
            begun.notify_one();
            go_on.notified().await;
            Ok(outcome(Value::Null))
        }
        .boxed()
    });
    let rules = json!([{"match": {"has_tool_result": false, "last_user": "wait"}, "tool_calls": [{"name": "s__wait"}]}]);
    let mut files = agent(
        &json!({"connector": "waiting", "mcp": {"servers": ["s"]}}),
        &version(1),
    );
    files.push(model("waiting", &rules));
    let place = place_of_tools(&borrowed(&files), tools).await;
    let running = place.runtime.start(request("hello", "wait")).await.unwrap();
    begun.notified().await;
    let hooks = place.app.path().join("assistants/hello/src/index.ts");
    std::fs::write(&hooks, version(2)).unwrap();
    let mut other = request("hello", "hi");
    other.chat = Some("chat-2".to_owned());
    assert_eq!(end(&ask(&place, other.clone()).await)["next"], 1);
    place.runtime.reload().await.unwrap();
    assert_eq!(end(&ask(&place, other.clone()).await)["next"], 2);
    go_on.notify_one();
    assert_eq!(end(&frames(running).await)["next"], 1);
    // What does not load changes nothing.
    std::fs::write(&hooks, "export function Next( {").unwrap();
    let error = place.runtime.reload().await.unwrap_err();
    assert!(
        error.message.contains("assistants/hello/src/index.ts"),
        "{error}"
    );
    assert_eq!(end(&ask(&place, other).await)["next"], 2);
}

#[tokio::test]
async fn g122_every_script_is_compiled_at_a_reload_and_one_that_is_broken_changes_nothing() {
    for file in [
        "assistants/hello/src/events.ts",
        "assistants/hello/src/context.ts",
        "assistants/hello/src/orders.ts",
        "scripts/shop.ts",
    ] {
        let place = place(&borrowed(&agent(&json!({}), &version(1)))).await;
        let path = place.app.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "export function Broken( {").unwrap();
        std::fs::write(
            place.app.path().join("assistants/hello/src/index.ts"),
            version(2),
        )
        .unwrap();
        let error = place.runtime.reload().await.unwrap_err();
        assert!(error.message.contains(file), "{error}");
        assert_eq!(end(&ask(&place, request("hello", "hi")).await)["next"], 1);
    }
}

#[tokio::test]
async fn an_agent_with_a_broken_script_answers_with_what_is_wrong() {
    for file in ["index.ts", "events.ts", "context.ts"] {
        let mut files = agent(&json!({}), "");
        files.push((
            format!("assistants/hello/src/{file}"),
            "export const x = ;".to_owned(),
        ));
        files.extend(crate::place::named("other", &json!({}), ""));
        let place = place(&borrowed(&files)).await;
        let error = place
            .runtime
            .start(request("hello", "hi"))
            .await
            .err()
            .unwrap();
        assert_eq!(error.code.as_str(), "config_error");
        assert!(
            error
                .message
                .contains(&format!("assistants/hello/src/{file}:1")),
            "{error}"
        );
        assert_eq!(
            shown(&ask(&place, request("other", "hi")).await)[0].1,
            "echo: hi"
        );
    }
}

#[tokio::test]
async fn in_development_changed_files_take_effect_by_themselves() {
    let files = agent(&json!({}), &version(1));
    let place = place_with(&borrowed(&files), |settings| settings.is_development = true).await;
    assert_eq!(end(&ask(&place, request("hello", "hi")).await)["next"], 1);
    std::fs::write(
        place.app.path().join("assistants/hello/src/index.ts"),
        version(20),
    )
    .unwrap();
    let is_new = async {
        while end(&ask(&place, request("hello", "hi")).await)["next"] != 20 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), is_new)
        .await
        .unwrap();
}
