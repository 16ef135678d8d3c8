//! What every provider keeps, over its own server.

use crate::server::{Reply, Server};
use crate::support::{answer, asking, open};
use serde_json::json;

#[tokio::test]
async fn openai_text() {
    let server = Server::start(vec![Reply::stream(include_str!(
        "recorded/openai/text.sse"
    ))])
    .await;
    let model = open("openai", json!({"host": server.address, "model": "m"}));
    let said = answer(&*model, &asking("hi")).await;
    assert_eq!(said.text, "Grüße 👋🏽 世界");
    assert_eq!(server.only().path, "/v1/chat/completions");
}
