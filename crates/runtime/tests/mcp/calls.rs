//! What a well-behaved server is asked.

use crate::bed::{Bed, Witness, caller, python, samples, stdio};
use ambit_runtime::ErrorCode;
use ambit_runtime::mcp::{ConcurrencyLimits, JoinPolicy, ServerToolCall};
use ambit_runtime::tool::{ServerSelection, Toolbox};
use serde_json::{Value, json};
use std::sync::Arc;

/// So many calls in one list, and at once.
const BOUNDS: ConcurrencyLimits = ConcurrencyLimits {
    most: 3,
    at_once: 2,
};

async fn bed(environment: &Value) -> (Bed, Witness) {
    let witness = Witness::new().await;
    let bed = Bed::with(&stdio(&witness, environment));
    (bed, witness)
}

#[tokio::test]
async fn both_versions_of_the_protocol_are_spoken() {
    for (speaks, first) in [
        ("2026-07-28", "tools/list"),
        ("2025-11-25", "initialize"),
        ("2024-11-05", "initialize"),
    ] {
        let (bed, mut witness) = bed(&json!({"SPEAKS": speaks})).await;
        assert_eq!(
            bed.text("echo", json!({"text": "hi"})).await,
            "hi",
            "{speaks}"
        );
        let told = witness.until("call echo").await;
        let asked: Vec<&String> = told
            .iter()
            .filter(|line| !line.starts_with("begins"))
            .collect();
        assert_eq!(asked[0], "server/discover");
        let began = asked.iter().any(|line| *line == first)
            && (first == "initialize") == asked.iter().any(|line| *line == "initialize");
        assert!(began, "{speaks}: {told:?}");
    }
}

#[tokio::test]
async fn an_older_server_that_ends_on_an_unknown_word_is_spoken_to_in_the_older_way() {
    let (bed, _witness) = bed(&json!({"FAULTS": "old-fashioned"})).await;
    assert_eq!(bed.text("echo", json!({"text": "hi"})).await, "hi");
}

#[tokio::test]
async fn scripts_get_lists_resources_prompts_and_results_in_their_own_words() {
    let (bed, _witness) = bed(&json!({})).await;
    let (servers, caller) = (&bed.servers, &bed.caller);
    let tools = servers.list_tools("s", None, caller).await.unwrap();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 15);
    assert_eq!(tools["nextCursor"], Value::Null);
    let number = |default: Value| match default {
        Value::Null => json!({"type": "number"}),
        default => json!({"type": "number", "default": default}),
    };
    let add = json!({"name": "add", "description": "adds",
        "inputSchema": {"type": "object", "properties": {"a": number(Value::Null), "b": number(json!(10))}, "required": ["a"]},
        "outputSchema": {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}});
    assert_eq!(tools["tools"][1], add);
    let fail = json!({"name": "fail", "description": "fails", "inputSchema": {"type": "object", "properties": {}}, "outputSchema": null});
    assert_eq!(tools["tools"][2], fail);
    let resources = servers.list_resources("s", None, caller).await.unwrap();
    let one = json!({"uri": "test://one", "name": "one", "description": "first", "mimeType": "text/plain", "meta": {"k": 1}});
    let two = json!({"uri": "test://two", "name": "two", "description": null, "mimeType": null, "meta": null});
    assert_eq!(
        resources,
        json!({"resources": [one, two], "nextCursor": null})
    );
    let read = servers
        .read_resource("s", "test://one", caller)
        .await
        .unwrap();
    assert_eq!(
        read,
        json!({"contents": [{"uri": "test://one", "mimeType": "text/plain", "text": "content of test://one"}]})
    );
    let prompts = servers.list_prompts("s", None, caller).await.unwrap();
    let greet = json!({"name": "greet", "description": "a greeting", "arguments": [{"name": "who", "description": null, "required": true}]});
    assert_eq!(prompts, json!({"prompts": [greet], "nextCursor": null}));
    let given = json!({"who": "Ann"}).as_object().unwrap().clone();
    let prompt = servers
        .get_prompt("s", "greet", given, caller)
        .await
        .unwrap();
    let message = json!({"role": "user", "content": {"type": "text", "text": "Greet Ann."}});
    assert_eq!(
        prompt,
        json!({"description": "a greeting", "messages": [message]})
    );
    let called = servers
        .call("s", "add", json!({"a": 1, "b": 2}), caller)
        .await
        .unwrap();
    let expected = json!({"content": [{"type": "text", "text": "{\"total\": 3}"}], "structuredContent": {"total": 3}, "isError": false, "data": {"total": 3}});
    assert_eq!(called.result, expected);
    assert_eq!(
        servers
            .list_samples(samples("tool", "add"), caller)
            .unwrap(),
        json!({"samples": [], "total": 0})
    );
}

