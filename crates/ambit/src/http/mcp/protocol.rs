//! The two eras of the protocol on one path, and what a request says of itself: 2026-07-28, where each request stands for
//! itself and its headers repeat what it is about, and the versions before, which begin with a handshake.

use super::message::{RpcNotification, RpcRequest};
use super::rpc_error::{RpcError, RpcErrorKind};
use ambit_runtime::TraceContext;
use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// The version without a handshake.
pub const STATELESS: &str = "2026-07-28";
/// The versions with one, the newest first.
pub const HANDSHAKE: [&str; 2] = ["2025-11-25", "2025-06-18"];
/// The extension by which long calls become tasks.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The header with the version.
const VERSION_HEADER: &str = "mcp-protocol-version";
/// The header with the method.
const METHOD_HEADER: &str = "mcp-method";
/// The header with the name of what the method is about.
const NAME_HEADER: &str = "mcp-name";
/// The header that tells clients' calls apart.
pub const SESSION_HEADER: &str = "mcp-session-id";

/// The key of `_meta` with the version.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of `_meta` with what the client can do.
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// What a method is about, by the parameter that the header repeats.
const NAMES: [(&str, &str); 5] = [
    ("tools/call", "name"),
    ("resources/read", "uri"),
    ("tasks/get", "taskId"),
    ("tasks/cancel", "taskId"),
    ("tasks/update", "taskId"),
];

/// An era of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolEra {
    /// 2026-07-28.
    Stateless,
    /// The versions before.
    Handshake,
}

/// A request whose headers and body say the same.
pub struct ProtocolRequest {
    /// Its era.
    pub era: ProtocolEra,
    /// By which the client knows the answer.
    pub id: Value,
    /// What is asked for.
    pub method: String,
    /// With what.
    pub params: Map<String, Value>,
    /// By what the client knows the progress of the call.
    pub progress_token: Option<Value>,
    /// The client knows tasks.
    pub knows_tasks: bool,
    /// What tells the client's calls apart, in the era that has it.
    pub session: String,
}

impl ProtocolRequest {
    /// Checks what a request says of itself.
    pub fn of(headers: &HeaderMap, request: RpcRequest) -> Result<Self, RpcError> {
        let meta = request.params.get("_meta").and_then(Value::as_object);
        let meta = meta.cloned().unwrap_or_default();
        let capabilities = meta.get(CAPABILITIES_KEY);
        if meta.contains_key(VERSION_KEY) && !capabilities.is_some_and(Value::is_object) {
            return Err(missing_meta(CAPABILITIES_KEY, "must be an object"));
        }
        let era = era(headers, &request.method, &request.params)?;
        let token = meta.get("progressToken");
        let extensions = capabilities.and_then(|capabilities| capabilities.get("extensions"));
        let session = headers.get(SESSION_HEADER);
        let session = session.and_then(|session| session.to_str().ok());
        Ok(Self {
            era,
            id: request.id,
            method: request.method,
            progress_token: token.filter(|it| it.is_string() || it.is_number()).cloned(),
            knows_tasks: era == ProtocolEra::Stateless
                && extensions.is_some_and(|known| known.get(TASKS).is_some()),
            session: session.unwrap_or_default().to_owned(),
            params: request.params,
        })
    }

    /// The trace that the request is part of, as its `_meta` says.
    pub fn trace_context(&self) -> Option<TraceContext> {
        let meta = self.params.get("_meta")?;
        let text = |name: &str| meta.get(name).and_then(Value::as_str);
        TraceContext::read(text("traceparent")?, text("tracestate"))
    }

    /// A text among the parameters.
    pub fn text(&self, name: &str) -> Result<&str, RpcError> {
        let text = self.params.get(name).and_then(Value::as_str);
        text.ok_or_else(|| {
            let message = format!("params.{name} must be a string");
            RpcError::new(RpcErrorKind::InvalidParams, message)
        })
    }
}

