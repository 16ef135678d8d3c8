//! `ambit why`: of what requests to models were made.

use crate::place::{Place, Ran, Serving};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

/// An agent whose hook chooses a preset, with a tool that the model calls when it is asked for lamps.
const APP: &[(&str, &str)] = &[
    ("app.yao", r#"{"name": "Shop"}"#),
    (
        "agent/prompts.yml",
        "- {role: system, content: Canary for all.}\n",
    ),
    (
        "assistants/shop/package.yao",
        r#"{"name": "Shop", "connector": "tooled", "mcp": {"servers": ["stock"]}, "options": {"temperature": 0.5}}"#,
    ),
    (
        "assistants/shop/prompts/chat/friendly.yml",
        "- {role: system, content: Canary of the preset.}\n",
    ),
    (
        "assistants/shop/src/index.ts",
        "export function Create() { return { prompt_preset: 'chat.friendly' }; }\n",
    ),
    (
        "connectors/tooled.conn.yao",
        r#"{"type": "scripted", "options": {"model": "tooled-1", "capabilities": {"tool_calls": true, "max_input_tokens": 8000}, "rules": [
            {"match": {"last_user": "lamps", "round": 0}, "tool_calls": [{"name": "stock__find", "arguments": {"item": "lamp"}}]},
            {"reply": "There are some."}]}}"#,
    ),
    (
        "mcps/stock.mcp.yao",
        r#"{"label": "Stock", "transport": "process", "tools": {"find": "scripts.stock.Find"}}"#,
    ),
    (
        "mcps/mapping/stock/schemes/find.in.yao",
        r#"{"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"], "x-process-args": ["$args.item"]}"#,
    ),
    (
        "scripts/stock.ts",
        "export function Find(item: string) { return { item, count: 12 }; }\n",
    ),
];

/// A turn of two calls, and the server that has run it.
struct Shop {
    place: Place,
    server: Serving,
    client: Client,
    request: String,
}

impl Shop {
    async fn new() -> Self {
        let place = Place::new();
        for (file, text) in APP {
            let path = place.path("app").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let listen = ["--listen", "127.0.0.1:0", "--log", "error"];
        let serve = [&["--data", "data", "serve", "app"][..], &listen].concat();
        let server = Serving::of(place.command(&serve));
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = Client::new();
        let message = json!({"role": "user", "content": "How many lamps are there?"});
        let body = json!({"model": "shop", "messages": [message]});
        let asked = client.post(format!("{}/chat/completions", server.base));
        let answer = sent(asked.json(&body)).await;
        let request = answer["ambit"]["request_id"].as_str().unwrap().to_owned();
        Self {
            place,
            server,
            client,
            request,
        }
    }

    fn why(&self, arguments: &[&str]) -> Ran {
        let command = ["--data", "data", "why"];
        self.place.run_as(&[&command[..], arguments].concat())
    }

    async fn route(&self, path: &str) -> Value {
        sent(self.client.get(format!("{}{path}", self.server.base))).await
    }
}

/// What a request is answered.
async fn sent(request: RequestBuilder) -> Value {
    let answer = request.send().await.unwrap().error_for_status().unwrap();
    answer.json().await.unwrap()
}

/// The first words of the rows below the heading that begins with this word.
fn table<'a>(text: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines();
    let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let below = words.skip_while(|words| words.first() != Some(&heading));
    let rows = below.skip(1).take_while(|words| !words.is_empty());
    rows.map(|words| words.into_iter().take(3).collect())
        .collect()
}

#[tokio::test]
async fn the_json_is_what_the_routes_answer() {
    let shop = Shop::new().await;
    let request = shop.request.as_str();
    let calls = format!("/chat/requests/{request}/calls");
    let calls = shop.route(&calls).await;
    assert_eq!(calls["items"].as_array().unwrap().len(), 2, "{calls}");
    assert_eq!(shop.why(&[request, "--json"]).json(), [calls]);
    for index in ["0", "1"] {
        let manifest = format!("/calls/{request}.call-{index}/manifest");
        let manifest = shop.route(&manifest).await;
        let printed = shop.why(&[request, "--call", index, "--json"]);
        assert_eq!(printed.json(), [manifest]);
    }
}

#[tokio::test]
async fn calls_and_their_manifests_are_printed_without_contents() {
    let shop = Shop::new().await;
    let request = shop.request.as_str();
    let all = shop.why(&[request]);
    assert_eq!((all.code, all.err.as_str()), (0, ""));
    let calls = [["0", "shop", "tooled"], ["1", "shop", "tooled"]];
    assert_eq!(table(&all.out, "CALL"), calls);
    let second = shop.why(&[request, "--call", "1"]);
    assert!(all.out.ends_with(&second.out), "{all:?}\n{second:?}");
    assert_eq!(all.out.matches("\nBLOCK").count(), 2, "{all:?}");

    let blocks = [
        ["0", "system", "global"],
        ["1", "system", "preset"],
        ["2", "user", "request"],
        ["3", "assistant", "answer"],
        ["4", "tool", "tool_result"],
    ];
    assert_eq!(table(&second.out, "BLOCK"), blocks);
    let tools = [["0", "stock__find", "stock"]];
    assert_eq!(table(&second.out, "TOOL"), tools);
    let mut options = table(&second.out, "OPTION").into_iter();
    let is_there = options.any(|option| option[..2] == ["temperature", "0.5"]);
    assert!(is_there, "{second:?}");
    assert_eq!(table(&second.out, "KIND").len(), 6, "{second:?}");
    let printed = shop.why(&[request, "--call", "1", "--json"]).json();
    let hash = printed[0]["body"]["sha256"].as_str().unwrap();
    let hash = format!("SHA-256 {hash}\n");
    for shown in [
        hash.as_str(),
        " of 8000, ",
        "file assistants/shop/prompts/chat/friendly.yml",
    ] {
        assert!(second.out.contains(shown), "{shown}: {second:?}");
    }
    for hidden in ["Canary", "lamp", "There are some"] {
        assert!(!all.out.contains(hidden), "{hidden}: {all:?}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_refused() {
    let shop = Shop::new().await;
    let request = shop.request.as_str();
    let store = shop.place.path("").canonicalize().unwrap();
    let store = store.join("data/ambit.db");
    let unknown = |request: &str, tenant: &str| {
        Ran::refused(&format!(
            "request \"{request}\" not found in {}, tenant \"{tenant}\"; a request is known by the header X-Ambit-Request of its answer, \
             as in 01m8j5ppgmd8t6mrm7sxadbm0d, which is the request_id of messages in `ambit chats show CHAT --json`; `ambit chats ls` \
             lists chats",
            store.display()
        ))
    };
    assert_eq!(shop.why(&["nobody-s"]), unknown("nobody-s", "default"));
    let missing =
        format!("request \"{request}\" has no call 2; `ambit why {request}` lists its calls");
    let ran = shop.why(&[request, "--call", "2"]);
    assert_eq!(ran, Ran::refused(&missing));
    let ran = shop.why(&[request, "--tenant", "other"]);
    assert_eq!(ran, unknown(request, "other"));
}