#[tokio::test]
async fn a_resource_is_read_without_a_list_unless_a_filter_names_it() {
    let (mut bed, mut witness) = bed(&json!({})).await;
    for (entry, lists) in [
        (json!("s"), 0),
        (json!({"s": {"resources": ["test://*"]}}), 0),
        (json!({"s": {"resources": ["one"]}}), 1),
    ] {
        bed.caller.servers = Arc::new(vec![ServerSelection::of_entry(&entry)]);
        let read = bed.servers.read_resource("s", "test://one", &bed.caller);
        read.await.unwrap();
        let told = witness.until("resources/read").await;
        let asked = told.iter().filter(|line| *line == "resources/list");
        assert_eq!(asked.count(), lists, "{entry}");
    }
    let read = bed.servers.read_resource("s", "test://two", &bed.caller);
    let message = "unknown resource \"test://two\" on MCP server \"s\"";
    assert_eq!(read.await.unwrap_err().message, message);
}

#[tokio::test]
async fn what_is_unknown_is_named() {
    let (bed, _witness) = bed(&json!({})).await;
    let (servers, caller) = (&bed.servers, &bed.caller);
    let message = bed.failure("eco", json!({})).await.message;
    assert_eq!(
        message,
        "unknown tool \"eco\" on MCP server \"s\" (did you mean \"echo\"?)"
    );
    let unknown = servers
        .list_tools("t", None, caller)
        .await
        .unwrap_err()
        .message;
    assert!(unknown.starts_with("unknown MCP server \"t\""), "{unknown}");
    let cursor = servers
        .list_tools("s", Some("7"), caller)
        .await
        .unwrap_err()
        .message;
    assert_eq!(
        cursor,
        "unknown cursor \"7\": all tools come on the first page"
    );
    let index = servers
        .get_sample(samples("tool", "add"), 4, caller)
        .unwrap_err()
        .message;
    assert_eq!(
        index,
        "sample index 4 out of range for tool \"add\" (0 samples)"
    );
}

#[tokio::test]
async fn g128_a_result_marked_as_an_error_is_one_everywhere() {
    let (bed, _witness) = bed(&json!({})).await;
    let outcome = bed.call("fail", json!({})).await.unwrap();
    assert_eq!(
        (outcome.is_error, outcome.text.as_str()),
        (true, "it does not work")
    );
    let call = |tool: &str| ("s", tool.to_owned(), json!({}));
    let (servers, caller) = (&bed.servers, &bed.caller);
    let called = servers.call("s", "fail", json!({}), caller).await.unwrap();
    assert_eq!(called.result["isError"], true);
    let batch = [
        ("fail".to_owned(), json!({})),
        ("echo".to_owned(), json!({"text": "a"})),
    ];
    for is_parallel in [false, true] {
        let results = match is_parallel {
            true => servers.call_at_once("s", &batch, BOUNDS, caller).await,
            false => servers.call_in_order("s", &batch, caller).await,
        };
        let results = results.unwrap();
        let marks: Vec<&Value> = results.iter().map(|one| &one.result["isError"]).collect();
        assert_eq!(marks, [&json!(true), &json!(false)]);
    }
    let one = |(mcp, tool, arguments): (&str, String, Value)| ServerToolCall {
        mcp: mcp.to_owned(),
        tool,
        arguments,
    };
    let slots = servers
        .many(&[one(call("fail"))], JoinPolicy::All, BOUNDS, caller)
        .await
        .unwrap();
    let failed = json!({"mcp": "s", "tool": "fail", "result": null, "error": "it does not work"});
    assert_eq!(json!(slots), json!([failed]));
}