/// The era of a notification that does not contradict itself. Without a handshake its header alone may say the version.
pub fn notification_era(
    headers: &HeaderMap,
    notification: &RpcNotification,
) -> Result<ProtocolEra, RpcError> {
    let RpcNotification { method, params } = notification;
    let is_stateless = header(headers, VERSION_HEADER)? == Some(STATELESS);
    if is_stateless && version(params).is_none() {
        check(METHOD_HEADER, header(headers, METHOD_HEADER)?, method)?;
        return Ok(ProtocolEra::Stateless);
    }
    era(headers, method, params)
}

/// The version that the body of a message says.
fn version(params: &Map<String, Value>) -> Option<&Value> {
    params.get("_meta")?.get(VERSION_KEY)
}

/// The era of a message that does not contradict itself.
fn era(
    headers: &HeaderMap,
    method: &str,
    params: &Map<String, Value>,
) -> Result<ProtocolEra, RpcError> {
    let told = header(headers, VERSION_HEADER)?;
    let Some(version) = version(params) else {
        return handshake_era(headers, method, params);
    };
    let Some(version) = version.as_str() else {
        return Err(missing_meta(VERSION_KEY, "must be a string"));
    };
    check(VERSION_HEADER, told, version)?;
    check(METHOD_HEADER, header(headers, METHOD_HEADER)?, method)?;
    if let Some(name) = name(method, params) {
        let told = header(headers, NAME_HEADER)?.and_then(decoded);
        check(NAME_HEADER, told.as_deref(), name)?;
    }
    match version == STATELESS {
        true => Ok(ProtocolEra::Stateless),
        false => Err(unsupported(version)),
    }
}

/// The era before, whose messages need not say anything of themselves; what their headers say must be so.
fn handshake_era(
    headers: &HeaderMap,
    method: &str,
    params: &Map<String, Value>,
) -> Result<ProtocolEra, RpcError> {
    let told = header(headers, VERSION_HEADER)?;
    if told == Some(STATELESS) || method == "server/discover" {
        return Err(missing_meta(VERSION_KEY, "is required"));
    }
    if let Some(named) = header(headers, METHOD_HEADER)? {
        check(METHOD_HEADER, Some(named), method)?;
    }
    if let (Some(told), Some(name)) = (header(headers, NAME_HEADER)?, name(method, params)) {
        check(NAME_HEADER, decoded(told).as_deref(), name)?;
    }
    match told {
        // It is what begins with the version that the client would like.
        _ if method == "initialize" => Ok(ProtocolEra::Handshake),
        Some(version) if !HANDSHAKE.contains(&version) => {
            let known = versions().join(", ");
            let message =
                format!("the version \"{version}\" is not spoken here; known are {known}");
            Err(RpcError::new(RpcErrorKind::InvalidRequest, message))
        }
        Some(_) | None => Ok(ProtocolEra::Handshake),
    }
}

/// The versions of both eras, the newest first.
pub fn versions() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(HANDSHAKE).collect()
}

/// What a message is about, where its method says so by name.
fn name<'a>(method: &str, params: &'a Map<String, Value>) -> Option<&'a str> {
    let (_, key) = NAMES.iter().find(|(known, _)| *known == method)?;
    params.get(*key)?.as_str()
}

/// A header that is given at most once: of two, readers would take different ones.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let mut all = headers.get_all(name).iter();
    let first = all.next();
    if all.next().is_some() {
        return Err(mismatch(format!("the header {name} is given twice")));
    }
    let text = first.map(|value| value.to_str()).transpose();
    text.map_err(|_| mismatch(format!("the header {name} is no text")))
}

fn check(name: &str, told: Option<&str>, expected: &str) -> Result<(), RpcError> {
    match told {
        Some(told) if told == expected => Ok(()),
        Some(_) => Err(mismatch(format!(
            "the header {name} says something else than the body"
        ))),
        None => Err(mismatch(format!(
            "the header {name} is missing or cannot be read; it repeats what the body says"
        ))),
    }
}

/// A value that no header could hold as it is stands there as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    let coded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    let Some(coded) = coded else {
        return Some(value.to_owned());
    };
    String::from_utf8(STANDARD.decode(coded).ok()?).ok()
}

fn mismatch(message: String) -> RpcError {
    RpcError::new(RpcErrorKind::HeaderMismatch, message)
}

