//! The scripted model: rules in, the same answer every time.

use crate::support::{answer, asking, connector, failure, fold, open, pieces, refused, typed};
use ambit_runtime::chat::ToolCall;
use ambit_runtime::llm::{
    AnswerPiece, ModelAnswer, ModelCall, ModelFailureKind, ProviderCache, TokenUsage,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

fn text(answer: &ModelAnswer) -> (&str, &str) {
    (&answer.text, &answer.finish_reason)
}

#[tokio::test]
async fn without_a_rule_it_echoes_in_words() {
    let model = open("scripted", json!({"model": "demo"}));
    let (said, failed) = pieces(&*model, &asking("hello  big\nworld")).await;
    let texts = ["echo: ", "hello  ", "big\n", "world"];
    let mut expected = vec![AnswerPiece::Start {
        id: Some("scripted-1".to_owned()),
        model: Some("demo".to_owned()),
    }];
    expected.extend(texts.map(|text| AnswerPiece::Text(text.to_owned())));
    expected.push(AnswerPiece::Usage(TokenUsage::of(3, 4)));
    expected.push(AnswerPiece::End {
        finish_reason: "stop".to_owned(),
    });
    assert_eq!((said, failed), (expected, None));
}

#[tokio::test]
async fn the_first_rule_that_holds_answers() {
    let model = open(
        "scripted",
        json!({"rules": [
            {"match": {"last_user": "^a", "system": "formal"}, "reply": "one"},
            {"match": {"last_user": "^a", "tools": ["x__get"]}, "reply": "two"},
            {"match": {"last_user": "^a", "round": 1}, "reply": "three"},
            {"match": {"last_user": "^a", "has_tool_result": false}, "reply": "four"},
            {"match": {"last_user": "^a"}, "reply": "five"},
            {"match": {"last_user": "^b"}, "reply": "six"},
        ]}),
    );
    let user = json!({"role": "user", "content": [{"type": "text", "text": "abc"}]});
    let system = json!({"role": "developer", "content": "be formal"});
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "x__get", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "1", "content": "9"});
    let tool = json!({"type": "function", "function": {"name": "x__get"}});
    let cases: [(Vec<&Value>, bool, &str); 6] = [
        (vec![&system, &user], false, "one"),
        (vec![&user], true, "two"),
        (vec![&user, &calls], false, "three"),
        (vec![&user, &calls, &result, &user], false, "four"),
        (vec![&user, &calls, &result, &calls, &result], false, "five"),
        (vec![&user, &calls, &result, &calls], true, "two"),
    ];
    for (messages, has_tool, expected) in cases {
        let call = ModelCall {
            messages: typed(messages.into_iter().cloned().collect()),
            tools: has_tool.then(|| typed(tool.clone())).into_iter().collect(),
            ..ModelCall::default()
        };
        assert_eq!(text(&answer(&*model, &call).await), (expected, "stop"));
    }
    let last = answer(&*model, &asking("b")).await;
    assert_eq!(text(&last), ("six", "stop"));
    let echo = answer(&*model, &asking("c")).await;
    assert_eq!(text(&echo), ("echo: c", "stop"));
}

#[tokio::test]
async fn a_rule_is_used_at_most_so_many_times_as_long_as_the_model_is_open() {
    let rules = json!({"rules": [{"match": {"times": 2}, "reply": "once"}]});
    let connector = connector("scripted", rules);
    let models = ProviderCache::new();
    let mut said = Vec::new();
    for _ in 0..3 {
        let model = models.open(&connector).unwrap();
        said.push(answer(&*model, &asking("x")).await.text);
    }
    assert_eq!(said, ["once", "once", "echo: x"]);
}

#[tokio::test]
async fn variables_of_a_reply_are_put_in_once() {
    let reply =
        "{{last_user}}|{{ last_tool_result }}|{{tool_names}}|{{message_count}}|{{other}}|{{";
    let model = open("scripted", json!({"rules": [{"reply": reply}]}));
    let call = ModelCall {
        messages: typed(
            vec![
                json!({"role": "user", "content": "{{message_count}}"}),
                json!({"role": "tool", "tool_call_id": "1", "content": "42"}),
            ]
            .into(),
        ),
        tools: typed(
            vec![
                json!({"type": "function", "function": {"name": "a"}}),
                json!({"type": "function", "function": {"name": "b"}}),
            ]
            .into(),
        ),
        ..ModelCall::default()
    };
    let said = answer(&*model, &call).await.text;
    assert_eq!(said, "{{message_count}}|42|a, b|2|{{other}}|{{");
}

