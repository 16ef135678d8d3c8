//! OpenAI's protocol and the ways in which its followers differ.

use crate::fake::{FAKES, tool_call};
use crate::server::{Reply, Server};
use crate::support::{answer, asking, connector, failure, open, typed};
use ambit_runtime::chat::ToolCall;
use ambit_runtime::llm::{ModelCall, ModelFailureKind, ProviderCache, TokenUsage};
use serde_json::{Value, json};

/// The body of the request that a call becomes.
async fn body(options: Value, call: &ModelCall) -> Value {
    let server = Server::start(vec![Reply::stream(FAKES[0].text.0)]).await;
    let mut all = json!({"host": server.address, "model": "m"});
    let own = all.as_object_mut().unwrap();
    own.extend(options.as_object().unwrap().clone());
    answer(&*open("openai", all), call).await;
    server.only().body
}

fn with(options: Value) -> ModelCall {
    ModelCall {
        options: typed(options),
        ..asking("hi")
    }
}

/// A stream of these deltas, ended with `stop`.
fn deltas(deltas: &[Value]) -> String {
    let chunk = |delta: &Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!("data: {}\n\n", json!({"id": "x", "choices": [choice]}))
    };
    let chunks = deltas.iter().map(|delta| chunk(delta, json!(null)));
    chunks.collect::<String>() + &chunk(&json!({}), json!("stop")) + "data: [DONE]\n\n"
}

async fn calls(stream: &str) -> Vec<ToolCall> {
    let (_server, model) = FAKES[0].serve(vec![Reply::stream(stream)]).await;
    let said = answer(&*model, &asking("hi")).await;
    assert_eq!(said.finish_reason, "tool_calls");
    said.tool_calls
}

fn function(name: &str, arguments: &str) -> Value {
    json!({"name": name, "arguments": arguments})
}

#[tokio::test]
async fn a_call_becomes_one_body() {
    let messages = vec![
        json!({"role": "system", "content": "be brief"}),
        json!({"role": "user", "content": [{"type": "text", "text": "hi"}], "name": "ann", "id": "own"}),
        json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
            {"id": "c1", "type": "function", "function": function("f", "{}")}]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "1"}),
    ];
    let tool =
        json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}});
    let options = json!({"temperature": 0.2, "top_p": 0.9, "stop": ["x"], "tool_choice": "auto",
        "max_tokens": 50, "history_size": 3, "seed": null, "search": true});
    let call = ModelCall {
        messages: typed(messages.into()),
        tools: typed(vec![tool.clone()].into()),
        options: typed(options),
        ..ModelCall::default()
    };
    let options = json!({"temperature": 1, "thinking": {"type": "enabled"}, "extra_body": {"top_k": 4, "stop": "y"}});
    let expected = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}], "name": "ann"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": function("f", "{}")}]},
            {"role": "tool", "content": "1", "tool_call_id": "c1"},
        ],
        "temperature": 0.2,
        "thinking": {"type": "enabled"},
        "stop": "y",
        "tool_choice": "auto",
        "top_p": 0.9,
        "max_tokens": 50,
        "tools": [tool],
        "stream": true,
        "stream_options": {"include_usage": true},
        "top_k": 4,
    });
    assert_eq!(body(options, &call).await, expected);
}

#[tokio::test]
async fn the_length_of_the_answer_has_one_limit_under_the_name_that_was_used() {
    let cases = [
        (json!({}), json!({}), json!([null, null])),
        (json!({"max_tokens": 7}), json!({}), json!([7, null])),
        (
            json!({"max_tokens": 7}),
            json!({"max_tokens": 8}),
            json!([8, null]),
        ),
        (
            json!({}),
            json!({"max_completion_tokens": 9}),
            json!([null, 9]),
        ),
        (
            json!({"max_tokens": 7}),
            json!({"max_tokens": 8, "max_completion_tokens": 9}),
            json!([null, 9]),
        ),
    ];
    for (options, asked, expected) in cases {
        let body = body(options, &with(asked)).await;
        let sent = json!([body["max_tokens"], body["max_completion_tokens"]]);
        assert_eq!(sent, expected);
    }
}

#[tokio::test]
async fn options_about_tools_are_not_sent_without_tools() {
    let call = with(json!({"tool_choice": "auto", "parallel_tool_calls": false}));
    let body = body(json!({}), &call).await;
    assert_eq!(
        body.get("tool_choice").or(body.get("parallel_tool_calls")),
        None
    );
}

#[tokio::test]
async fn a_model_without_streaming_is_asked_for_the_whole_answer() {
    let server = Server::start(vec![Reply::json(200, FAKES[0].whole.unwrap())]).await;
    let options = json!({"host": server.address, "capabilities": {"streaming": false}});
    let said = answer(&*open("openai", options), &asking("hi")).await;
    let body = server.only().body;
    assert_eq!(
        (said.text.as_str(), said.usage),
        ("Hi", TokenUsage::of(1, 2))
    );
    assert_eq!(body.get("stream").or(body.get("stream_options")), None);
}