#[tokio::test]
async fn g129_in_a_batch_every_call_runs_once_and_a_failure_names_its_place() {
    let (bed, mut witness) = bed(&json!({})).await;
    let batch = [
        ("echo".to_owned(), json!({"text": "a"})),
        ("gone".to_owned(), json!({})),
        ("add".to_owned(), json!({"a": 1})),
    ];
    for (is_parallel, ran) in [
        (true, vec!["call add", "call echo"]),
        (false, vec!["call echo"]),
    ] {
        let (servers, caller) = (&bed.servers, &bed.caller);
        let failed = match is_parallel {
            true => servers.call_at_once("s", &batch, BOUNDS, caller).await,
            false => servers.call_in_order("s", &batch, caller).await,
        };
        let message = failed.err().unwrap().message;
        assert_eq!(
            message,
            "tools[1]: unknown tool \"gone\" on MCP server \"s\""
        );
        assert_eq!(
            bed.text("picture", json!({})).await,
            "[image, image/png, 3 bytes]"
        );
        let told = witness.until("call picture").await;
        let mut calls: Vec<&str> = told
            .iter()
            .map(String::as_str)
            .filter(|line| line.starts_with("call "))
            .collect();
        calls.pop();
        calls.sort_unstable();
        assert_eq!(calls, ran);
    }
}

#[tokio::test]
async fn g133_any_and_race_end_with_the_first_result_and_cancel_the_others() {
    let (bed, mut witness) = bed(&json!({})).await;
    let many = async |calls: &[ServerToolCall], until| {
        let servers = &bed.servers;
        servers.many(calls, until, BOUNDS, &bed.caller).await
    };
    let one = |tool: &str, arguments: Value| ServerToolCall {
        mcp: "s".to_owned(),
        tool: tool.to_owned(),
        arguments,
    };
    let good = json!({"mcp": "s", "tool": "echo", "result": "x", "error": null});
    let bad = json!({"mcp": "s", "tool": "fail", "result": null, "error": "it does not work"});
    let calls = [one("hang", json!({})), one("echo", json!({"text": "x"}))];
    let slots = many(&calls, JoinPolicy::Race).await.unwrap();
    assert_eq!(json!(slots), json!([null, good]));
    witness.hear("cancelled").await;
    // Two run at once: the good one begins when the bad one has ended.
    let calls = [
        one("hang", json!({})),
        one("fail", json!({})),
        one("echo", json!({"text": "x"})),
    ];
    let slots = many(&calls, JoinPolicy::Any).await.unwrap();
    assert_eq!(json!(slots), json!([null, bad, good]));
    witness.hear("cancelled").await;
    let calls = [one("fail", json!({})), one("hang", json!({}))];
    let slots = many(&calls, JoinPolicy::Race).await.unwrap();
    assert_eq!(json!(slots), json!([bad, null]));
    let calls = [
        one("fail", json!({})),
        one("gone", json!({})),
        one("fail", json!({})),
    ];
    let slots = many(&calls, JoinPolicy::Any).await.unwrap();
    let gone = json!({"mcp": "s", "tool": "gone", "result": null, "error": "unknown tool \"gone\" on MCP server \"s\""});
    assert_eq!(json!(slots), json!([bad, gone, bad]));
}

#[tokio::test]
async fn more_calls_at_once_than_may_be_are_refused_before_one_is_made() {
    let (bed, mut witness) = bed(&json!({})).await;
    let (servers, caller) = (&bed.servers, &bed.caller);
    let batch = vec![("add".to_owned(), json!({"a": 1})); 4];
    let refused = servers.call_at_once("s", &batch, BOUNDS, caller).await;
    let refused = refused.err().unwrap();
    let told = (refused.code, refused.message.as_str());
    assert_eq!(told, (ErrorCode::LimitExceeded, "at most 3 requests"));
    let one = ServerToolCall {
        mcp: "s".to_owned(),
        tool: "add".to_owned(),
        arguments: json!({"a": 1}),
    };
    let calls = vec![one; 4];
    let refused = servers.many(&calls, JoinPolicy::All, BOUNDS, caller);
    assert_eq!(refused.await.unwrap_err().code, ErrorCode::LimitExceeded);
    let called = servers.call_in_order("s", &batch, caller).await.unwrap();
    assert_eq!(called.len(), 4);
    bed.text("picture", json!({})).await;
    let told = witness.until("call picture").await;
    assert_eq!(told.iter().filter(|line| *line == "call add").count(), 4);
}

