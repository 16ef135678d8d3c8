//! The values of a request: where each may stand, and which place counts before which.

use crate::site::{Answer, Site};
use crate::turns::status;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Map, Value, json};

const MIRROR: &str = r#"
    export function Next(ctx) {
        const { assistant_id, chat_id, locale, theme, route, accept, referer, metadata } = ctx;
        return { data: { assistant_id, chat_id, locale, theme, route, accept, referer, metadata } };
    }
"#;

const PROMPTS: &str = "- role: system\n  content: Be kind.\n";

async fn site() -> Site {
    let package = |name: &str| json!({"name": name, "public": true, "connector": "script", "modes": ["fast", "deep"]});
    let (one, two) = (package("One").to_string(), package("Two").to_string());
    Site::of(&[
        ("agent/agent.yml", "uses:\n  default: two\n"),
        ("assistants/one/package.yao", &one),
        ("assistants/one/prompts.yml", PROMPTS),
        ("assistants/one/src/index.ts", MIRROR),
        ("assistants/two/package.yao", &two),
        ("assistants/two/prompts.yml", PROMPTS),
        ("assistants/two/src/index.ts", MIRROR),
    ])
    .await
}

/// A request in parts.
#[derive(Default)]
struct Parts<'a> {
    path: &'a str,
    query: &'a str,
    headers: &'a [(&'a str, &'a str)],
    body: Value,
}

async fn ask(site: &Site, parts: Parts<'_>) -> Answer {
    let path = match parts.path {
        "" => "/v1/chat/completions",
        path => path,
    };
    let mut body = Map::from_iter([(
        "messages".to_owned(),
        json!([{"role": "user", "content": "hi"}]),
    )]);
    body.extend(parts.body.as_object().cloned().unwrap_or_default());
    let mut request = site.request(Method::POST, &format!("{path}?{}", parts.query));
    for (name, value) in parts.headers {
        request = request.header(*name, *value);
    }
    Answer::of(request.json(&body)).await
}

/// What the agent's hook saw.
async fn seen(site: &Site, parts: Parts<'_>) -> Value {
    let answer = ask(site, parts).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["ambit"]["next"].take()
}

#[tokio::test]
async fn the_agent_is_taken_from_the_path_the_query_a_header_the_body_or_the_model() {
    let site = site().await;
    let one = [("x-ambit-assistant", "one")];
    let two = [("x-ambit-assistant", "two")];
    let yao = [("x-yao-assistant", "one")];
    let body = |assistant: &str| json!({"assistant_id": assistant});
    for (path, query, headers, body, expected) in [
        (
            "/v1/agents/one/chat/completions",
            "assistant_id=two",
            &two[..],
            body("two"),
            "one",
        ),
        ("", "assistant_id=one", &two[..], body("two"), "one"),
        ("", "", &one[..], body("two"), "one"),
        ("", "", &yao[..], body("two"), "one"),
        ("", "", &[], body("one"), "one"),
        ("", "", &[], json!({"model": "one"}), "one"),
        ("", "", &[], json!({"model": "gpt-yao_one"}), "one"),
        ("", "", &[], json!({}), "two"),
        ("", "", &[], json!({"model": "default"}), "two"),
    ] {
        let parts = Parts {
            path,
            query,
            headers,
            body,
        };
        let shown = format!("{path} {query} {headers:?} {}", parts.body);
        assert_eq!(
            seen(&site, parts).await["assistant_id"],
            expected,
            "{shown}"
        );
    }
    for model in ["nobody", "gpt-yao_nobody"] {
        let body = json!({"model": model});
        let answer = ask(
            &site,
            Parts {
                body,
                ..Parts::default()
            },
        )
        .await;
        assert_eq!(answer.failure(), (404, "not_found".to_owned(), None));
    }
}

#[tokio::test]
async fn the_chat_is_taken_from_the_query_a_header_or_the_body_and_is_else_a_new_one() {
    let site = site().await;
    let headers = [("x-ambit-chat", "header")];
    let body = json!({"chat_id": "body"});
    for (query, headers, body, expected) in [
        ("chat_id=query", &headers[..], body.clone(), "query"),
        ("", &headers[..], body.clone(), "header"),
        ("", &[][..], body, "body"),
    ] {
        let parts = Parts {
            query,
            headers,
            body,
            ..Parts::default()
        };
        assert_eq!(seen(&site, parts).await["chat_id"], expected);
    }
    let first = seen(&site, Parts::default()).await["chat_id"].take();
    let second = seen(&site, Parts::default()).await["chat_id"].take();
    assert_ne!(first, second);
    assert!(first.as_str().is_some_and(|id| !id.is_empty()));
}

