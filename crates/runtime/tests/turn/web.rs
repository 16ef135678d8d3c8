//! Requests that hooks send: to the hosts of the app's list and to no other.

use crate::place::{Place, ask, end, place, request, shown};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Answers every request with the same JSON until it is dropped.
struct Shop {
    url: String,
    task: JoinHandle<()>,
}

impl Shop {
    async fn open() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut seen = Vec::new();
                while !seen.ends_with(b"\r\n\r\n") {
                    stream.read_buf(&mut seen).await.unwrap();
                }
                let body = "{\"pets\":2}";
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
                let text = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                stream.write_all(text.as_bytes()).await.unwrap();
            }
        });
        Self { url, task }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The app's list, the agent's list if it has one, and what the hook asks and sends.
async fn shop_app(app: Value, agent: Option<Value>, hook: &str) -> Place {
    let app = json!({"name": "Test", "version": "1.0.0", "ambit": {"capabilities": {"http": app}}});
    let mut package = json!({"name": "Pet", "connector": "echo"});
    if let Some(hosts) = agent {
        package["runtime"] = json!({"http": hosts});
    }
    let script =
        format!("export async function Create(ctx) {{ ctx.Send(JSON.stringify({hook})); }}");
    place(&[
        ("app.yao", &app.to_string()),
        ("assistants/pet/package.yao", &package.to_string()),
        ("assistants/pet/src/index.ts", &script),
    ])
    .await
}

/// What the hook sent.
async fn sent(app: Value, agent: Option<Value>, hook: &str) -> Value {
    let place = shop_app(app, agent, hook).await;
    let frames = ask(&place, request("pet", "hi")).await;
    assert_eq!(end(&frames)["status"], "completed", "{}", end(&frames));
    let (_, text) = shown(&frames).into_iter().next().unwrap();
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

/// Both ways of asking.
fn both(url: &str) -> String {
    let called = format!("http.Get('{url}/pets')");
    let fetched =
        format!("await fetch('{url}/pets').then(r => r.json(), e => [e.name, e.message])");
    format!(
        "[(({{status, code, data, message}}) => [status, code, data, message])({called}), {fetched}]"
    )
}

fn refused() -> Value {
    let text = "host \"127.0.0.1\" is not allowed";
    json!([[0, 403, null, text], ["TypeError", text]])
}

#[tokio::test]
async fn g121_a_hook_reaches_the_hosts_that_its_app_lists() {
    let shop = Shop::open().await;
    let listed = json!([{"host": shop.url, "private": true}]);
    let found = sent(listed.clone(), None, &both(&shop.url)).await;
    let answered = json!([[200, 200, {"pets": 2}, ""], {"pets": 2}]);
    assert_eq!(found, answered);
    let found = sent(listed, Some(json!([&shop.url])), &both(&shop.url)).await;
    assert_eq!(found, answered);
}

#[tokio::test]
async fn g121_a_hook_is_refused_at_every_other_host() {
    let shop = Shop::open().await;
    for (app, agent) in [
        // Nothing is listed.
        (json!([]), None),
        // A private address that is not said to be one.
        (json!([shop.url]), None),
        // The agent's package leaves nothing, or another host, of what the app lists.
        (
            json!([{"host": shop.url, "private": true}]),
            Some(json!([])),
        ),
        (
            json!([{"host": shop.url, "private": true}]),
            Some(json!(["api.example.com"])),
        ),
        // The agent's package alone opens nothing.
        (
            json!([]),
            Some(json!([{"host": shop.url, "private": true}])),
        ),
    ] {
        assert_eq!(sent(app, agent, &both(&shop.url)).await, refused());
    }
}

#[tokio::test]
async fn the_limits_of_the_app_hold_for_the_requests_of_a_hook() {
    let shop = Shop::open().await;
    let listed = json!([{"host": shop.url, "private": true}]);
    let app = json!({"name": "T", "version": "1", "ambit": {"capabilities": {"http": listed}, "limits": {"http_body": 4}}});
    let script = format!(
        "export function Create(ctx) {{ ctx.Send(http.Get('{}/').message); }}",
        shop.url
    );
    let place = place(&[
        ("app.yao", &app.to_string()),
        (
            "assistants/pet/package.yao",
            r#"{"name": "Pet", "connector": "echo"}"#,
        ),
        ("assistants/pet/src/index.ts", &script),
    ])
    .await;
    let frames = ask(&place, request("pet", "hi")).await;
    let text = json!("the body is larger than 4 bytes");
    assert_eq!(shown(&frames)[0], ("text".to_owned(), text));
}

#[tokio::test]
async fn what_a_streams_callback_throws_reaches_the_hook_itself() {
    let shop = Shop::open().await;
    let listed = json!([{"host": shop.url, "private": true}]);
    let hook = format!(
        "(() => {{ try {{ http.Stream('GET', '{}/', () => {{ throw new RangeError('mine'); }}); }} catch (e) {{ return [e.name, e.message]; }} }})()",
        shop.url
    );
    assert_eq!(
        sent(listed, None, &hook).await,
        json!(["RangeError", "mine"])
    );
}
