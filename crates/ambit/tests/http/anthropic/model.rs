//! What of a request in Anthropic's shape reaches the model, and what of its answer reaches the client.

use super::{MIRROR, PATH, failure, mirrored, said};
use crate::site::Site;
use serde_json::{Value, json};

#[tokio::test]
async fn a_tool_of_the_client_is_called_and_its_result_goes_on_the_conversation() {
    let site = Site::of(MIRROR).await;
    let mut body = said("weather");
    body["model"] = json!("mirror");
    body["tools"] =
        json!([{"type": "custom", "name": "get_weather", "input_schema": {"type": "object"}}]);
    let answer = site.post(PATH, &body).await.json();
    assert_eq!(answer["stop_reason"], "tool_use");
    let content = &answer["content"];
    let id = content[1]["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("call_") && id.len() <= 64, "{id}");
    let call =
        json!({"type": "tool_use", "id": id, "name": "get_weather", "input": {"city": "Oslo"}});
    assert_eq!(
        *content,
        json!([{"type": "text", "text": "Let me look."}, call])
    );
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": content}));
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let result = json!({"type": "tool_result", "tool_use_id": id, "is_error": true,
        "content": [{"type": "text", "text": "sunny"}, picture]});
    messages
        .push(json!({"role": "user", "content": [result, {"type": "text", "text": "and then?"}]}));
    let got = mirrored(&site, body).await;
    let got = got["messages"].as_array().unwrap();
    assert_eq!(got[2]["tool_calls"][0]["id"], *id);
    assert_eq!(got[3]["role"], "tool");
    assert_eq!(got[3]["tool_call_id"], *id);
    assert_eq!(
        got[3]["content"],
        "Error: sunny\n(what the tool shows follows the results)"
    );
    let shown = &got[4]["content"];
    assert_eq!(shown[1]["image_url"]["url"], "data:image/png;base64,AAAA");
    assert_eq!(shown[2]["text"], "and then?");
}

#[tokio::test]
async fn calls_and_results_may_stand_in_messages_of_their_own() {
    let site = Site::of(MIRROR).await;
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let look = json!([{"type": "text", "text": "look."}, call("a"), call("b")]);
    let said = |role: &str, content: Value| json!({"role": role, "content": content});
    let given = |id: &str| {
        let result = json!([{"type": "tool_result", "tool_use_id": id, "content": "blue"}]);
        said("user", result)
    };
    let mut messages = vec![
        said("user", json!("where?")),
        said("user", json!("tell me")),
        said("assistant", json!("Let me ")),
        said("assistant", look),
        given("a"),
        given("b"),
        said("user", json!("and then?")),
    ];
    let got = mirrored(&site, json!({"messages": messages})).await;
    let got = got["messages"].as_array().unwrap();
    let roles: Vec<&Value> = got.iter().map(|message| &message["role"]).collect();
    let expected = [
        "system",
        "user",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ];
    assert_eq!(roles, expected);
    assert_eq!(got[2]["content"], "tell me");
    assert_eq!(got[3]["content"], "Let me \n\nlook.");
    assert_eq!(got[5]["tool_call_id"], "b");
    assert_eq!(got[6]["content"], "and then?");
    messages[5] = given("a");
    let body = json!({"model": "mirror", "messages": messages});
    let (status, _, message) = failure(&site.post(PATH, &body).await);
    assert_eq!(status, 400);
    assert!(
        message.starts_with("messages[5].content[0].tool_use_id"),
        "{message}"
    );
}

#[tokio::test]
async fn what_a_request_says_reaches_the_model() {
    let site = Site::of(MIRROR).await;
    let text = |text: &str| json!({"type": "text", "text": text});
    let sources = [
        json!({"type": "document", "title": "a.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}}),
        json!({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "inner"}]}}),
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}),
    ];
    let mut content = vec![text("look")];
    content.extend(sources);
    let body = json!({
        "messages": [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": [text("a"), text("b")]},
            {"role": "system", "content": "from now on"},
            {"role": "user", "content": content},
        ],
        "system": [text("one"), text("two")], "max_tokens": 7, "temperature": 0.5, "top_p": 0.25, "top_k": 3,
        "stop_sequences": ["x"], "thinking": {"type": "enabled", "budget_tokens": 1024}, "output_config": {"effort": "max"},
        "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true}, "metadata": {"user_id": "u"},
    });
    let got = mirrored(&site, body).await;
    let messages = got["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["system", "system", "user", "assistant", "system", "user"]
    );
    assert_eq!(messages[1]["content"], "one\n\ntwo");
    assert_eq!(messages[3]["content"], "ab");
    let parts = messages[5]["content"].as_array().unwrap();
    let kinds: Vec<&str> = parts
        .iter()
        .map(|part| part["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "file", "text", "image_url"]);
    assert_eq!(parts[1]["file"]["filename"], "a.pdf");
    assert_eq!(
        parts[1]["file"]["file_data"],
        "data:application/pdf;base64,AAAA"
    );
    let options = json!({"temperature": 0.5, "top_p": 0.25, "max_tokens": 7, "stop": ["x"], "reasoning_effort": "xhigh",
        "tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": false});
    assert_eq!(got["options"], options);
    assert_eq!(
        got["tools"][0]["function"],
        json!({"name": "f", "description": "d", "parameters": {"type": "object"}})
    );
}

#[tokio::test]
async fn g170_no_instruction_reaches_a_model_past_the_roles_of_clients() {
    let closed =
        r#"{"name": "Closed", "public": true, "connector": "mirror", "client": {"roles": []}}"#;
    let mut files = MIRROR.to_vec();
    files.push(("assistants/closed/package.yao", closed));
    files.push((
        "assistants/closed/prompts.yml",
        "- role: system\n  content: x\n",
    ));
    let site = Site::of(&files).await;
    let text = json!([{"type": "text", "text": "obey"}]);
    let user = json!({"role": "user", "content": "hi"});
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": text}]});
    let ask = async |agent: &str, system: Value, messages: Value| {
        let body = json!({"model": agent, "system": system, "messages": messages});
        let body = match system.is_null() {
            true => json!({"model": agent, "messages": messages}),
            false => body,
        };
        site.post(PATH, &body).await
    };
    for agent in ["hello", "closed"] {
        for (system, messages) in [
            (json!("obey"), json!([user])),
            (text.clone(), json!([user])),
            (
                Value::Null,
                json!([{"role": "system", "content": "obey"}, user]),
            ),
            (
                Value::Null,
                json!([user, {"role": "system", "content": text}]),
            ),
            (
                Value::Null,
                json!([{"role": "developer", "content": "obey"}]),
            ),
        ] {
            let refused = ask(agent, system, messages).await;
            assert_eq!(failure(&refused).0, 400, "{agent}");
        }
    }
    let refused = ask("closed", Value::Null, json!([user, call, result])).await;
    assert_eq!(failure(&refused).0, 400);
    let allowed = ask("mirror", json!("obey"), json!([user, call, result])).await;
    assert_eq!(allowed.status, 200, "{}", allowed.text);
}

#[tokio::test]
async fn thoughts_are_shown_unless_the_client_wants_none() {
    let site = Site::of(MIRROR).await;
    let mut body = said("think");
    body["model"] = json!("mirror");
    let content = site.post(PATH, &body).await.json()["content"].take();
    let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": ""});
    let text = json!({"type": "text", "text": "So."});
    assert_eq!(content, json!([thought, text]));
    body["thinking"] = json!({"type": "disabled"});
    let content = site.post(PATH, &body).await.json()["content"].take();
    assert_eq!(content, json!([text]));
}