#[tokio::test]
async fn theme_route_and_referer_may_stand_in_the_query_and_in_headers_of_both_names() {
    let site = site().await;
    let ambit = [
        ("x-ambit-theme", "dark"),
        ("x-ambit-route", "/a"),
        ("x-ambit-referer", "jssdk"),
    ];
    let yao = [
        ("x-yao-theme", "dark"),
        ("x-yao-route", "/a"),
        ("x-yao-referer", "jssdk"),
    ];
    for (query, headers) in [
        ("theme=dark&route=/a&referer=jssdk", &[][..]),
        (
            "theme=dark&route=/a&referer=jssdk",
            &[("x-ambit-theme", "light"), ("x-ambit-route", "/b")][..],
        ),
        ("", &ambit[..]),
        ("", &yao[..]),
    ] {
        let parts = Parts {
            query,
            headers,
            ..Parts::default()
        };
        let seen = seen(&site, parts).await;
        let found = (&seen["theme"], &seen["route"], &seen["referer"]);
        assert_eq!(
            found,
            (&json!("dark"), &json!("/a"), &json!("jssdk")),
            "{query} {headers:?}"
        );
    }
    // Nobody calls in the name of the server's own parts.
    let headers = &[("x-ambit-referer", "internal")][..];
    let parts = Parts {
        headers,
        ..Parts::default()
    };
    assert_eq!(seen(&site, parts).await["referer"], "api");
}

#[tokio::test]
async fn g146_an_unknown_format_is_refused() {
    let site = site().await;
    for (query, headers) in [
        ("accept=carrier-pigeon", &[][..]),
        ("", &[("x-ambit-accept", "carrier-pigeon")][..]),
    ] {
        let parts = Parts {
            query,
            headers,
            ..Parts::default()
        };
        let expected = (
            400,
            "invalid_argument".to_owned(),
            Some("accept".to_owned()),
        );
        assert_eq!(ask(&site, parts).await.failure(), expected);
    }
    let parts = Parts {
        body: json!({"accept": "carrier-pigeon"}),
        ..Parts::default()
    };
    let refused = ask(&site, parts).await;
    let turn = ask(&site, Parts::default()).await;
    let id = turn.header("x-ambit-request").unwrap();
    let path = format!("/v1/chat/requests/{id}/stream?accept=carrier-pigeon");
    for answer in [refused, site.get(&path).await] {
        let (status, _, param) = answer.failure();
        assert_eq!((status, param.as_deref()), (400, Some("accept")));
        let message = answer.json()["error"]["message"].to_string();
        assert!(
            message.contains("standard, messages, cui-web, "),
            "{message}"
        );
    }
}

#[tokio::test]
async fn the_mode_must_be_one_of_the_agent_s() {
    let site = site().await;
    for query in ["mode=fast", "mode=deep", "mode="] {
        let parts = Parts {
            query,
            ..Parts::default()
        };
        assert_eq!(ask(&site, parts).await.status, 200, "{query}");
    }
    let headers = &[("x-ambit-mode", "slow")][..];
    let parts = Parts {
        headers,
        ..Parts::default()
    };
    let answer = ask(&site, parts).await;
    let expected = (400, "invalid_argument".to_owned(), Some("mode".to_owned()));
    assert_eq!(answer.failure(), expected);
}

#[tokio::test]
async fn the_language_is_taken_from_the_query_a_header_the_body_metadata_or_the_browser() {
    let site = site().await;
    let browser = ("accept-language", "fr-FR,fr;q=0.9");
    let both = [browser, ("x-ambit-locale", "de-DE")];
    let body = json!({"locale": "es-ES", "metadata": {"locale": "it-IT"}});
    let told = json!({"metadata": {"locale": "it-IT"}});
    for (query, headers, body, expected) in [
        ("locale=zh-CN", &both[..], body.clone(), "zh-cn"),
        ("", &both[..], body.clone(), "de-de"),
        ("", &[browser][..], body, "es-es"),
        ("", &[browser][..], told, "it-it"),
        ("", &[browser][..], json!({}), "fr-fr"),
        ("", &[][..], json!({}), "en-us"),
    ] {
        let parts = Parts {
            query,
            headers,
            body,
            ..Parts::default()
        };
        assert_eq!(seen(&site, parts).await["locale"], expected);
    }
}

