//! What `fetch` in scripts calls: a request and its answer as plain values, bodies as text or base64.

use super::{Client, Redirect, Refusal, Request};
use ambit_script::HostError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Answers one call. What fails rejects the promise with a `TypeError`, as the standard has it.
pub async fn call(client: &Client, request: &Value) -> Result<Value, HostError> {
    answer(client, request).await.map_err(|refusal| HostError {
        message: refusal.message,
        name: Some("TypeError"),
        ..HostError::default()
    })
}

async fn answer(client: &Client, request: &Value) -> Result<Value, Refusal> {
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

fn read(request: &Value) -> Result<Request, Refusal> {
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
    Ok(Request {
        method: text("method").to_owned(),
        url: text("url").to_owned(),
        headers: headers.into_iter().flatten().filter_map(pair).collect(),
        body: body.map_err(|_| Refusal::invalid("the body is not base64"))?,
        redirect: match text("redirect") {
            "error" => Redirect::Error,
            "manual" => Redirect::Manual,
            _ => Redirect::Follow,
        },
    })
}
