//! A tool that is a function of this program: the model calls it, and its answer uses what it gave.
//!
//! `cargo run -p ambit --example tool`

use ambit::{Ambit, Error, Result, ToolServer};
use serde_json::json;

/// An agent names the servers of its tools. The scripted model calls the tool, and repeats what it gave.
const SHOP: [(&str, &str); 3] = [
    ("app.yao", "{}"),
    (
        "assistants/shop/package.yao",
        r#"{ "name": "Shop", "connector": "scripted", "mcp": { "servers": ["stock"] } }"#,
    ),
    (
        "connectors/scripted.conn.yao",
        r#"{
            "type": "scripted",
            "options": { "rules": [
                { "match": { "has_tool_result": true }, "reply": "The stock says: {{last_tool_result}}" },
                { "tool_calls": [{ "name": "stock__count", "arguments": { "article": "lamp" } }] }
            ] }
        }"#,
    ),
];

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<()> {
    let article = json!({
        "type": "object",
        "properties": { "article": { "type": "string" } },
        "required": ["article"]
    });
    // The arguments fit the schema when the function is called. An error is told to the model.
    let stock = ToolServer::new("stock").tool(
        "count",
        "How many of an article there are",
        article,
        async |arguments, _caller| match arguments["article"].as_str() {
            Some("lamp") => Ok(json!({ "article": "lamp", "count": 7 })),
            other => Err(Error::not_found("article", other.unwrap_or_default())),
        },
    );

    let ambit = Ambit::builder(SHOP).tools(stock).open().await?;
    let response = ambit
        .agent("shop")?
        .for_user("ann")
        .respond("How many lamps are there?")
        .await?;
    println!("{response}");
    assert_eq!(
        response.text,
        r#"The stock says: {"article":"lamp","count":7}"#
    );
    ambit.close().await
}
