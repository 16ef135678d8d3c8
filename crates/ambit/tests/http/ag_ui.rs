//! Runs for clients of AG-UI.

use crate::site::{Answer, Site, Stream};
use crate::turns::status;
use reqwest::Method;
use serde_json::{Value, json};

fn run(run_id: &str, text: &str) -> Value {
    let question = json!({"id": format!("question of {run_id}"), "role": "user", "content": text});
    json!({"threadId": "c1", "runId": run_id, "messages": [question]})
}

/// The events of a run.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let data = answer
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[tokio::test]
async fn g162_a_run_that_is_sent_again_is_the_first_one_on_every_node() {
    let site = Site::development().await;
    let other = site.beside().await;
    let sent = (0..6).map(|at| {
        let node = if at % 2 == 0 { &site } else { &other };
        let mut body = run("r1", "go on");
        // What the client has of the answer by now does not make it another run.
        body["context"] = json!([{"description": "attempt", "value": at.to_string()}]);
        async move { node.post("/v1/ag-ui/hello", &body).await }
    });
    let answers = futures::future::join_all(sent).await;
    let first = events(&answers[0]);
    assert_eq!(first[0]["runId"], "r1");
    assert!(answers.iter().all(|answer| events(answer) == first));
    let list = site.get("/v1/chat/sessions/c1/messages").await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let usage = site.get("/v1/usage").await.json();
    assert_eq!(usage["total"]["records"], 1, "{usage}");
}

#[tokio::test]
async fn what_the_client_gives_along_is_metadata() {
    let package = r#"{"name": "Tells", "public": true}"#;
    let hooks = "export function Next(ctx) { return { data: [ctx.accept, ctx.metadata] }; }";
    let files = [
        ("assistants/tells/package.yao", package),
        ("assistants/tells/src/index.ts", hooks),
    ];
    let site = Site::of(&files).await;
    let mut body = run("r1", "hi");
    let context = json!([{"description": "page", "value": "/cart"}]);
    body["context"] = context.clone();
    body["forwardedProps"] = json!({"theme": "dark"});
    body["state"] = json!({"x": 1});
    let answer = site.post("/v1/ag-ui/tells", &body).await;
    let events = events(&answer);
    let metadata =
        json!({"context": context, "forwardedProps": {"theme": "dark"}, "state": {"x": 1}});
    assert_eq!(events.last().unwrap()["result"], json!(["ag-ui", metadata]));
    assert!(events.iter().all(|event| event["type"] != "STATE_SNAPSHOT"));
    body["forwardedProps"] = "x".repeat(20_000).into();
    body["runId"] = "r2".into();
    let refused = site.post("/v1/ag-ui/tells", &body).await;
    let expected = (
        413,
        "limit_exceeded".to_owned(),
        Some("metadata".to_owned()),
    );
    assert_eq!(refused.failure(), expected);
}

#[tokio::test]
async fn a_run_ends_when_its_client_leaves_where_it_says_so() {
    let site = Site::development().await;
    let mut body = run("r1", "never ends");
    body["cancel_on_disconnect"] = json!(true);
    let request = site.request(Method::POST, "/v1/ag-ui/hello").json(&body);
    let mut stream = Stream::of(request).await;
    let id = stream.request_id();
    stream
        .until(|event| event["type"] == "TEXT_MESSAGE_CONTENT")
        .await;
    drop(stream);
    let events = site.resume(&id, 0).await.rest().await;
    assert_eq!(status(&events), json!("cancelled"));
}

#[tokio::test]
async fn wrong_runs_are_refused_by_the_field_that_is_to_blame_and_leave_nothing() {
    let site = Site::development().await;
    let part = json!([{"type": "image", "source": {"type": "tape"}}]);
    for (change, value, status, param) in [
        ("protocolVersion", json!("2.0"), 422, "protocolVersion"),
        ("resume", json!([{"interruptId": "i"}]), 422, "resume"),
        ("runId", json!(""), 400, "runId"),
        ("threadId", json!(7), 400, "threadId"),
        ("messages", json!([]), 400, "messages"),
        (
            "messages",
            json!([{"id": "a", "role": "activity", "content": {}}]),
            400,
            "messages",
        ),
        (
            "messages",
            json!([{"id": "a", "role": "system", "content": "x"}]),
            400,
            "messages[0].role",
        ),
        (
            "messages",
            json!([{"id": "a", "role": "user"}]),
            400,
            "messages[0].content",
        ),
        (
            "messages",
            json!([{"id": "a", "role": "user", "content": part}]),
            400,
            "messages[0].content[0]",
        ),
        (
            "messages",
            json!([{"id": "a", "role": "tool", "content": ""}]),
            400,
            "messages[0].toolCallId",
        ),
        ("tools", json!([{"name": ""}]), 400, "tools[0].name"),
    ] {
        let mut body = run("r1", "hi");
        body[change] = value;
        let (got, _, blamed) = site.post("/v1/ag-ui/hello", &body).await.failure();
        assert_eq!((got, blamed.as_deref()), (status, Some(param)), "{body}");
    }
    let request = site.request(Method::POST, "/v1/ag-ui/nobody");
    assert_eq!(Answer::of(request.json(&run("r1", "hi"))).await.status, 404);
    site.check_untouched().await;
    let minor = {
        let mut body = run("r1", "hi");
        body["protocolVersion"] = "1.7".into();
        body["somethingNew"] = true.into();
        body
    };
    assert_eq!(site.post("/v1/ag-ui/hello", &minor).await.status, 200);
}
