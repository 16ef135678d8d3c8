//! Serves an app inside an axum application, beside routes of its own.
//!
//! `cargo run -p ambit --example server_in_axum`

use ambit::{Ambit, Authorized};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;
use std::error::Error;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// An agent that everybody who may call may use.
const SHOP: [(&str, &str); 4] = [
    ("app.yao", "{}"),
    (
        "assistants/shop/package.yao",
        r#"{ "name": "Shop", "connector": "scripted", "public": true }"#,
    ),
    (
        "assistants/shop/prompts.yml",
        "- { role: system, content: You sell lamps. }",
    ),
    (
        "connectors/scripted.conn.yao",
        r#"{ "type": "scripted", "options": { "rules": [{ "reply": "How may I help you?" }] } }"#,
    ),
];

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let ambit = Ambit::open(SHOP).await?;
    let app = Router::new()
        .route("/", get(async || "The shop is open."))
        .merge(ambit::server::router(&ambit)?)
        .layer(from_fn(log_in));

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // A server goes on until it is stopped; this one stops when it has answered two requests of its own.
    let requests = async move {
        for request in [get_root(address), chat(address)] {
            println!("{}", ask(address, &request).await.unwrap_or_default());
        }
    };
    axum::serve(listener, app)
        .with_graceful_shutdown(requests)
        .await?;
    ambit.close().await?;
    Ok(())
}

/// Says who is calling, as the sessions of this application know it. Without such a layer the app's own `auth` decides.
async fn log_in(mut request: Request, next: Next) -> Response {
    let user_id = Some("ann".to_owned());
    request.extensions_mut().insert(Authorized {
        user_id,
        ..Authorized::default()
    });
    next.run(request).await
}

fn get_root(address: SocketAddr) -> String {
    format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")
}

/// Any client of OpenAI's chat completions can talk to the app: an agent is a model.
fn chat(address: SocketAddr) -> String {
    let body = r#"{"model": "shop", "messages": [{"role": "user", "content": "Hello"}]}"#;
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns what the server says, with the answer's `message` alone of what it says as JSON.
async fn ask(address: SocketAddr, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.lines().next().unwrap_or_default();
    let shown = match serde_json::from_str::<Value>(body) {
        Ok(completion) => completion["choices"][0]["message"].to_string(),
        Err(_) => body.to_owned(),
    };
    Ok(format!("{status}\n{shown}"))
}
