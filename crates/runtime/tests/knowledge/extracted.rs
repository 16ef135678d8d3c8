//! Documents at addresses, in formats that the agent or tool of `uses.extract` reads.

use crate::{Place, caller, place_with};
use ambit_knowledge::{DocumentStatus, NewCollection, NewContent, NewDocument};
use ambit_runtime::CallerReach;
use ambit_runtime::tool::ToolServer;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The most bytes that agents and tools are sent.
const LARGEST: usize = 8 << 20;
/// Says what its agent was asked.
const REPEATS: &str = "export function Next(ctx, payload) { return { data: { text: payload.messages.at(-1).content } }; }";

/// A host of one picture, until it is dropped.
struct PictureHost {
    address: String,
    task: JoinHandle<()>,
}

impl PictureHost {
    async fn start(picture: Vec<u8>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            picture.len()
        );
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut seen = Vec::new();
                while !seen.ends_with(b"\r\n\r\n") {
                    assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0);
                }
                stream.write_all(head.as_bytes()).await.unwrap();
                stream.write_all(&picture).await.unwrap();
            }
        });
        Self { address, task }
    }

    fn picture(&self) -> String {
        format!("{}/cat.png", self.address)
    }
}

impl Drop for PictureHost {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Tools that say what they were asked: one takes addresses, one data alone, and one anything.
fn tools() -> ToolServer {
    let addresses = json!({"type": "object", "properties": {"url": {"type": "string"}}});
    let data = json!({"type": "object", "properties": {"data": {"type": "string"}},
        "required": ["data"], "additionalProperties": false});
    let server = ToolServer::new("eyes");
    let tools = [
        ("by_url", addresses),
        ("by_data", data),
        ("open", json!({"type": "object"})),
    ];
    tools.into_iter().fold(server, |server, (name, schema)| {
        server.tool(name, "Reads pictures", schema, async |asked: Value, _| {
            Ok(json!({"text": asked.to_string()}))
        })
    })
}

async fn place(host: &PictureHost, extract: &str) -> Place {
    let app = json!({"name": "test", "ambit": {"capabilities": {"http": [
        {"host": host.address, "private": true, "messages": true},
    ]}}});
    let uses = format!("uses:\n  extract: {extract}\n");
    let model = r#"{"type": "scripted", "options": {"model": "m", "rules": [{"reply": "no"}]}}"#;
    let package = r#"{"name": "Reader", "connector": "m"}"#;
    let files = [
        ("app.yao", app.to_string()),
        ("agent/agent.yml", uses),
        ("connectors/m.conn.yao", model.to_owned()),
        ("assistants/reader/package.yao", package.to_owned()),
        ("assistants/reader/src/index.ts", REPEATS.to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
    place_with(&files, vec![tools()]).await
}

/// What this reader was asked for the text of the picture, or why there is none.
async fn asked(host: &PictureHost, extract: &str) -> Result<Value, String> {
    let place = place(host, extract).await;
    let ann = CallerReach::of(&caller(json!({"user_id": "ann", "tenant_id": "t"})));
    let base = place.runtime.knowledge().unwrap();
    let collection = NewCollection {
        id: "c".to_owned(),
        ..NewCollection::default()
    };
    base.create_collection(&ann, collection).await.unwrap();
    let page = NewDocument::of(NewContent::Url(host.picture()));
    let added = base.add_document(&ann, "c", page).await.unwrap();
    base.work().await.unwrap();
    let read = base.document(&ann, &added.document_id).await.unwrap();
    let text = base.document_text(&ann, &added.document_id, 0..10_000);
    let text = text.await.unwrap();
    place.runtime.close(crate::LONG).await.unwrap();
    if let Some(why) = read.error {
        return Err(why);
    }
    assert_eq!(read.status, DocumentStatus::Ready);
    Ok(serde_json::from_str(&text).unwrap())
}

#[tokio::test]
async fn a_document_at_an_address_is_sent_with_its_address() {
    let host = PictureHost::start(b"bytes".to_vec()).await;
    let url = host.picture();
    let whole = json!({"name": url, "media_type": "image/png", "data": "Ynl0ZXM=", "url": url});
    let by_url = json!({"name": url, "media_type": "image/png", "url": url});
    for (reader, expected) in [
        ("reader", &whole),
        ("mcp:eyes.open", &whole),
        ("mcp:eyes.by_url", &by_url),
        ("mcp:eyes.by_data", &json!({"data": "Ynl0ZXM="})),
    ] {
        assert_eq!(
            asked(&host, reader).await.as_ref(),
            Ok(expected),
            "{reader}"
        );
    }
}

#[tokio::test]
async fn of_a_document_that_is_too_large_to_be_sent_its_address_is() {
    let host = PictureHost::start(vec![0; LARGEST + 1]).await;
    let url = host.picture();
    let by_url = json!({"name": url, "media_type": "image/png", "url": url});
    for reader in ["reader", "mcp:eyes.by_url", "mcp:eyes.open"] {
        assert_eq!(asked(&host, reader).await.as_ref(), Ok(&by_url), "{reader}");
    }
    let why =
        "tool \"by_data\" takes `data`, and the file is too large for uses.extract to send it";
    let refused = asked(&host, "mcp:eyes.by_data").await;
    assert_eq!(refused, Err(why.to_owned()));
}
