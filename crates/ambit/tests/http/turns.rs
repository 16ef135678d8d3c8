//! Turns over HTTP: answers, streams and coming back.

use crate::auth::token;
use crate::site::{Answer, Event, Site, Stream, TOKENS};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

pub fn said(text: &str) -> Value {
    json!({"model": "hello", "chat_id": "c1", "messages": [{"role": "user", "content": text}]})
}

pub fn streamed(text: &str) -> Value {
    let mut body = said(text);
    body["accept"] = json!("cui-web");
    body
}

/// The text that a client of `cui-web` shows after these events.
pub fn shown(events: &[Event]) -> String {
    let texts = events.iter().filter(|event| event.data["type"] == "text");
    texts
        .map(|event| event.data["props"]["content"].as_str().unwrap_or_default())
        .collect()
}

pub fn is_text(data: &Value) -> bool {
    data["type"] == "text"
}

pub fn status(events: &[Event]) -> Value {
    let end = events.last().unwrap();
    assert_eq!(end.data["props"]["event"], "stream_end");
    end.data["props"]["data"]["status"].clone()
}

#[tokio::test]
async fn a_request_is_answered_in_openai_s_shape() {
    let site = Site::development().await;
    let answer = site.post("/v1/chat/completions", &said("hi")).await;
    let body = answer.json();
    let id = answer.header("x-ambit-request").unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(body["id"], json!(format!("chatcmpl-{id}")));
    assert_eq!(
        (&body["object"], &body["model"]),
        (&json!("chat.completion"), &json!("hello"))
    );
    assert_eq!(
        body["choices"][0]["message"],
        json!({"role": "assistant", "content": "echo: hi"})
    );
    assert_eq!(body["choices"][0]["finish_reason"], json!("stop"));
    assert_eq!(body["usage"]["total_tokens"], json!(12));
    assert_eq!(body["ambit"]["chat_id"], json!("c1"));
    for (header, value) in [("x-ambit-chat", "c1"), ("x-yao-chat", "c1")] {
        assert_eq!(answer.header(header), Some(value));
    }
    assert_eq!(
        answer.header("x-ambit-context"),
        body["ambit"]["context_id"].as_str()
    );
    assert_eq!(
        answer.header("x-ambit-trace"),
        body["ambit"]["trace_id"].as_str()
    );
}

#[tokio::test]
async fn the_agent_may_stand_in_the_path_the_query_or_a_header() {
    let site = Site::development().await;
    let body = json!({"messages": [{"role": "user", "content": "hi"}]});
    let answers = [
        site.post("/v1/agents/hello/chat/completions", &body).await,
        site.post("/v1/chat/completions?assistant_id=hello", &body)
            .await,
        Answer::of(
            site.request(Method::POST, "/v1/chat/completions")
                .header("x-yao-assistant", "hello")
                .json(&body),
        )
        .await,
    ];
    for answer in answers {
        assert_eq!(answer.json()["model"], json!("hello"), "{}", answer.text);
    }
    let mut yao = body;
    yao["model"] = json!("hello-gpt-yao_hello");
    assert_eq!(
        site.post("/v1/chat/completions", &yao).await.json()["model"],
        json!("hello")
    );
}

#[tokio::test]
async fn a_stream_in_openai_s_shape_ends_with_usage_and_done() {
    let site = Site::development().await;
    let mut body = said("hi");
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let mut stream = site.stream(&body).await;
    let kind = stream.response.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(kind, "text/event-stream; charset=utf-8");
    let events = stream.rest().await;
    let texts = events
        .iter()
        .filter_map(|event| event.data["choices"][0]["delta"]["content"].as_str());
    assert_eq!(texts.collect::<String>(), "echo: hi");
    let last: Vec<&Value> = events
        .iter()
        .rev()
        .take(3)
        .map(|event| &event.data)
        .collect();
    assert_eq!(last[0], &json!("[DONE]"));
    assert_eq!(last[1]["usage"]["total_tokens"], json!(12));
    assert_eq!(last[2]["choices"][0]["finish_reason"], json!("stop"));
    let ids: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    assert!(
        ids.windows(2).all(|pair| pair[0] < pair[1]) && !ids.is_empty(),
        "{ids:?}"
    );
}

