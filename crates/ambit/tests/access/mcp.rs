//! Tools of the tool server: everybody lists and calls what they may do over the other routes, and nothing else is there.

use crate::bed::Person;
use crate::mcp_requests::{reply, stateless};
use crate::routes::{ANN, Words, people};
use crate::site::Answer;
use reqwest::Method;
use serde_json::{Value, json};

/// A tool with arguments, and the route that does the same.
struct ToolCase {
    tool: &'static str,
    arguments: Value,
    method: Method,
    path: &'static str,
    body: Option<Value>,
}

fn case(tool: &'static str, arguments: Value, method: Method, path: &'static str) -> ToolCase {
    ToolCase {
        tool,
        arguments,
        method,
        path,
        body: None,
    }
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn cases() -> Vec<ToolCase> {
    let (get, put, delete) = (Method::GET, Method::PUT, Method::DELETE);
    let said = json!({"messages": [{"role": "user", "content": "what did I say?"}]});
    let in_chat = |more: Value| {
        let mut arguments = json!({"space": "chat", "chat_id": "{chat}"});
        let fields = arguments.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        arguments
    };
    let value = Some(json!({"value": 1}));
    vec![
        ToolCase {
            body: Some(said),
            ..case(
                "agent_anns",
                json!({"message": "what did I say?"}),
                Method::POST,
                "/agents/anns/chat/completions",
            )
        },
        case(
            "chat_messages",
            json!({"chat_id": "{chat}"}),
            get.clone(),
            "/chat/sessions/{chat}/messages",
        ),
        case("chat_list", json!({}), get.clone(), "/chat/sessions"),
        case(
            "memory_get",
            in_chat(json!({"key": "{key}"})),
            get.clone(),
            "/memory/chat/{chat}/keys/{key}",
        ),
        case(
            "memory_get",
            json!({"space": "user", "key": "{key}"}),
            get.clone(),
            "/memory/user/keys/{key}",
        ),
        case(
            "memory_get",
            json!({"space": "team", "key": "{key}"}),
            get.clone(),
            "/memory/team/keys/{key}",
        ),
        case(
            "memory_keys",
            in_chat(json!({})),
            get,
            "/memory/chat/{chat}",
        ),
        ToolCase {
            body: value,
            ..case(
                "memory_set",
                in_chat(json!({"key": "mine", "value": 1})),
                put,
                "/memory/chat/{chat}/keys/mine",
            )
        },
        case(
            "memory_delete",
            in_chat(json!({"key": "mine"})),
            delete,
            "/memory/chat/{chat}/keys/mine",
        ),
        ToolCase {
            body: Some(json!({"query": "canar*"})),
            ..case(
                "kb_search",
                json!({"query": "canar*"}),
                Method::POST,
                "/kb/search",
            )
        },
    ]
}

async fn ask(words: &Words, who: Person, method: &str, params: Value) -> Value {
    let request = words.bed.site.request(Method::POST, "/v1/mcp");
    let params = serde_json::from_str(&words.filled(&params.to_string())).unwrap();
    let request = stateless(request.bearer_auth(who.token()), method, params);
    reply(&Answer::of(request).await)
}

async fn over_the_route(words: &Words, who: Person, case: &ToolCase) -> Answer {
    let path = format!("/v1{}", words.filled(case.path));
    let mut request = words.bed.site.request(case.method.clone(), &path);
    request = request.bearer_auth(who.token());
    if let Some(body) = &case.body {
        request = request.json(body);
    }
    Answer::of(request).await
}

/// Whether a tool has done what was asked; if not, that it was not there.
fn is_done(reply: &Value) -> bool {
    let result = &reply["result"];
    if result["isError"] == false {
        return true;
    }
    let code = &result["structuredContent"]["error"]["code"];
    assert!(
        *code == "not_found" || reply["error"]["code"] == -32602,
        "{reply}"
    );
    false
}

async fn compare(is_shared: bool) {
    let words = Words::new(is_shared).await;
    for who in people() {
        for case in cases() {
            let route = over_the_route(&words, who, &case).await;
            let params = json!({"name": case.tool, "arguments": case.arguments});
            let reply = ask(&words, who, "tools/call", params).await;
            let what = format!("{} by {who:?}, shared: {is_shared}: {reply}", case.tool);
            assert_eq!(is_done(&reply), route.status < 300, "{what} {}", route.text);
            let shows = |text: &str| text.replace("key-canary", "").contains("canary");
            let is_told = shows(&route.text);
            assert!(is_told || !shows(&reply.to_string()), "{what}");
        }
        let listed = ask(&words, who, "tools/list", json!({})).await;
        let anns = listed["result"]["tools"].to_string().contains("agent_anns");
        let Person(tenant, user, _, limits) = who;
        assert_eq!(anns, tenant == "t1" && (user == "ann" || limits == "whole"));
        let uri = json!({"uri": "ambit://chats/{chat}"});
        let read = ask(&words, who, "resources/read", uri).await;
        let path = words.filled("/chat/sessions/{chat}/messages");
        let route = words.bed.get(who, &path).await;
        assert_eq!(
            read["result"].is_object(),
            route.status == 200,
            "{who:?} {read}"
        );
        let listed = ask(&words, who, "resources/list", json!({})).await;
        let chats = words.bed.get(who, "/chat/sessions?pagesize=100").await;
        let named = |text: String| text.contains("anns-chat");
        assert_eq!(named(listed.to_string()), named(chats.text), "{who:?}");
    }
}

#[tokio::test]
async fn g171_tools_do_for_everybody_what_the_routes_do() {
    compare(false).await;
}

#[tokio::test]
async fn g171_tools_do_for_a_team_what_the_routes_do() {
    compare(true).await;
}

#[tokio::test]
async fn g171_a_task_is_nobody_s_who_may_not_see_its_turn() {
    let words = Words::new(false).await;
    for who in people() {
        let request = words.bed.site.request(Method::POST, "/v1/mcp");
        let params = json!({"taskId": words.filled("{request}")});
        let capabilities = crate::mcp_requests::knows_tasks();
        let request = request.bearer_auth(who.token());
        let request =
            crate::mcp_requests::with_capabilities(request, "tasks/get", params, capabilities);
        let reply = reply(&Answer::of(request).await);
        let path = words.filled("/chat/requests/{request}");
        let route = words.bed.get(who, &path).await;
        assert_eq!(reply["result"].is_object(), route.status == 200, "{who:?}");
        let is_hers = who.0 == ANN.0 && (who.1 == ANN.1 || who.3 == "whole");
        assert_eq!(reply.to_string().contains("canary"), is_hers, "{reply}");
    }
}
