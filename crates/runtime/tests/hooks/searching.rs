//! What `ctx.search` says of arguments that it cannot take.

use crate::support::Stage;
use serde_json::{Value, json};

#[tokio::test]
async fn wrong_arguments_throw_and_say_what_would_be_right() {
    let stage = Stage::new();
    for (call, message) in [
        ("Web()", "Web requires a query argument"),
        ("Web(undefined)", "Web requires a query argument"),
        ("KB(5)", "KB requires a query argument"),
        ("DB(' ')", "DB requires a query argument"),
        ("Web('x', 5)", "options must be an object"),
        ("Web('x', { limit: 101 })", "limit must be 1 to 100"),
        (
            "Web('x', { time_range: 'eon' })",
            "time_range must be one of hour, day, week, month, year",
        ),
        (
            "DB('x', { wheres: [{ op: '=' }] })",
            "wheres[0].column must be a string",
        ),
        ("All()", "All requires an array of requests"),
        ("Any({})", "Any requires an array of requests"),
        ("Race('x')", "Race requires an array of requests"),
        ("All([{}])", "requests[0].type must be web, kb or db"),
        (
            "All([{ type: 'web', query: 'x' }, { type: 'kb' }])",
            "requests[1].query is required",
        ),
        (
            "Any([{ type: 'kb', query: 'x', limit: 0 }])",
            "requests[0].limit must be 1 to 100",
        ),
    ] {
        let thrown = stage.attempt(&format!("ctx.search.{call}")).await;
        assert_eq!(thrown, json!(["invalid_argument", message]), "{call}");
    }
    let many = "ctx.search.All(Array(65).fill({ type: 'kb', query: 'x' }))";
    let thrown = stage.attempt(many).await;
    assert_eq!(thrown, json!(["limit_exceeded", "at most 64 requests"]));
}

#[tokio::test]
async fn options_that_do_nothing_are_named_in_the_trace() {
    let stage = Stage::new();
    let result = stage
        .value("ctx.search.KB('x', { limits: 3, graph: true })")
        .await;
    assert_eq!(result["graph_nodes"], json!([]));
    assert_ne!(result["error"], Value::Null);
    let told = serde_json::to_string(&stage.tree().logs).unwrap();
    let warning = "ctx.search.KB: unknown option \\\"limits\\\"; did you mean \\\"limit\\\"?";
    assert!(told.contains(warning), "{told}");
}