#[tokio::test]
async fn the_entries_of_a_stream_are_numbered_without_gaps() {
    let site = Site::development().await;
    let events = site.stream(&streamed("hi")).await.rest().await;
    let ids: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    assert_eq!(ids, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(shown(&events), "echo: hi");
    assert_eq!(status(&events), json!("completed"));
}

#[tokio::test]
async fn g108_a_stream_goes_on_behind_the_last_event_also_on_another_node() {
    let site = Site::development().await;
    let other = site.beside().await;
    let mut stream = site.stream(&streamed("go on")).await;
    let id = stream.request_id();
    let mut seen = stream.until(is_text).await;
    let last = seen.last().unwrap().id.unwrap();
    let mut elsewhere = other.resume(&id, last).await;
    let rest = elsewhere.rest().await;
    seen.extend(stream.rest().await);
    assert_eq!(rest, seen[usize::try_from(last).unwrap()..]);
    let whole = other.resume(&id, 0).await.rest().await;
    assert_eq!(whole, seen);
    let after = seen.len();
    let path = |after: usize| format!("/v1/chat/requests/{id}/stream?accept=cui-web&after={after}");
    assert_eq!(
        Stream::of(other.request(Method::GET, &path(after)))
            .await
            .rest()
            .await,
        []
    );
    let beyond = other.get(&path(after + 1)).await;
    assert_eq!(
        beyond.failure(),
        (400, "invalid_argument".to_owned(), Some("after".to_owned()))
    );
    for number in [(after + 1).to_string(), "abc".to_owned()] {
        let request = other.request(Method::GET, &path(0));
        let beyond = Answer::of(request.header("last-event-id", number)).await;
        let blamed = Some("last-event-id".to_owned());
        assert_eq!(
            beyond.failure(),
            (400, "invalid_argument".to_owned(), blamed)
        );
    }
}

#[tokio::test]
async fn a_resumed_stream_in_openai_s_shape_repeats_nothing() {
    let site = Site::development().await;
    let mut body = said("go on");
    body["stream"] = json!(true);
    let mut stream = site.stream(&body).await;
    let id = stream.request_id();
    let events = stream.rest().await;
    let numbered: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    let middle = numbered[numbered.len() / 2];
    let path = format!("/v1/chat/requests/{id}/stream?after={middle}");
    let resumed = Stream::of(site.request(Method::GET, &path))
        .await
        .rest()
        .await;
    let place = events
        .iter()
        .position(|event| event.id == Some(middle))
        .unwrap();
    assert_eq!(resumed, events[place + 1..]);
}

#[tokio::test]
async fn g114_a_failure_after_the_headers_is_told_in_the_stream_s_own_format() {
    let hooks = "export function Next(ctx) { ctx.Send('first'); throw new Error('too bad'); }";
    let site = Site::of(&[("assistants/hello/src/index.ts", hooks)]).await;
    let mut body = said("hi");
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let events = site.stream(&body).await.rest().await;
    let last: Vec<&Value> = events
        .iter()
        .rev()
        .take(4)
        .map(|event| &event.data)
        .collect();
    assert_eq!(last[0], &json!("[DONE]"));
    assert_eq!(last[1]["usage"]["total_tokens"], json!(12));
    assert_eq!(last[2]["choices"][0]["finish_reason"], json!("stop"));
    assert_eq!(last[3]["error"]["code"], json!("hook_error"));
    let events = site.stream(&streamed("hi")).await.rest().await;
    assert_eq!(status(&events), json!("error"));
}

#[tokio::test]
async fn a_failure_before_the_first_word_is_an_error_of_http() {
    let hooks = "export function Create() { throw new Exception('no more today', 429); }";
    let teapot = ("assistants/hello/src/index.ts", hooks);
    let site = Site::of(&[teapot]).await;
    for is_streaming in [false, true] {
        let mut body = said("hi");
        body["stream"] = json!(is_streaming);
        let answer = site.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.status, 429, "{}", answer.text);
        let error = answer.json()["error"].take();
        assert_eq!(error["type"], json!("rate_limit_error"));
        assert_eq!(
            error["request_id"].as_str(),
            answer.header("x-ambit-request")
        );
    }
}

#[tokio::test]
async fn a_silent_stream_shows_that_it_lives() {
    let site = Site::set(&[], |settings| settings.ping = Duration::from_millis(20)).await;
    let mut stream = site.stream(&streamed("go on slowly")).await;
    let events = stream.rest().await;
    assert_eq!(status(&events), json!("completed"));
    assert!(stream.comments.len() > 1);
    assert!(stream.comments.iter().all(|comment| comment == "ping"));
}

