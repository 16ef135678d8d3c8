//! Calls that become tasks.

use super::{ask, post, served};
use crate::mcp_requests::{failure, knows_tasks, reply, result, with_capabilities};
use crate::site::{Answer, Site};
use serde_json::{Value, json};

/// What a client that knows tasks is answered.
async fn ask_with_tasks(site: &Site, method: &str, params: Value) -> Answer {
    Answer::of(with_capabilities(post(site), method, params, knows_tasks())).await
}

/// Begins a call that becomes a task.
async fn begin(site: &Site, message: &str) -> Value {
    let agent = if message == "work" {
        "agent_slow"
    } else {
        "agent_hello"
    };
    let params = json!({"name": agent, "arguments": {"message": message}});
    let task = result(&ask_with_tasks(site, "tools/call", params).await);
    assert_eq!(task["resultType"], json!("task"), "{task}");
    task
}

/// The task when it is no more at work.
async fn settled(site: &Site, task: &Value) -> Value {
    let id = task["taskId"].as_str().unwrap();
    site.resume(id, 0).await.rest().await;
    let found = ask_with_tasks(site, "tasks/get", json!({"taskId": id})).await;
    result(&found)
}

#[tokio::test]
async fn a_long_call_becomes_a_task_that_has_the_call_s_result() {
    let site = served().await;
    let task = begin(&site, "work").await;
    assert_eq!(
        (&task["status"], &task["ttlMs"], &task["pollIntervalMs"]),
        (&json!("working"), &json!(86_400_000), &json!(1000))
    );
    assert!(task["createdAt"].as_str().unwrap().ends_with('Z'), "{task}");
    let working = ask_with_tasks(&site, "tasks/get", json!({"taskId": task["taskId"]})).await;
    let working = result(&working);
    assert_eq!(
        (&working["taskId"], &working["createdAt"]),
        (&task["taskId"], &task["createdAt"])
    );
    assert_eq!(working["resultType"], json!("complete"));
    let done = settled(&site, &task).await;
    assert_eq!(done["status"], json!("completed"));
    let value = &done["result"]["structuredContent"];
    assert_eq!(
        (&value["text"], &value["request_id"]),
        (&json!("one two three four five six"), &task["taskId"])
    );
    assert_eq!(done["result"]["isError"], json!(false));
}

#[tokio::test]
async fn a_task_is_stopped() {
    let site = served().await;
    let task = begin(&site, "never ends").await;
    let params = json!({"taskId": task["taskId"]});
    for _ in 0..2 {
        let stopped = result(&ask_with_tasks(&site, "tasks/cancel", params.clone()).await);
        let keys: Vec<&String> = stopped.as_object().unwrap().keys().collect();
        assert_eq!(
            (keys.len(), &stopped["resultType"]),
            (2, &json!("complete")),
            "{stopped}"
        );
    }
    let ended = settled(&site, &task).await;
    assert_eq!(ended["status"], json!("cancelled"));
    assert!(ended.get("result").is_none());
}

#[tokio::test]
async fn a_client_that_does_not_know_tasks_gets_none() {
    let site = served().await;
    let params = json!({"name": "agent_slow", "arguments": {"message": "work"}});
    let whole = result(&ask(&site, "tools/call", params).await);
    assert_eq!(whole["structuredContent"]["status"], json!("completed"));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = ask(&site, method, json!({"taskId": "x"})).await;
        assert_eq!(failure(&refused), (400, -32021), "{method}");
        let needed =
            json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
        assert_eq!(reply(&refused)["error"]["data"], needed);
        let unknown = ask_with_tasks(&site, method, json!({"taskId": "x"})).await;
        assert_eq!(failure(&unknown), (200, -32602), "{method}");
    }
}

#[tokio::test]
async fn calls_that_have_become_tasks_count_until_they_end() {
    let site = served().await;
    let begun = (0..64).map(|_| begin(&site, "never ends"));
    let begun = futures::future::join_all(begun).await;
    let params = json!({"name": "agent_hello", "arguments": {"message": "hi"}});
    let one_more = async || ask_with_tasks(&site, "tools/call", params.clone()).await;
    assert_eq!(one_more().await.status, 429);
    let stopped = json!({"taskId": begun[0]["taskId"]});
    result(&ask_with_tasks(&site, "tasks/cancel", stopped).await);
    settled(&site, &begun[0]).await;
    // Whoever counts hears of the end on its own.
    while one_more().await.status == 429 {
        tokio::task::yield_now().await;
    }
}