#[tokio::test]
async fn a_reply_can_show_what_its_pattern_found_in_the_instructions() {
    let rules = json!([
        {"match": {"system": "tea: (\\w+)"}, "reply": "{{system_match}}!"},
        {"match": {"system": "cof+ee"}, "reply": "{{system_match}}?"},
    ]);
    let model = open("scripted", json!({"rules": rules}));
    for (system, said) in [("the tea: green", "green!"), ("cofffee", "cofffee?")] {
        let messages = vec![
            json!({"role": "system", "content": system}),
            json!({"role": "user", "content": "{{system_match}}"}),
        ];
        let call = ModelCall {
            messages: typed(messages.into()),
            ..ModelCall::default()
        };
        assert_eq!(answer(&*model, &call).await.text, said);
    }
}

#[tokio::test]
async fn a_reply_can_show_the_request() {
    let model = open("scripted", json!({"rules": [{"reply": "{{request}}"}]}));
    let mut call = asking("hi");
    call.options.set("temperature", json!(0.5));
    let said: Value = serde_json::from_str(&answer(&*model, &call).await.text).unwrap();
    assert_eq!(
        said,
        json!({"messages": [{"role": "user", "content": "hi"}], "tools": [], "options": {"temperature": 0.5}})
    );
}

#[tokio::test]
async fn it_thinks_speaks_and_calls_tools() {
    let model = open(
        "scripted",
        json!({"usage": {"prompt_tokens": 7, "completion_tokens": 3}, "rules": [{
            "reasoning": "let me see", "reply": "calling",
            "tool_calls": [{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": "{broken"}, {"name": "c"}],
        }]}),
    );
    let said = answer(&*model, &asking("go")).await;
    let call = |id: &str, name: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        ..ToolCall::default()
    };
    let expected = ModelAnswer {
        id: "scripted-1".to_owned(),
        model: "scripted".to_owned(),
        text: "calling".to_owned(),
        reasoning: "let me see".to_owned(),
        tool_calls: vec![
            call("call_1", "a", "{\"x\":1}"),
            call("call_2", "b", "{broken"),
            call("call_3", "c", "{}"),
        ],
        usage: TokenUsage::of(7, 3),
        finish_reason: "tool_calls".to_owned(),
        ..ModelAnswer::default()
    };
    assert_eq!(said, expected);
}

#[tokio::test]
async fn json_and_the_reason_to_finish_are_as_written() {
    let rules = json!({"rules": [{"json": {"a": [1]}, "finish_reason": "length"}]});
    let said = answer(&*open("scripted", rules), &asking("x")).await;
    assert_eq!(text(&said), ("{\"a\":[1]}", "length"));
}

#[tokio::test]
async fn it_fails_as_a_server_would() {
    let cases = [
        (429, ModelFailureKind::RateLimited),
        (503, ModelFailureKind::Temporary),
        (408, ModelFailureKind::Temporary),
        (401, ModelFailureKind::Unusable),
    ];
    for (status, kind) in cases {
        let rules = json!({"rules": [{"error": {"status": status, "message": "no luck"}}]});
        let failed = failure(&*open("scripted", rules), &asking("x")).await;
        let message = format!("connector \"test.model\": the provider answered {status}: no luck");
        assert_eq!((failed.kind, failed.message), (kind, message));
    }
}

#[tokio::test]
async fn its_stream_can_break_off() {
    for (most, expected, kind) in [
        (0, "", ModelFailureKind::Temporary),
        (2, "one two ", ModelFailureKind::Broken),
        (9, "one two three", ModelFailureKind::Broken),
    ] {
        let rules = json!({"rules": [{"reply": "one two three", "cut_after": most}]});
        let (said, failed) = pieces(&*open("scripted", rules), &asking("x")).await;
        let failed = failed.unwrap();
        assert_eq!((fold(&said).text.as_str(), failed.kind), (expected, kind));
        assert_eq!(
            failed.message,
            "connector \"test.model\": the answer broke off before its end"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn each_chunk_takes_its_delay() {
    let rules = json!({"delay": "20ms", "rules": [
        {"match": {"last_user": "slow"}, "reply": "a b c", "delay": "1s"},
        {"reply": "a b c"},
    ]});
    let model = open("scripted", rules);
    for (text, expected) in [("slow", 3_000), ("fast", 60)] {
        let start = Instant::now();
        answer(&*model, &asking(text)).await;
        assert_eq!(start.elapsed(), Duration::from_millis(expected));
    }
}

#[test]
fn a_wrong_rule_is_named() {
    let rule = json!({"match": {"last_user": "("}});
    let failed = refused("scripted", json!({"rules": [{"reply": "ok"}, rule]}));
    let start = "connector \"test.model\": option \"rules[1]\" has a wrong pattern";
    assert!(failed.message.starts_with(start), "{failed}");
    assert_eq!(failed.kind, ModelFailureKind::Permanent);
}
