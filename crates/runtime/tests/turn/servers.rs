//! Turns whose models are servers, good ones and faulty ones.

use crate::place::{Place, agent, ask, borrowed, end, place, request, shown};
use crate::server::{End, Reply, Server};
use serde_json::{Value, json};

const TEXT: &str = include_str!("../llm/recorded/openai/text.sse");
const THOUGHT: &str = include_str!("../llm/recorded/anthropic/reasoning.sse");
const SIGNATURE: &str = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds";

/// An agent whose connector is the first of these servers, the second one standing in for it. The first may be silent for so
/// long.
async fn pair(kind: &str, silence: &str, addresses: [&str; 2]) -> Place {
    let mut files = agent(&json!({"connector": "first"}), "");
    let [mut first, second] = addresses.map(|address| json!({"host": address, "model": "m"}));
    first["timeout"] = silence.into();
    first["fallback"] = json!(["second"]);
    for (name, options) in [("first", first), ("second", second)] {
        let file = json!({"type": kind, "options": options}).to_string();
        files.push((format!("connectors/{name}.conn.yao"), file));
    }
    place(&borrowed(&files)).await
}

#[tokio::test]
async fn g132_whatever_is_wrong_with_a_server_the_next_one_answers() {
    let start = "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    let short = Reply::json(429, "{}").with("retry-after", "1");
    let long = Reply::json(429, "{}").with("retry-after", "3600");
    let faulty = [
        ("gone", 3, Reply::stream("").ending(End::Gone)),
        ("mute", 3, Reply::stream("").ending(End::NoHead)),
        ("cut", 3, Reply::stream(start).ending(End::Cut)),
        ("silent", 3, Reply::stream(start).ending(End::Silence)),
        ("overloaded", 3, Reply::json(503, "{}")),
        ("rate limited", 3, short),
        ("busy for long", 1, long),
        ("closed to this key", 1, Reply::json(401, "{}")),
        ("unreadable", 1, Reply::stream("data: <html>\n\n")),
        ("empty", 1, Reply::json(200, "")),
    ];
    let turns = faulty.map(|(what, calls, reply)| async move {
        let silence = match reply.end {
            End::NoHead | End::Silence => "3s",
            _ => "120s",
        };
        let (first, second) = (
            Server::start(vec![reply]).await,
            Server::start(vec![Reply::stream(TEXT)]).await,
        );
        let place = pair("openai", silence, [&first.address, &second.address]).await;
        let frames = ask(&place, request("hello", "hi")).await;
        assert_eq!(
            end(&frames)["status"],
            "completed",
            "{what}: {}",
            end(&frames)
        );
        assert_eq!(shown(&frames).len(), 1, "{what}");
        assert_eq!(
            (first.asked().len(), second.asked().len()),
            (calls, 1),
            "{what}"
        );
        // The same request, and for each the whole of it.
        let bodies: Vec<Value> = first.asked().into_iter().map(|asked| asked.body).collect();
        assert_eq!(bodies, vec![second.only().body; calls], "{what}");
    });
    futures::future::join_all(turns).await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_stood_in_for() {
    let second = Server::start(vec![Reply::stream(TEXT)]).await;
    let gone = Server::start(vec![Reply::stream("")]).await.address.clone();
    let place = pair("openai", "120s", [&gone, &second.address]).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["status"], "completed", "{}", end(&frames));
}

#[tokio::test]
async fn g115_a_server_that_breaks_off_behind_its_first_word_is_not_stood_in_for() {
    let begun = &TEXT[..TEXT.len() / 2];
    for ending in [End::Cut, End::Silence] {
        let first = Server::start(vec![Reply::stream(begun).ending(ending)]).await;
        let second = Server::start(vec![Reply::stream(TEXT)]).await;
        let place = pair("openai", "3s", [&first.address, &second.address]).await;
        let frames = ask(&place, request("hello", "hi")).await;
        assert_eq!(end(&frames)["status"], "error");
        assert_eq!((first.asked().len(), second.asked().len()), (1, 0));
        let kinds: Vec<String> = shown(&frames).into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, ["text", "error"]);
    }
}

#[tokio::test]
async fn signatures_go_back_to_the_connector_that_made_them_and_to_no_other() {
    let thoughtful = Reply::stream(THOUGHT);
    let first = [thoughtful.clone(), thoughtful, Reply::json(401, "{}")];
    let first = Server::start(first.to_vec()).await;
    let second = Server::start(vec![Reply::stream(THOUGHT)]).await;
    let place = pair("anthropic", "120s", [&first.address, &second.address]).await;
    for text in ["one", "two", "three"] {
        let frames = ask(&place, request("hello", text)).await;
        assert_eq!(end(&frames)["status"], "completed", "{}", end(&frames));
    }
    let signatures = |body: &Value| body.to_string().matches(SIGNATURE).count();
    let asked: Vec<usize> = first
        .asked()
        .iter()
        .map(|asked| signatures(&asked.body))
        .collect();
    assert_eq!(asked, [0, 1, 2]);
    let body = second.only().body;
    assert_eq!(signatures(&body), 0, "{body}");
    assert!(!body.to_string().contains("connector"), "{body}");
    // Later it gets its own back, and those alone.
    ask(&place, request("hello", "four")).await;
    assert_eq!(signatures(&second.asked()[1].body), 1);
}
