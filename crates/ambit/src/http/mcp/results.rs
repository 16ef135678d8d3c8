//! What every result says besides: in 2026-07-28 of what kind it is, who gives it, and how long it may be kept.

use super::protocol::{ProtocolEra, TASKS, versions};
use ambit_runtime::app::App;
use serde_json::{Map, Value, json};

/// How long a client may keep a list.
const TTL_MS: u64 = 60_000;
/// The key of `_meta` with who gives a result.
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// A result that is whole.
pub fn complete(era: ProtocolEra, mut result: Map<String, Value>) -> Value {
    if era == ProtocolEra::Stateless {
        let kind = "resultType".to_owned();
        result.entry(kind).or_insert_with(|| "complete".into());
        let meta = json!({SERVER_KEY: server_info()});
        result.insert("_meta".to_owned(), meta);
    }
    result.into()
}

/// A result that a client may keep for a while, for its caller alone.
pub fn cacheable(era: ProtocolEra, mut result: Map<String, Value>) -> Value {
    if era == ProtocolEra::Stateless {
        result.insert("ttlMs".to_owned(), TTL_MS.into());
        result.insert("cacheScope".to_owned(), "private".into());
    }
    complete(era, result)
}

/// One field.
pub fn field(name: &str, value: impl Into<Value>) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value.into())])
}

/// A part of a list, and where the next part begins.
pub fn page(name: &str, items: Vec<Value>, next: Option<String>) -> Map<String, Value> {
    let mut result = field(name, items);
    result.extend(next.map(|cursor| ("nextCursor".to_owned(), cursor.into())));
    result
}

/// What `server/discover` tells.
pub fn discovered(app: &App) -> Map<String, Value> {
    let capabilities = json!({"tools": {}, "resources": {}, "extensions": {TASKS: {}}});
    let mut result = field("supportedVersions", versions());
    result.insert("capabilities".to_owned(), capabilities);
    result.extend(instructions(app));
    result
}

/// What `initialize` tells.
pub fn initialized(app: &App, version: &str) -> Map<String, Value> {
    let mut result = field("protocolVersion", version);
    let capabilities = json!({"tools": {}, "resources": {}});
    result.insert("capabilities".to_owned(), capabilities);
    result.insert("serverInfo".to_owned(), server_info());
    result.extend(instructions(app));
    result
}

fn server_info() -> Value {
    json!({"name": "ambit", "version": env!("CARGO_PKG_VERSION")})
}

fn instructions(app: &App) -> Option<(String, Value)> {
    let told = app.settings.mcp_server.instructions.clone()?;
    Some(("instructions".to_owned(), told.into()))
}
