//! What callers do: turns that go well, that fail, that are stopped and left, and requests that come to nothing.

use crate::site::{Answer, Stream};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

/// Agents beside that of `HELLO`, and a model that takes less time.
pub const APP: &[(&str, &str)] = &[
    (
        "connectors/script.conn.yao",
        r#"{
            "label": "Script",
            "type": "scripted",
            "options": {
                "model": "script",
                "rules": [
                    {"match": {"last_user": "^go on"}, "reply": "1 2 3 4 5 6 7 8 9 10 11 12", "delay": "10ms"},
                    {"match": {"last_user": "^never ends"}, "reply": "0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9", "delay": "60ms"},
                    {"match": {"last_user": "^refuse"}, "error": {"status": 400, "message": "no such model"}}
                ]
            }
        }"#,
    ),
    (
        "assistants/hooked/package.yao",
        r#"{"name": "Hooked", "public": true, "connector": "script"}"#,
    ),
    (
        "assistants/hooked/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    (
        "assistants/hooked/src/index.ts",
        r#"
export function Create(ctx, messages) {
  const count = ctx.memory.user.Incr("turns");
  ctx.memory.chat.Set("last", messages[messages.length - 1].content);
  ctx.trace.Add({ type: "hook", input: { count } }, { label: "Count" });
  ctx.Send("one moment");
  return { messages, metadata: { count } };
}
export function Next(ctx, payload) {
  ctx.Append(payload.completion.message_id, "!");
  return null;
}
"#,
    ),
    (
        "assistants/broken/package.yao",
        r#"{"name": "Broken", "public": true, "connector": "script"}"#,
    ),
    (
        "assistants/broken/src/index.ts",
        r#"
export function Create(ctx) {
  ctx.SendStream("never ended");
  throw new Error("out of paper");
}
"#,
    ),
];

/// One client, in one chat.
pub struct Caller {
    pub client: Client,
    pub url: String,
    pub chat: String,
}

/// Does everything once, each client beginning with something else.
pub async fn all(caller: &Caller, first: usize) {
    for step in 0..KINDS {
        match (first + step) % KINDS {
            0 => answered(caller).await,
            1 => hooked(caller).await,
            2 => broken(caller).await,
            3 => refused(caller).await,
            4 => cancelled(caller).await,
            5 => left(caller).await,
            6 => left_and_cancelled(caller).await,
            7 => resumed(caller).await,
            _ => unknown(caller).await,
        }
    }
}

const KINDS: usize = 9;

impl Caller {
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// A turn's request; what goes on while another begins has a chat of its own.
    fn turn(&self, agent: &str, text: &str) -> Value {
        let chat = format!("{}-{}", self.chat, text.replace(' ', "-"));
        json!({"model": agent, "chat_id": chat, "messages": [{"role": "user", "content": text}]})
    }

    async fn ask(&self, body: &Value) -> Answer {
        let request = self.request(Method::POST, "/v1/chat/completions");
        Answer::of(request.json(body)).await
    }

    async fn stream(&self, mut body: Value) -> Stream {
        body["accept"] = json!("cui-web");
        let request = self.request(Method::POST, "/v1/chat/completions");
        Stream::of(request.json(&body)).await
    }
}

async fn answered(caller: &Caller) {
    let answer = caller.ask(&caller.turn("hello", "hi")).await;
    let message = &answer.json()["choices"][0]["message"];
    assert_eq!(
        *message,
        json!({"role": "assistant", "content": "echo: hi"})
    );
}

async fn hooked(caller: &Caller) {
    let mut stream = caller.stream(caller.turn("hooked", "count")).await;
    assert_eq!(end(&mut stream).await, json!("completed"));
}

async fn broken(caller: &Caller) {
    let mut stream = caller.stream(caller.turn("broken", "print")).await;
    assert_eq!(end(&mut stream).await, json!("error"));
}

async fn refused(caller: &Caller) {
    let answer = caller.ask(&caller.turn("hello", "refuse")).await;
    let expected = (502, "llm_error".to_owned(), None);
    assert_eq!(answer.failure(), expected, "{}", answer.text);
}

async fn cancelled(caller: &Caller) {
    let mut stream = caller.stream(caller.turn("hello", "never ends")).await;
    stream.until(|data| data["type"] == "text").await;
    let path = format!("/v1/chat/requests/{}/cancel", stream.request_id());
    let answer = Answer::of(caller.request(Method::POST, &path)).await;
    assert_eq!(answer.status, 202);
    assert_eq!(end(&mut stream).await, json!("cancelled"));
}

/// The turn goes on without its reader.
async fn left(caller: &Caller) {
    let mut stream = caller.stream(caller.turn("hello", "go on")).await;
    stream.until(|data| data["type"] == "text").await;
}

async fn left_and_cancelled(caller: &Caller) {
    let mut body = caller.turn("hello", "never ends here");
    body["cancel_on_disconnect"] = json!(true);
    let mut stream = caller.stream(body).await;
    stream.until(|data| data["type"] == "text").await;
}

async fn resumed(caller: &Caller) {
    let mut stream = caller.stream(caller.turn("hello", "go on again")).await;
    let seen = stream.until(|data| data["type"] == "text").await.len();
    let id = stream.request_id();
    drop(stream);
    let path = format!("/v1/chat/requests/{id}/stream?accept=cui-web");
    let request = caller.request(Method::GET, &path);
    let mut stream = Stream::of(request.header("last-event-id", seen)).await;
    assert_eq!(end(&mut stream).await, json!("completed"));
}

async fn unknown(caller: &Caller) {
    let answers = [
        caller.ask(&caller.turn("nobody", "hi")).await,
        Answer::of(caller.request(Method::GET, "/v1/chat/requests/none")).await,
        Answer::of(caller.request(Method::GET, "/v1/nowhere")).await,
    ];
    assert_eq!(answers.map(|answer| answer.status), [404, 404, 404]);
}

/// Reads to the end: how the turn ended.
async fn end(stream: &mut Stream) -> Value {
    let events = stream.rest().await;
    let last = &events.last().unwrap().data["props"];
    assert_eq!(last["event"], json!("stream_end"));
    last["data"]["status"].clone()
}
