//! What `fetch` in scripts calls: a request and its answer as plain values, bodies as text or base64.

use super::{HttpClient, HttpRequest, NetError, RedirectMode};
use ambit_script::HostError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Answers one call. What fails rejects the promise with a `TypeError`, as the standard has it.
pub async fn call(client: &HttpClient, request: &Value) -> Result<Value, HostError> {
    answer(client, request).await.map_err(|refusal| HostError {
        message: refusal.message,
        name: Some("TypeError"),
        ..HostError::default()
    })
}

async fn answer(client: &HttpClient, request: &Value) -> Result<Value, NetError> {
    let response = client.send(read(request)?).await?;
    let (body, encoding) = match String::from_utf8(response.body) {
        Ok(text) => (text, "text"),
        Err(error) => (STANDARD.encode(error.as_bytes()), "base64"),
    };
    Ok(json!({
        "status": response.status, "statusText": response.status_text, "headers": response.headers,
        "url": response.url, "redirected": response.redirected, "body": body, "encoding": encoding,
    }))
}

fn read(request: &Value) -> Result<HttpRequest, NetError> {
    let text = |name: &str| {
        request
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let headers = request.get("headers").and_then(Value::as_array);
    let pair = |pair: &Value| {
        let part = |index: usize| Some(pair.get(index)?.as_str()?.to_owned());
        Some((part(0)?, part(1)?))
    };
    let body = request.get("body").and_then(Value::as_str);
    let body = match text("encoding") {
        "base64" => body.map(|body| STANDARD.decode(body)).transpose(),
        _ => Ok(body.map(|body| body.as_bytes().to_vec())),
    };
    Ok(HttpRequest {
        method: text("method").to_owned(),
        url: text("url").to_owned(),
        headers: headers.into_iter().flatten().filter_map(pair).collect(),
        body: body.map_err(|_| NetError::invalid("the body is not base64"))?,
        redirect: match text("redirect") {
            "error" => RedirectMode::Error,
            "manual" => RedirectMode::Manual,
            _ => RedirectMode::Follow,
        },
    })
}