#[tokio::test]
async fn pictures_can_be_written_as_anthropic_does() {
    let picture = |url| json!({"type": "image_url", "image_url": {"url": url}});
    let content = json!([
        picture("data:image/png;base64,QUJD"),
        picture("https://x.test/a.png")
    ]);
    let call = ModelCall {
        messages: typed(vec![json!({"role": "user", "content": content})].into()),
        ..ModelCall::default()
    };
    let plain = body(json!({"capabilities": {"vision": true}}), &call).await;
    assert_eq!(plain["messages"][0]["content"], content);
    let claude = body(json!({"capabilities": {"vision": "claude"}}), &call).await;
    let expected = json!([
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
    ]);
    assert_eq!(claude["messages"][0]["content"], expected);
}

#[tokio::test]
async fn calls_come_in_many_forms_and_mean_the_same() {
    let call = |more: Value| json!({"tool_calls": [more]});
    let one_and_two = [
        tool_call("a", "f", "{\"x\":1}"),
        tool_call("b", "g", "{\"y\":2}"),
    ];
    let streams = [
        // Whole calls in one delta.
        vec![json!({"tool_calls": [
            {"index": 0, "id": "a", "function": function("f", "{\"x\":1}")},
            {"index": 1, "id": "b", "function": function("g", "{\"y\":2}")}]})],
        // The same number for all.
        vec![
            call(json!({"index": 0, "id": "a", "function": function("f", "{\"x\":1}")})),
            call(json!({"index": 0, "id": "b", "function": function("g", "{\"y\":2}")})),
        ],
        // No numbers.
        vec![
            call(json!({"id": "a", "function": function("f", "{\"x\"")})),
            call(json!({"function": {"arguments": ":1}"}})),
            call(json!({"id": "b", "function": function("g", "{\"y\":2}")})),
        ],
        // Numbers that start elsewhere, ids and names in every delta.
        vec![
            call(json!({"index": 3, "id": "a", "function": function("f", "{\"x\"")})),
            call(json!({"index": 3, "id": "a", "function": function("f", ":1}")})),
            call(json!({"index": 7, "id": "b", "function": function("g", "{\"y\":2}")})),
        ],
        // The name after the id, empty strings in between.
        vec![
            call(json!({"index": 0, "id": "a", "function": {"name": ""}})),
            call(json!({"index": 0, "id": "", "function": function("", "{\"x\"")})),
            call(json!({"index": 0, "function": function("f", ":1}")})),
            call(json!({"index": 1, "id": "b", "function": function("g", "{\"y\":2}")})),
        ],
        // Arguments as an object.
        vec![
            call(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}})),
            call(json!({"index": 1, "id": "b", "function": {"name": "g", "arguments": {"y": 2}}})),
        ],
        // Interleaved.
        vec![
            call(json!({"index": 0, "id": "a", "function": function("f", "{\"x\"")})),
            call(json!({"index": 1, "id": "b", "function": function("g", "{")})),
            call(json!({"index": 0, "function": {"arguments": ":1}"}})),
            call(json!({"index": 1, "function": {"arguments": "\"y\":2}"}})),
        ],
    ];
    for stream in streams {
        assert_eq!(calls(&deltas(&stream)).await, one_and_two, "{stream:?}");
    }
}

#[tokio::test]
async fn g039_calls_without_an_id_or_with_one_that_was_used_get_another() {
    let call = |index: usize, id: &str| json!({"tool_calls": [{"index": index, "id": id, "function": function("f", "{}")}]});
    let stream = deltas(&[
        call(0, ""),
        call(1, "c"),
        call(2, "c"),
        call(3, "old"),
        call(4, "new"),
    ]);
    let (_server, model) = FAKES[0].serve(vec![Reply::stream(&stream)]).await;
    let before = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "old", "type": "function", "function": function("f", "{}")}]});
    let asked = ModelCall {
        messages: typed(
            vec![
                before,
                json!({"role": "tool", "tool_call_id": "old", "content": "1"}),
            ]
            .into(),
        ),
        ..ModelCall::default()
    };
    let said = answer(&*model, &asked).await;
    let mut ids: Vec<&str> = said
        .tool_calls
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!((ids[1], ids[4], ids.len()), ("c", "new", 5));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    assert!(!ids.contains(&"old") && !ids.contains(&""));
}

#[tokio::test]
async fn a_call_without_a_name_is_told_at_the_end() {
    let stream = deltas(&[
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "{}"}}]}),
    ]);
    assert_eq!(calls(&stream).await, [tool_call("a", "", "{}")]);
}