#[tokio::test]
async fn metadata_of_the_header_and_the_body_is_merged_without_names_of_the_server() {
    let site = site().await;
    let header = STANDARD.encode(json!({"a": 1, "b": 1, "__user": "eve"}).to_string());
    let headers = &[("x-ambit-metadata", header.as_str())][..];
    let body = json!({"metadata": {"b": 2, "c": 3, "__tenant": "eve"}});
    let parts = Parts {
        headers,
        body,
        ..Parts::default()
    };
    let expected = json!({"a": 1, "b": 1, "c": 3});
    assert_eq!(seen(&site, parts).await["metadata"], expected);
}

#[tokio::test]
async fn without_a_format_it_is_openai_s_and_does_not_stream_by_itself() {
    let site = site().await;
    let seen = seen(&site, Parts::default()).await;
    assert_eq!(seen["accept"], "standard");
}

#[tokio::test]
async fn a_format_of_ambit_streams_unless_it_is_told_not_to() {
    let site = site().await;
    for (query, headers) in [
        ("accept=cui-web", &[][..]),
        ("", &[("x-yao-accept", "cui-web")][..]),
    ] {
        let streamed = ask(
            &site,
            Parts {
                query,
                headers,
                ..Parts::default()
            },
        )
        .await;
        assert_eq!(
            streamed.header("content-type"),
            Some("text/event-stream; charset=utf-8")
        );
        let body = json!({"stream": false, "chat_id": "c"});
        let whole = ask(
            &site,
            Parts {
                query,
                headers,
                body,
                ..Parts::default()
            },
        )
        .await
        .json();
        assert_eq!(whole["status"], "completed", "{whole}");
        assert_eq!(whole["chat_id"], "c");
        assert_eq!(whole["assistant_id"], "two");
        assert_eq!(whole["next"]["accept"], "cui-web");
        assert_eq!(whole["messages"][0]["props"]["content"], "echo: hi");
        for name in ["request_id", "context_id", "trace_id"] {
            assert!(whole[name].is_string(), "{name}: {whole}");
        }
        assert_eq!(whole["usage"]["total_tokens"], 12);
    }
}

#[tokio::test]
async fn store_false_keeps_a_turn_out_of_the_history() {
    let site = site().await;
    let path = "/v1/chat/sessions/quiet/messages";
    let body = |store: bool| json!({"chat_id": "quiet", "store": store});
    for (store, count) in [(true, 2), (false, 2), (true, 4)] {
        let parts = Parts {
            body: body(store),
            ..Parts::default()
        };
        assert_eq!(ask(&site, parts).await.status, 200);
        let stored = site.get(path).await.json();
        let items = stored["data"].as_array().or(stored["items"].as_array());
        assert_eq!(items.unwrap().len(), count, "{stored}");
    }
}

#[tokio::test]
async fn messages_that_repeat_the_history_are_not_stored_again() {
    let site = site().await;
    let ask = |messages: Value| {
        let body = json!({"chat_id": "whole", "accept": "cui-web", "messages": messages, "model": "hello"});
        let site = &site;
        async move { site.stream(&body).await.rest().await }
    };
    let first = json!({"role": "user", "content": "one"});
    assert_eq!(status(&ask(json!([first])).await), "completed");
    let whole = json!([first, {"role": "assistant", "content": "echo: one"}, {"role": "user", "content": "two"}]);
    let open = ask(whole).await;
    assert!(!open.is_empty());
    let stored = site.get("/v1/chat/sessions/whole/messages").await.json();
    let items = stored["data"].as_array().or(stored["items"].as_array());
    let texts: Vec<&Value> = items
        .unwrap()
        .iter()
        .map(|message| &message["props"]["content"])
        .collect();
    assert_eq!(texts, ["one", "echo: one", "two", "echo: two"]);
}