#[tokio::test]
async fn g057_a_stream_breaks_off_when_its_chat_is_shared_no_longer() {
    let short = Duration::from_millis(20);
    let site = Site::set(&[TOKENS], |settings| settings.ping = short).await;
    let member = |name: &str| token(&json!({"sub": name, "team_id": "red"}));
    let (ann, bob) = (member("ann"), member("bob"));
    let ask = |body: Value| {
        let request = site.request(Method::POST, "/v1/chat/completions");
        request.bearer_auth(&ann).json(&body)
    };
    let share = async |with: &str| {
        let request = site.request(Method::PUT, "/v1/chat/sessions/c1");
        let request = request.bearer_auth(&ann).json(&json!({"share": with}));
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    };
    assert_eq!(Answer::of(ask(said("hi"))).await.status, 200);
    share("team").await;
    let mut own = Stream::of(ask(streamed("never ends"))).await;
    own.until(is_text).await;
    let turn = own.request_id();
    let paths = [
        format!("/v1/chat/requests/{turn}/stream"),
        "/v1/ai-sdk/chat/c1/stream".to_owned(),
        format!("/v1/responses/resp_{turn}?stream=true"),
    ];
    let mut readers = Vec::new();
    for path in &paths {
        let request = site.request(Method::GET, path).bearer_auth(&bob);
        let mut reader = request.send().await.unwrap();
        assert_eq!(reader.status().as_u16(), 200, "{path}");
        // It has been judged several times, and goes on.
        for _ in 0..5 {
            assert!(reader.chunk().await.unwrap().is_some(), "{path}");
        }
        readers.push(reader);
    }
    share("private").await;
    for (path, reader) in paths.iter().zip(&mut readers) {
        let end = loop {
            match reader.chunk().await {
                Ok(Some(_)) => {}
                end => break end,
            }
        };
        assert!(end.is_err(), "{path}");
    }
    // What its own person reads goes on.
    own.until(is_text).await;
}

#[tokio::test]
async fn g057_a_turn_of_somebody_else_answers_like_one_that_does_not_exist() {
    let site = Site::of(&[TOKENS]).await;
    let ann = token(&json!({"sub": "ann"}));
    let request = site.request(Method::POST, "/v1/chat/completions");
    let mut stream = Stream::of(request.bearer_auth(&ann).json(&streamed("go on"))).await;
    let id = stream.request_id();
    let context = stream.response.headers()["x-ambit-context"]
        .to_str()
        .unwrap()
        .to_owned();
    stream.until(is_text).await;
    let interrupt = json!({"type": "force"});
    for claims in [
        json!({"sub": "bob"}),
        json!({"sub": "ann", "tenant_id": "acme"}),
    ] {
        let other = token(&claims);
        for (method, path) in [
            (Method::GET, "/v1/chat/requests/{}"),
            (Method::GET, "/v1/chat/requests/{}/stream"),
            (Method::POST, "/v1/chat/requests/{}/cancel"),
            (Method::DELETE, "/v1/chat/requests/{}"),
            (Method::POST, "/v1/chat/completions/{}/append"),
        ] {
            let id = if path.ends_with("append") {
                &context
            } else {
                &id
            };
            let ask = async |id: &str| {
                let request = site.request(method.clone(), &path.replace("{}", id));
                let answer = Answer::of(request.bearer_auth(&other).json(&interrupt)).await;
                let mut error = answer.json()["error"].take();
                error["request_id"].take();
                let request = id.split('.').next().unwrap();
                (answer.status, error.to_string().replace(request, "ID"))
            };
            let (theirs, unknown) = (ask(id).await, ask("01m7zqdkvnvcq2fm7vasr18v9x").await);
            assert_eq!(theirs, unknown, "{method} {path}");
            assert_eq!(theirs.0, 404, "{method} {path}");
        }
    }
    assert_eq!(status(&stream.rest().await), json!("completed"));
}

#[tokio::test]
async fn messages_can_be_added_to_a_turn_that_runs() {
    let site = Site::development().await;
    let mut stream = site.stream(&streamed("go on slowly")).await;
    let context = stream.response.headers()["x-ambit-context"]
        .to_str()
        .unwrap()
        .to_owned();
    stream.until(is_text).await;
    let path = format!("/v1/chat/completions/{context}/append");
    let body = json!({"type": "graceful", "messages": [{"role": "user", "content": "and more"}]});
    let answer = site.post(&path, &body).await;
    assert_eq!(
        (answer.status, answer.json()),
        (202, json!({"accepted": true, "applied": "next_step"}))
    );
    let events = stream.rest().await;
    assert!(
        shown(&events).ends_with("echo: and more"),
        "{}",
        shown(&events)
    );
    let late = site.post(&path, &body).await;
    assert_eq!(late.failure(), (409, "too_late".to_owned(), None));
}
