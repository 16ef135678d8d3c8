//! `http` and `fetch`: requests of scripts, to the hosts that the app lists and the agent leaves.

use crate::ctx::{ScriptCall, ScriptMethod, rows};
use crate::net::{fetch, http};
use ambit_script::{HostError, HostValue};
use serde_json::Value;

/// The functions.
pub const WEB: &[ScriptMethod] = rows! {
    "http.Get(url: string, query?: any, headers?: any): HttpResponse", None, send:
        "Sends a request. A request that fails is an answer with `status` 0 and a `message`; `code` 403 where the host is not allowed.",
    "http.Post(url: string, payload?: any, files?: any, query?: any, headers?: any): HttpResponse", None, send:
        "Sends a request. Each of `files` is `{name, filename?, type?, data}` with `data` in base64.",
    "http.Put(url: string, payload?: any, query?: any, headers?: any): HttpResponse", None, send: "Sends a request.",
    "http.Patch(url: string, payload?: any, query?: any, headers?: any): HttpResponse", None, send: "Sends a request.",
    "http.Delete(url: string, payload?: any, query?: any, headers?: any): HttpResponse", None, send: "Sends a request.",
    "http.Head(url: string, payload?: any, query?: any, headers?: any): HttpResponse", None, send: "Sends a request.",
    "http.Send(method: string, url: string, payload?: any, query?: any, headers?: any, files?: any): HttpResponse", None, send:
        "Sends a request of any method.",
    "http.Stream(method: string, url: string, callback: (line: string) => any, payload?: any, query?: any, headers?: any): HttpResponse", None, send:
        "Sends a request and gives each line of the answer to a function, until it returns `false`, 0 or less.",
    "fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>", None, fetched:
        "The standard's `fetch`. It rejects with a `TypeError` where the host is not allowed.",
};

async fn send(call: &ScriptCall<'_>) -> Result<HostValue, HostError> {
    let client = call.run.http();
    let name = call.method.name();
    let answer = http::call(client, name, &call.arguments, &call.callbacks).await?;
    Ok(HostValue::Json(answer))
}

async fn fetched(call: &ScriptCall<'_>) -> Result<HostValue, HostError> {
    let request = call.arguments.first().unwrap_or(&Value::Null);
    fetch::call(call.run.http(), request)
        .await
        .map(HostValue::Json)
}