#[tokio::test]
async fn other_choices_empty_choices_and_missing_fields_do_not_matter() {
    let stream = concat!(
        "data: {\"id\":\"\",\"choices\":[],\"prompt_filter_results\":[]}\n\n",
        "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},{\"delta\":{\"content\":\"yes\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":null}]}\n\n",
        "data: {\"choices\":null,\"usage\":{\"prompt_tokens\":null}}\n\n",
        "data: {\"choices\":[{\"index\":0,\"finish_reason\":\"\"}]}\n\n",
        "data: [DONE]\n\n",
    );
    let (_server, model) = FAKES[0].serve(vec![Reply::stream(stream)]).await;
    let said = answer(&*model, &asking("hi")).await;
    assert_eq!(
        (said.text.as_str(), said.finish_reason.as_str()),
        ("yes", "stop")
    );
    assert_eq!(said.usage, TokenUsage::default());
}

#[tokio::test]
async fn reasons_to_finish_have_four_names() {
    let cases = [
        ("stop", "stop"),
        ("eos", "stop"),
        ("function_call", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
    ];
    for (reason, expected) in cases {
        let chunk =
            json!({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": reason}]});
        // A reason is an end, even where the mark behind it is lost.
        let (_server, model) = FAKES[0]
            .serve(vec![Reply::stream(&format!("data: {chunk}\n\n"))])
            .await;
        assert_eq!(answer(&*model, &asking("hi")).await.finish_reason, expected);
    }
}

#[tokio::test]
async fn a_server_that_gives_up_has_not_answered() {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "insufficient_system_resource"}]});
    let (_server, model) = FAKES[0]
        .serve(vec![Reply::stream(&format!("data: {chunk}\n\n"))])
        .await;
    let failed = failure(&*model, &asking("hi")).await;
    assert_eq!(failed.kind, ModelFailureKind::Temporary);
}

#[tokio::test]
async fn an_error_in_mid_stream_has_many_forms() {
    let cases = [
        (
            json!({"error": "busy"}),
            ModelFailureKind::Permanent,
            "busy",
        ),
        (
            json!({"error": {"message": "busy", "code": "rate_limit_exceeded"}}),
            ModelFailureKind::RateLimited,
            "busy",
        ),
        (
            json!({"error": {"message": "busy", "code": 502}}),
            ModelFailureKind::Temporary,
            "busy",
        ),
        (
            json!({"object": "error", "message": "too long", "code": 400}),
            ModelFailureKind::Permanent,
            "too long",
        ),
        (
            json!({"error": {"message": "no", "code": "content_filter"}}),
            ModelFailureKind::ContentFilter,
            "no",
        ),
    ];
    for (error, kind, said) in cases {
        let stream = format!("data: {error}\n\n");
        let (_server, model) = FAKES[0].serve(vec![Reply::stream(&stream)]).await;
        let failed = failure(&*model, &asking("hi")).await;
        let message = format!("connector \"test.model\": the provider reported an error: {said}");
        assert_eq!((failed.kind, failed.message), (kind, message));
    }
}

#[tokio::test]
async fn thoughts_go_back_under_the_name_they_came_with() {
    let thinking = [
        (
            json!({"reasoning_content": "hm"}),
            json!({"reasoning_content": "hm"}),
        ),
        (
            json!({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "s"}]}),
            json!({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "s"}]}),
        ),
        (
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
            json!({}),
        ),
    ];
    for (delta, expected) in thinking {
        let stream = deltas(&[delta, json!({"content": "yes"})]);
        let server = Server::start(vec![Reply::stream(&stream)]).await;
        let connector = connector("openai", json!({"host": server.address, "model": "m"}));
        let model = ProviderCache::new().open(&connector).unwrap();
        let mut call = asking("hi");
        let said = answer(&*model, &call).await;
        assert_eq!((said.reasoning.as_str(), said.text.as_str()), ("hm", "yes"));
        call.messages.push(said.message());
        answer(&*model, &call).await;
        let mut message = json!({"role": "assistant", "content": "yes"});
        let own = message.as_object_mut().unwrap();
        own.extend(expected.as_object().unwrap().clone());
        assert_eq!(server.asked()[1].body["messages"][1], message);
    }
}

#[tokio::test]
async fn a_refusal_is_told_apart_from_text() {
    let stream = deltas(&[
        json!({"content": null, "refusal": "I can"}),
        json!({"refusal": "not."}),
    ]);
    let (_server, model) = FAKES[0].serve(vec![Reply::stream(&stream)]).await;
    let said = answer(&*model, &asking("hi")).await;
    assert_eq!(
        (said.text.as_str(), said.refusal.as_str()),
        ("", "I cannot.")
    );
    let message = json!({"role": "assistant", "content": null, "refusal": "I cannot."});
    assert_eq!(said.message().to_json(), message);
}