#[tokio::test]
async fn a_list_is_asked_for_again_when_the_server_says_that_it_has_changed() {
    for speaks in ["2026-07-28", "2025-11-25"] {
        let (bed, mut witness) = bed(&json!({"SPEAKS": speaks})).await;
        assert_eq!(bed.tools().await.unwrap().len(), 15);
        assert_eq!(bed.tools().await.unwrap().len(), 15);
        assert_eq!(bed.text("change", json!({})).await, "changed");
        let changed = async {
            while !bed.tools().await.unwrap().contains(&"new".to_owned()) {
                tokio::task::yield_now().await;
            }
        };
        let changed = tokio::time::timeout(std::time::Duration::from_secs(60), changed).await;
        assert!(changed.is_ok(), "{speaks}: the change was not heard");
        assert_eq!(bed.text("new", json!({})).await, "it is new");
        let told = witness.until("call new").await;
        let lists = told.iter().filter(|line| *line == "tools/list").count();
        // Fifteen tools are three pages, sixteen are four.
        assert_eq!(lists, 7, "{speaks}: {told:?}");
    }
}

#[tokio::test]
async fn a_process_gets_only_the_given_environment_and_path() {
    let (bed, witness) = bed(&json!({"MINE": "yes"})).await;
    let text = bed.text("environment", json!({})).await;
    let seen: Value = serde_json::from_str(&text).unwrap();
    let mut names: Vec<&str> = seen
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    // Python sets this itself where no language is set.
    names.retain(|name| *name != "LC_CTYPE");
    names.sort_unstable();
    assert_eq!(names, ["MINE", "PATH", "WITNESS"]);
    assert_eq!(seen["WITNESS"], witness.port.to_string());
    assert_eq!(seen["PATH"], python().1);
}

#[tokio::test]
async fn g074_connections_and_lists_are_never_shared_between_credentials() {
    let (bed, mut witness) = bed(&json!({"WHO": "u-$CTX.USER_ID"})).await;
    let (ann, bob) = (caller("ann"), caller("bob"));
    for (who, name) in [(&ann, "u-ann"), (&bob, "u-bob"), (&ann, "u-ann")] {
        let outcome = bed.call_as(who, "environment", json!({})).await.unwrap();
        assert_eq!(outcome.data["WHO"], name);
    }
    bed.call_as(&ann, "change", json!({})).await.unwrap();
    let tools = bed
        .servers
        .list(&[ServerSelection::of_entry(&json!("s"))], &bob)
        .await
        .unwrap();
    assert!(tools.iter().all(|tool| tool.tool != "new"));
    let told = witness.until("call change").await;
    assert_eq!(told.iter().filter(|line| *line == "initialize").count(), 2);
}

#[tokio::test]
async fn names_for_the_model_are_unique_and_lead_back() {
    let witness = Witness::new().await;
    let server = stdio(&witness, &json!({})).to_string();
    let bed = Bed::of(&[
        ("mcps/a/b.mcp.yao", server.clone()),
        ("mcps/a_b.mcp.yao", server),
    ]);
    let entries = [
        json!({"a.b": ["echo"]}),
        json!({"server_id": "a_b", "tools": ["ec*"]}),
    ]
    .map(|entry| ServerSelection::of_entry(&entry));
    let tools = bed.servers.list(&entries, &bed.caller).await.unwrap();
    let named: Vec<(&str, &str, &str)> = tools
        .iter()
        .map(|tool| (tool.name.as_str(), tool.server.as_str(), tool.tool.as_str()))
        .collect();
    assert_eq!(
        named,
        [
            ("a_b__echo", "a.b", "echo"),
            ("a_b__echo_8054cc23", "a_b", "echo")
        ]
    );
}
