//! Responses and Conversations on several nodes.

use crate::Run;
use crate::place::{Node, Place};
use crate::site::Answer;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

pub const CASES: &[(&str, Run)] = &[
    (
        "g165_a_stream_taken_up_on_another_node_is_the_rest_of_the_first_one",
        |place| Box::pin(taken_up(place)),
    ),
    (
        "g166_items_that_many_clients_add_on_two_nodes_are_all_there_once_and_in_order",
        |place| Box::pin(added(place)),
    ),
    (
        "g166_items_added_again_behind_a_killed_node_are_there_once",
        |place| Box::pin(added_again(place)),
    ),
    (
        "g168_going_on_from_an_earlier_response_on_another_node_knows_no_later_word",
        |place| Box::pin(gone_on(place)),
    ),
];

/// Clients at the same time, and the requests of each.
const CLIENTS: usize = 16;
const REQUESTS: usize = 4;

async fn send(node: &Node, method: Method, path: &str, body: &Value) -> Value {
    let answer = Answer::of(node.request(method, path).json(body)).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

async fn ask(node: &Node, body: Value) -> Value {
    send(node, Method::POST, "/responses", &body).await
}

/// The data of a stream's events, without the numbers that stand beside them.
async fn events(node: &Node, path: &str) -> Vec<Value> {
    let answer = node.get(path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let data = answer
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter(|data| *data != "[DONE]");
    events
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

async fn taken_up(place: Place) {
    let (first, second) = (place.node(), place.node());
    let running = ask(
        &first,
        json!({"model": "hello", "input": "go on", "background": true}),
    )
    .await;
    let path = format!("/responses/{}?stream=true", running["id"].as_str().unwrap());
    let (whole, same) = tokio::join!(events(&first, &path), events(&second, &path));
    assert_eq!(whole, same);
    assert_eq!(whole.last().unwrap()["type"], "response.completed");
    first.kill();
    for after in [0, 3, whole.len() - 2] {
        let rest = events(&second, &format!("{path}&starting_after={after}")).await;
        assert_eq!(rest, whole[after + 1..]);
    }
}

fn item(client: usize, request: usize) -> Value {
    json!({"role": "user", "content": format!("{client}:{request}")})
}

/// The texts of a conversation's items.
async fn texts(node: &Node, conversation: &str) -> Vec<String> {
    let (mut texts, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/conversations/{conversation}/items?order=asc&limit=100{after}");
        let page = node.get(&path).await.json();
        let items = page["data"].as_array().unwrap().iter();
        texts.extend(items.map(|item| item["content"][0]["text"].as_str().unwrap().to_owned()));
        if page["has_more"] == false {
            return texts;
        }
        after = format!("&after={}", page["last_id"].as_str().unwrap());
    }
}

async fn added(place: Place) {
    let nodes = [place.node(), place.node()];
    let made = send(&nodes[0], Method::POST, "/conversations", &json!({})).await;
    let path = format!("/conversations/{}/items", made["id"].as_str().unwrap());
    let clients = (0..CLIENTS).map(|client| {
        let (node, path) = (&nodes[client % 2], &path);
        async move {
            for request in 0..REQUESTS {
                let items =
                    json!({"items": [item(client, 2 * request), item(client, 2 * request + 1)]});
                send(node, Method::POST, path, &items).await;
            }
        }
    });
    join_all(clients).await;
    let texts = texts(&nodes[1], made["id"].as_str().unwrap()).await;
    assert_eq!(texts.len(), CLIENTS * REQUESTS * 2);
    for client in 0..CLIENTS {
        let prefix = format!("{client}:");
        let own = texts.iter().filter(|text| text.starts_with(&prefix));
        let expected = (0..2 * REQUESTS).map(|request| format!("{client}:{request}"));
        assert_eq!(
            own.cloned().collect::<Vec<_>>(),
            expected.collect::<Vec<_>>()
        );
    }
}

async fn added_again(place: Place) {
    let (first, second) = (place.node(), place.node());
    let made = send(&second, Method::POST, "/conversations", &json!({})).await;
    let id = made["id"].as_str().unwrap();
    let path = format!("/conversations/{id}/items");
    let request = |node: &Node, client: usize| {
        let body = json!({"items": [item(client, 0), item(client, 1)]});
        let request = node.request(Method::POST, &path).json(&body);
        request.header("idempotency-key", format!("key-{client}"))
    };
    let sent: Vec<_> = (0..CLIENTS)
        .map(|client| tokio::spawn(request(&first, client).send()))
        .collect();
    // Some have been answered by now, and some have not.
    while texts(&second, id).await.is_empty() {}
    first.kill();
    for answer in sent {
        // Whether it was answered, its client does not know.
        drop(answer.await.unwrap());
    }
    for client in 0..CLIENTS {
        let answer = Answer::of(request(&second, client)).await;
        assert_eq!(
            answer.json()["data"].as_array().unwrap().len(),
            2,
            "{}",
            answer.text
        );
    }
    let mut texts = texts(&second, id).await;
    texts.sort_unstable();
    let all = (0..CLIENTS).flat_map(|client| [format!("{client}:0"), format!("{client}:1")]);
    let mut all: Vec<String> = all.collect();
    all.sort_unstable();
    assert_eq!(texts, all);
}

async fn gone_on(place: Place) {
    let (first, second) = (place.node(), place.node());
    let one = ask(&first, json!({"model": "hello", "input": "one"})).await;
    let behind = |text: &str, id: &Value| json!({"model": "hello", "input": text, "previous_response_id": id});
    let two = ask(&first, behind("two", &one["id"])).await;
    let other = ask(&second, behind("other", &one["id"])).await;
    let list = async |node: &Node, response: &Value| {
        let (_, turn) = response["id"].as_str().unwrap().split_once('_').unwrap();
        let info = node.get(&format!("/chat/requests/{turn}")).await.json();
        let chat = info["chat_id"].as_str().unwrap();
        let messages = node
            .get(&format!("/chat/sessions/{chat}/messages"))
            .await
            .json();
        let items = messages["items"].as_array().unwrap().iter();
        let texts = items.map(|item| item["props"]["content"].as_str().unwrap().to_owned());
        (chat.to_owned(), texts.collect::<Vec<_>>())
    };
    let (old, kept) = list(&second, &two).await;
    let (new, copied) = list(&first, &other).await;
    assert_ne!(old, new);
    assert_eq!(kept, ["one", "echo: one", "two", "echo: two"]);
    assert_eq!(copied, ["one", "echo: one", "other", "echo: other"]);
    assert_eq!(new, other["id"].as_str().unwrap());
}