fn missing_meta(key: &str, rule: &str) -> RpcError {
    let message = format!("params._meta[\"{key}\"] {rule}");
    RpcError::new(RpcErrorKind::InvalidMeta, message)
}

fn unsupported(version: &str) -> RpcError {
    let message = "the version of the protocol is not spoken here";
    RpcError::new(RpcErrorKind::UnsupportedVersion, message)
        .with_data(json!({"supported": versions(), "requested": version}))
}

#[cfg(test)]
mod tests {
    use super::{ProtocolEra, ProtocolRequest};
    use crate::http::mcp::message::RpcRequest;
    use crate::http::mcp::rpc_error::RpcErrorKind;
    use axum::http::{HeaderMap, HeaderName, HeaderValue};
    use serde_json::{Value, json};

    fn judge(
        method: &str,
        params: &Value,
        headers: &[(&'static str, &'static str)],
    ) -> Result<ProtocolEra, RpcErrorKind> {
        let request = RpcRequest {
            id: json!(1),
            method: method.to_owned(),
            params: params.as_object().cloned().unwrap(),
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        let read = ProtocolRequest::of(&map, request);
        read.map(|read| read.era).map_err(|error| error.kind)
    }

    fn call(version: &str, name: &str) -> Value {
        json!({"name": name, "_meta": {"io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {}}})
    }

    const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
    const METHOD: (&str, &str) = ("mcp-method", "tools/call");
    const NAME: (&str, &str) = ("mcp-name", "x");

    #[test]
    fn g172_a_header_that_contradicts_the_body_is_refused() {
        let mismatch = Err(RpcErrorKind::HeaderMismatch);
        let good = call("2026-07-28", "x");
        for (params, headers, expected) in [
            (
                &good,
                vec![VERSION, METHOD, NAME],
                Ok(ProtocolEra::Stateless),
            ),
            (&good, vec![METHOD, NAME], mismatch),
            (&good, vec![VERSION, NAME], mismatch),
            (&good, vec![VERSION, METHOD], mismatch),
            (&good, vec![VERSION, METHOD, ("mcp-name", "X")], mismatch),
            (&good, vec![VERSION, METHOD, NAME, NAME], mismatch),
            (
                &good,
                vec![VERSION, ("mcp-method", "TOOLS/CALL"), NAME],
                mismatch,
            ),
            (
                &call("2026-07-28", "ö"),
                vec![VERSION, METHOD, ("mcp-name", "=?base64?w7Y=?=")],
                Ok(ProtocolEra::Stateless),
            ),
            (
                &call("2026-07-28", "ö"),
                vec![VERSION, METHOD, ("mcp-name", "=?base64?w7Y?=")],
                mismatch,
            ),
            (
                &call("2030-01-01", "x"),
                vec![("mcp-protocol-version", "2030-01-01"), METHOD, NAME],
                Err(RpcErrorKind::UnsupportedVersion),
            ),
            (
                &json!({"name": "x"}),
                vec![METHOD, ("mcp-name", "y")],
                mismatch,
            ),
            (
                &json!({"name": "x"}),
                vec![("mcp-method", "tools/list")],
                mismatch,
            ),
        ] {
            let judged = judge("tools/call", params, &headers);
            assert_eq!(judged, expected, "{params} {headers:?}");
        }
    }

    #[test]
    fn a_request_without_a_version_is_of_the_era_before() {
        let (none, handshake) = (json!({}), Ok(ProtocolEra::Handshake));
        assert_eq!(judge("tools/list", &none, &[]), handshake);
        let older = [("mcp-protocol-version", "2025-06-18")];
        assert_eq!(judge("tools/list", &none, &older), handshake);
        let unknown = [("mcp-protocol-version", "2024-11-05")];
        let refused = Err(RpcErrorKind::InvalidRequest);
        assert_eq!(judge("tools/list", &none, &unknown), refused);
        assert_eq!(judge("initialize", &none, &unknown), handshake);
        let incomplete = Err(RpcErrorKind::InvalidMeta);
        assert_eq!(judge("tools/list", &none, &[VERSION]), incomplete);
        assert_eq!(judge("server/discover", &none, &[]), incomplete);
    }
}
