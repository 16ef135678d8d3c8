//! Google's protocol: what a conversation becomes, and signatures that go back.

use crate::fake::FAKES;
use crate::server::{Reply, Server};
use crate::support::{answer, asking, failure, refused, typed};
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::llm::{ModelCall, ModelFailureKind};
use serde_json::{Value, json};

const FAKE: &crate::fake::Fake = &FAKES[3];

/// The body of the request that a call becomes.
async fn body(options: Value, call: &ModelCall) -> Value {
    let server = Server::start(vec![Reply::stream(FAKE.text.0)]).await;
    answer(&*FAKE.open(&server, options), call).await;
    server.only().body
}

fn with(options: Value) -> ModelCall {
    ModelCall {
        options: typed(options),
        ..asking("hi")
    }
}

fn older() -> Value {
    json!({"model": "gemini-2.5-flash"})
}

#[tokio::test]
async fn a_call_becomes_one_body() {
    let call = ModelCall {
        messages: typed(vec![
            json!({"role": "system", "content": "be brief"}),
            json!({"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
                {"type": "image_url", "image_url": "https://x.test/a.png"},
                {"type": "input_audio", "input_audio": {"data": "REVG", "format": "mp3"}}]}),
            json!({"role": "assistant", "content": "ok", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{broken"}}]}),
            json!({"role": "tool", "tool_call_id": "c1", "content": "{\"n\":1}"}),
            json!({"role": "tool", "tool_call_id": "c2", "content": "two"}),
        ].into()),
        tools: typed(vec![json!({"type": "function", "function": {"name": "f", "description": "does f", "parameters": {"type": "object"}}})].into()),
        options: typed(json!({"temperature": 0.5, "top_p": 0.9, "seed": 4, "stop": ["END"], "max_tokens": 9,
            "presence_penalty": 0.1, "frequency_penalty": 0.2, "tool_choice": "required",
            "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}})),
        ..ModelCall::default()
    };
    let expected = json!({
        "contents": [
            {"role": "user", "parts": [
                {"text": "look"},
                {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
                {"fileData": {"fileUri": "https://x.test/a.png"}},
                {"inlineData": {"mimeType": "audio/mp3", "data": "REVG"}},
            ]},
            {"role": "model", "parts": [
                {"text": "ok"},
                {"functionCall": {"name": "f", "args": {"a": 1}}},
                {"functionCall": {"name": "g", "args": {"arguments": "{broken"}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"n": 1}}},
                {"functionResponse": {"name": "g", "response": {"result": "two"}}},
            ]},
        ],
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "tools": [{"functionDeclarations": [
            {"name": "f", "description": "does f", "parametersJsonSchema": {"type": "object"}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "temperature": 0.5, "topP": 0.9, "seed": 4, "presencePenalty": 0.1, "frequencyPenalty": 0.2,
            "maxOutputTokens": 9, "stopSequences": ["END"], "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
        },
        "safetySettings": [],
    });
    let options = json!({"model": "models/gemini-2.5-flash", "extra_body": {"safetySettings": []}});
    assert_eq!(body(options, &call).await, expected);
}

#[tokio::test]
async fn thinking_is_steered_in_the_models_own_way() {
    let newer = || json!({});
    let configured = |thinking: Value| json!({"thinking": thinking});
    let cases = [
        (newer(), json!({}), json!(null)),
        (
            newer(),
            json!({"reasoning_effort": "low"}),
            json!({"includeThoughts": true, "thinkingLevel": "low"}),
        ),
        (
            older(),
            json!({"reasoning_effort": "medium"}),
            json!({"includeThoughts": true, "thinkingBudget": 8192}),
        ),
        (
            older(),
            json!({"reasoning_effort": "none"}),
            json!({"thinkingBudget": 0}),
        ),
        (
            configured(json!({"type": "disabled"})),
            json!({"reasoning_effort": "high"}),
            json!({"thinkingBudget": 0}),
        ),
        (
            configured(json!({"type": "enabled", "budget_tokens": 77})),
            json!({}),
            json!({"includeThoughts": true, "thinkingBudget": 77}),
        ),
    ];
    for (options, asked, expected) in cases {
        let body = body(options, &with(asked)).await;
        assert_eq!(body["generationConfig"]["thinkingConfig"], expected);
    }
}

#[tokio::test]
async fn signatures_and_ids_go_back_with_their_calls() {
    let server = Server::start(vec![Reply::stream(FAKE.tools.0)]).await;
    let model = FAKE.open(&server, json!({}));
    let mut call = asking("hi");
    let said = answer(&*model, &call).await;
    call.messages.push(said.message());
    for (id, content) in [
        (&said.tool_calls[0].id, "rain"),
        (&said.tool_calls[1].id, "noon"),
    ] {
        call.messages.push(ChatMessage::result(id, content));
    }
    answer(&*model, &call).await;
    let expected = json!([
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [
            {"functionCall": {"name": "weather__get", "args": {"city": "Zürich"}}, "thoughtSignature": "CiQBjz1rX0tVZ3hXQ2VkZ2UK"},
            {"functionCall": {"name": "clock__now", "args": {}, "id": "fc_2"}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "weather__get", "response": {"result": "rain"}}},
            {"functionResponse": {"name": "clock__now", "response": {"result": "noon"}, "id": "fc_2"}},
        ]},
    ]);
    assert_eq!(server.asked()[1].body["contents"], expected);
}

#[tokio::test]
async fn a_text_goes_back_with_its_signature() {
    let server = Server::start(vec![Reply::stream(FAKE.reasoning.0)]).await;
    let model = FAKE.open(&server, json!({}));
    let mut call = asking("hi");
    call.messages.push(answer(&*model, &call).await.message());
    answer(&*model, &call).await;
    let expected = json!({"role": "model", "parts": [{"text": "9.8", "thoughtSignature": "EqcDCqQDAdHtim8mkmFxcEd2Vw=="}]});
    assert_eq!(server.asked()[1].body["contents"][1], expected);
}

#[tokio::test]
async fn a_call_that_another_model_made_is_marked_where_signatures_are_wanted() {
    let made = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let user = json!({"role": "user", "content": "hi"});
    let call = ModelCall {
        messages: typed(vec![user.clone(), made.clone(), user, made].into()),
        ..ModelCall::default()
    };
    let plain = json!({"functionCall": {"name": "f", "args": {}}});
    let marked = json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"});
    for (options, last) in [
        (older(), &plain),
        (json!({"model": "gemini-3-pro"}), &marked),
    ] {
        let body = body(options, &call).await;
        let parts = [1, 3].map(|at| &body["contents"][at]["parts"][0]);
        assert_eq!(parts, [&plain, last]);
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_a_refused_content() {
    let stream = "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"},\"usageMetadata\":{\"promptTokenCount\":4}}\n\n";
    let (_server, model) = FAKE.serve(vec![Reply::stream(stream)]).await;
    let failed = failure(&*model, &asking("hi")).await;
    let message = "connector \"test.model\": the provider blocked the prompt: SAFETY";
    assert_eq!(
        (failed.kind, failed.message.as_str()),
        (ModelFailureKind::ContentFilter, message)
    );
}

#[tokio::test]
async fn reasons_to_finish_have_four_names() {
    for (reason, expected) in [
        ("STOP", "stop"),
        ("OTHER", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
    ] {
        let stream = FAKE.text.0.replace("STOP", reason);
        let (_server, model) = FAKE.serve(vec![Reply::stream(&stream)]).await;
        assert_eq!(answer(&*model, &asking("hi")).await.finish_reason, expected);
    }
    let stream = FAKE.start.replace(
        "\"content\"",
        "\"finishReason\":\"MALFORMED_FUNCTION_CALL\",\"content\"",
    );
    let (_server, model) = FAKE.serve(vec![Reply::stream(&stream)]).await;
    let failed = failure(&*model, &asking("hi")).await;
    assert_eq!(failed.kind, ModelFailureKind::Temporary);
}

#[tokio::test]
async fn a_model_without_streaming_is_asked_for_the_whole_answer() {
    let server = Server::start(vec![Reply::json(200, FAKE.whole.unwrap())]).await;
    let model = FAKE.open(&server, json!({"capabilities": {"streaming": false}}));
    assert_eq!(answer(&*model, &asking("hi")).await.text, "Hi");
    assert_eq!(server.only().path, "/v1beta/models/m:generateContent");
}

#[test]
fn a_model_must_be_named() {
    let failed = refused("gemini", json!({}));
    let message = "connector \"test.model\": option \"model\" is missing";
    assert_eq!(failed.message, message);
}
