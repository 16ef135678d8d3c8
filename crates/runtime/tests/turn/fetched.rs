//! What addresses in messages point to, where a provider takes no addresses.

use crate::place::{ask, borrowed, end, place};
use crate::server::{Reply, Server};
use crate::uses::{app, reader, said, with, words};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The body that an Ollama server was asked with, where `uses.fetch` is such and the app lists these hosts.
async fn fetched(uses: &str, hosts: Value, part: &Value) -> Value {
    const TEXT: &str = include_str!("../llm/recorded/openai/text.sse");
    let model = Server::start(vec![Reply::stream(TEXT)]).await;
    let connector = json!({"type": "ollama", "options": {"host": model.address, "model": "m"}});
    let app_file =
        json!({"name": "Test", "version": "1.0.0", "ambit": {"capabilities": {"http": hosts}}});
    let mut more = reader(
        "getter",
        "return { data: { text: payload.messages.at(-1).content } };",
    );
    more.push(words());
    more.push((
        "connectors/local.conn.yao".to_owned(),
        connector.to_string(),
    ));
    more.push(("app.yao".to_owned(), app_file.to_string()));
    let files = app(
        &json!({"connector": "local", "uses": {"fetch": uses}}),
        "",
        more,
    );
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, with(part)).await;
    assert_eq!(end(&frames)["error"], Value::Null, "{}", end(&frames));
    model.only().body["messages"][1]["content"][1].clone()
}

/// A host of one picture, or one that points on to another host, that counts how often it is asked.
async fn host(next: &str) -> (String, Arc<AtomicUsize>, AbortOnDrop) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let head = match next {
        "" => "200 OK\r\ncontent-type: image/png".to_owned(),
        next => format!("302 Found\r\nlocation: {next}/cat.png"),
    };
    let task = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            let mut seen = Vec::new();
            while !seen.ends_with(b"\r\n\r\n") {
                stream.read_buf(&mut seen).await.unwrap();
            }
            let answer =
                format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: 5\r\n\r\nbytes");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (address, count, AbortOnDrop(task))
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A picture at this address.
fn far(address: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": format!("{address}/cat.png")}})
}

#[tokio::test]
async fn what_an_address_points_to_is_got_where_a_provider_takes_no_addresses() {
    let (address, count, _host) = host("").await;
    let part = far(&address);
    let open = json!([{"host": address, "private": true, "messages": true}]);
    let bytes =
        json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,Ynl0ZXM="}});
    assert_eq!(fetched("builtin", open.clone(), &part).await, bytes);
    // Without leave, or without anybody who gets it, the address is sent as it is.
    assert_eq!(fetched("builtin", json!([]), &part).await, part);
    assert_eq!(fetched("disabled", open, &part).await, part);
    let asked = json!({"url": part["image_url"]["url"]}).to_string();
    assert_eq!(fetched("getter", json!([]), &part).await, said(&asked));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_address_in_a_message_does_not_reach_what_is_private_to_the_apps_scripts() {
    let (inner, asked, _inner) = host("").await;
    let (outer, passed, _outer) = host(&inner).await;
    let hosts = json!([
        {"host": inner, "private": true},
        {"host": outer, "private": true, "messages": true},
    ]);
    for address in [inner, outer] {
        let part = far(&address);
        assert_eq!(fetched("builtin", hosts.clone(), &part).await, part);
    }
    let counts = [asked, passed].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counts, [0, 1], "the second was asked where to go");
}
