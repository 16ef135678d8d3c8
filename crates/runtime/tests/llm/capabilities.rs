//! What models can do, and what becomes of calls that ask for more; and the shapes of an answer.

use crate::fake::tool_call;
use crate::support::{asking, connector, typed};
use ambit_runtime::ErrorCode;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::llm::capabilities::{
    ModelCapabilities, NAMES, VisionFormat, lacking, leave_out, refuse,
};
use ambit_runtime::llm::{ModelAnswer, ModelCall, TokenUsage};
use serde_json::{Value, json};

fn of(capabilities: Value) -> ModelCapabilities {
    ModelCapabilities::of(&connector("openai", json!({"capabilities": capabilities})))
}

#[test]
fn a_connector_that_names_no_ability_has_all_and_one_that_names_some_has_those() {
    let names = |can: ModelCapabilities| -> Vec<&str> {
        let has = NAMES.iter().filter(|name| can.has(name).unwrap());
        has.copied().collect()
    };
    for silent in [json!(null), json!({}), json!({"max_input_tokens": 9})] {
        assert_eq!(names(of(silent)), NAMES);
    }
    let cases = [
        (
            json!({"tool_calls": true}),
            vec!["tool_calls", "json", "streaming"],
        ),
        (
            json!({"vision": "openai", "streaming": false}),
            vec!["vision", "json"],
        ),
        (
            json!({"multimodal": true, "audio": false}),
            vec!["vision", "json", "streaming"],
        ),
        (
            json!({"reasoning": true, "json": false}),
            vec!["reasoning", "streaming"],
        ),
        (json!({"vision": false}), vec!["json", "streaming"]),
    ];
    for (capabilities, expected) in cases {
        assert_eq!(names(of(capabilities)), expected);
    }
}

#[test]
fn windows_and_the_form_of_pictures_are_read() {
    let can =
        of(json!({"vision": "claude", "max_input_tokens": 128_000, "max_output_tokens": 4096}));
    let read = (can.vision, can.max_input_tokens, can.max_output_tokens);
    assert_eq!(read, (VisionFormat::Claude, Some(128_000), Some(4096)));
    let can = of(json!({"vision": true, "max_input_tokens": "many"}));
    assert_eq!(
        (can.vision, can.max_input_tokens),
        (VisionFormat::OpenAi, None)
    );
}

#[test]
fn an_unknown_ability_is_refused_with_the_nearest_one() {
    let error = of(json!(null)).has("vison").unwrap_err();
    assert_eq!(
        error.message,
        "unknown capability \"vison\"; did you mean \"vision\"?; there are vision, audio, tool_calls, reasoning, json, streaming"
    );
}

#[test]
fn what_a_model_cannot_do_is_left_out_and_noted() {
    let call = ModelCall {
        tools: typed(vec![json!({"type": "function"}), json!({"type": "function"})].into()),
        options: typed(
            json!({"tool_choice": "auto", "reasoning_effort": "low", "response_format": {}, "temperature": 1}),
        ),
        ..asking("hi")
    };
    let mut whole = call.clone();
    assert_eq!(
        leave_out(&connector("openai", json!({})), &mut whole),
        Vec::new()
    );
    assert_eq!(whole, call);

    let mut less = call;
    let bare = connector(
        "openai",
        json!({"capabilities": {"vision": true, "json": false}}),
    );
    let notes = [
        "connector \"test.model\" has no capability tool_calls: 2 tools are not offered",
        "connector \"test.model\" has no capability tool_calls: tool_choice is not sent",
        "connector \"test.model\" has no capability reasoning: reasoning_effort is not sent",
        "connector \"test.model\" has no capability json: response_format is not sent",
    ];
    let missing = leave_out(&bare, &mut less);
    let found: Vec<&str> = missing.iter().map(|it| it.note.as_str()).collect();
    assert_eq!(found, notes);
    let reasons = missing.iter().map(|it| it.dropped.reason.as_str());
    let expected = ["tool_calls", "tool_calls", "reasoning", "json"];
    let expected = expected.map(|name| format!("no_capability:{name}"));
    assert_eq!(reasons.collect::<Vec<_>>(), expected);
    let mut expected = asking("hi");
    expected.options.set("temperature", json!(1));
    assert_eq!(less, expected);
}

#[test]
fn media_that_a_model_cannot_take_are_refused_by_name() {
    let picture = json!({"type": "image_url", "image_url": {"url": "https://x.test"}});
    let sound = json!({"type": "input_audio", "input_audio": {}});
    let text = json!({"type": "text", "text": "a"});
    let messages: Vec<ChatMessage> = typed(json!([
        {"role": "user", "content": "a"},
        {"role": "user", "content": [text, picture, sound]},
    ]));
    let bare = connector("openai", json!({"capabilities": {"tool_calls": true}}));
    let error = refuse(&bare, &messages).unwrap_err();
    let message = "connector \"test.model\" has no capability vision, and messages[1].content[1] is an image; \
        set uses.vision, or choose a connector that has it";
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::InvalidArgument, message)
    );
    assert_eq!(error.param.as_deref(), Some("messages[1].content[1]"));
    let places = lacking(ModelCapabilities::of(&bare), &messages);
    assert_eq!(places, [(1, 1, "vision"), (1, 2, "audio")]);
    let seeing = connector("openai", json!({"capabilities": {"multimodal": true}}));
    refuse(&seeing, &messages).unwrap();
}

#[test]
fn an_answer_goes_on_as_a_message_and_as_a_completion() {
    let answer = ModelAnswer {
        id: "x".to_owned(),
        model: "m".to_owned(),
        reasoning: "hm".to_owned(),
        reasoning_parts: typed(vec![json!({"type": "thinking", "signature": "s"})].into()),
        tool_calls: vec![tool_call("c1", "f", "{\"a\": 1}")],
        usage: TokenUsage::of(1, 2),
        finish_reason: "tool_calls".to_owned(),
        ..ModelAnswer::default()
    };
    let calls = json!([{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]);
    assert_eq!(
        answer.message().to_json(),
        json!({"role": "assistant", "content": null, "tool_calls": calls, "reasoning_content": "hm",
            "reasoning_parts": [{"type": "thinking", "signature": "s"}]})
    );
    let mut usage = TokenUsage::of(10, 20);
    usage.add(&answer.usage);
    assert_eq!(
        answer.completion(&usage, Some("M3")).to_json(),
        json!({"id": "x", "model": "m", "role": "assistant", "content": null, "tool_calls": calls,
            "refusal": null, "reasoning_content": "hm", "finish_reason": "tool_calls",
            "usage": {"prompt_tokens": 11, "completion_tokens": 22, "total_tokens": 33}, "message_id": "M3"})
    );
    assert_eq!(
        ModelAnswer::default().message().to_json(),
        json!({"role": "assistant", "content": ""})
    );
}

#[test]
fn usage_adds_up_with_its_details() {
    let usage = |cached: i64| TokenUsage {
        prompt_tokens_details: json!({"cached_tokens": cached, "note": "x"})
            .as_object()
            .unwrap()
            .clone(),
        ..TokenUsage::of(1, i64::MAX)
    };
    let mut sum = usage(2);
    sum.add(&usage(3));
    assert_eq!(sum.prompt_tokens_details["cached_tokens"], 5);
    assert_eq!(
        (sum.prompt_tokens, sum.completion_tokens, sum.total_tokens),
        (2, i64::MAX, i64::MAX)
    );
}
