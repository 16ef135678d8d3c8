//! `fetch` over a host call.

use crate::support::hosted;
use ambit_script::{Host, HostApi, HostCall, HostError, HostMethod, HostValue};
use futures::future::BoxFuture;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tokio::sync::Notify;

/// Answers like a small server.
#[derive(Default)]
struct Server {
    begun: Notify,
    dropped: Arc<Notify>,
}

struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Host for Server {
    fn call(&self, mut call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            match call.method.as_str() {
                "hasBegun" => {
                    self.begun.notified().await;
                    return Ok(Json::Bool(true).into());
                }
                "wasDropped" => {
                    self.dropped.notified().await;
                    return Ok(Json::Bool(true).into());
                }
                _ => {}
            }
            let request = call.arguments.remove(0);
            let reply = match request["url"].as_str().unwrap_or_default() {
                "http://a/refused" => {
                    return Err(HostError {
                        message: "host \"a\" is not allowed".to_owned(),
                        name: Some("TypeError"),
                        ..HostError::default()
                    });
                }
                "http://a/never" => {
                    let _dropped = Dropped(Arc::clone(&self.dropped));
                    self.begun.notify_one();
                    std::future::pending::<()>().await;
                    Json::Null
                }
                "http://a/bytes" => {
                    json!({"status": 200, "headers": [], "body": "AP+A", "encoding": "base64"})
                }
                "http://a/none" => {
                    json!({"status": 204, "headers": [["X-A", "1"], ["x-a", "2"]], "body": "", "encoding": "text"})
                }
                _ => {
                    json!({"status": 404, "statusText": "No", "headers": [["Content-Type", "application/json"]], "body": request.to_string(), "encoding": "text"})
                }
            };
            tokio::task::yield_now().await;
            Ok(reply.into())
        })
    }
}

async fn fetched(body: &str) -> Json {
    let surface = HostApi {
        globals: vec![
            HostMethod::promise("fetch"),
            HostMethod::promise("hasBegun"),
            HostMethod::new("wasDropped"),
        ],
        ..HostApi::default()
    };
    let text = format!("export async function Create(): Promise<any> {{ {body} }}");
    let result = hosted(surface, Server::default(), &text, vec![]).await;
    result.map_or_else(
        |error| Json::String(error.to_string()),
        |outcome| outcome.value.unwrap_or_default(),
    )
}

#[tokio::test]
async fn requests_and_responses_cross_the_border() {
    let body = "const r = await fetch('http://a/x?q', { method: 'post', body: JSON.stringify({ a: 1 }), headers: { 'X-One': ' 1 ', Accept: 'b' } });
        return [r.status, r.ok, r.statusText, r.url, r.headers.get('content-type'), await r.clone().json(), r.bodyUsed, (await r.text()).length > 5, r.bodyUsed];";
    let seen = json!({"url": "http://a/x?q", "method": "POST", "headers": [["accept", "b"], ["content-type", "text/plain;charset=UTF-8"], ["x-one", "1"]],
        "redirect": "follow", "body": "{\"a\":1}", "encoding": "text"});
    let expected = json!([
        404,
        false,
        "No",
        "http://a/x?q",
        "application/json",
        seen,
        false,
        true,
        true
    ]);
    assert_eq!(fetched(body).await, expected);
}

#[tokio::test]
async fn bodies_may_be_bytes_forms_or_nothing() {
    let body = "const sent = async (body: any) => { const q = await (await fetch('http://a/', { method: 'PUT', body })).json(); return [q.body, q.encoding, q.headers]; };
        const none = await fetch('http://a/none'), bytes = await fetch(new Request('http://a/bytes'));
        return [[...new Uint8Array(await bytes.arrayBuffer())], bytes.headers.has('content-type'), await none.text(), none.headers.get('X-A'),
            await sent(new Uint8Array([0, 255, 128])), await sent(new URLSearchParams({ a: 'b c' }))];";
    let form = json!([
        "a=b+c",
        "text",
        [[
            "content-type",
            "application/x-www-form-urlencoded;charset=UTF-8"
        ]]
    ]);
    let expected = json!([
        [0, 255, 128],
        false,
        "",
        "1, 2",
        ["AP+A", "base64", []],
        form
    ]);
    assert_eq!(fetched(body).await, expected);
}

#[tokio::test]
async fn failures_reject_and_wrong_requests_are_type_errors() {
    let body = "const seen: string[] = []; const bad = async (f: () => any) => { try { await f(); seen.push('none'); } catch (e: any) { seen.push(e.name + ': ' + e.message); } };
        await bad(() => fetch('http://a/refused')); await bad(() => fetch('nope')); await bad(() => fetch('http://a/', { body: 'x' }));
        await bad(() => new Headers({ 'a b': 'c' })); await bad(async () => { const r = Response.json({}); await r.json(); await r.json(); });
        return seen;";
    let expected = json!([
        "TypeError: host \"a\" is not allowed",
        "TypeError: Invalid URL: nope",
        "TypeError: a GET request has no body",
        "TypeError: invalid header name \"a b\"",
        "TypeError: the body has been read already",
    ]);
    assert_eq!(fetched(body).await, expected);
}

#[tokio::test]
async fn aborting_rejects_and_cancels_the_host_call() {
    let body = "const c = new AbortController(); hasBegun().then(() => c.abort());
        const seen: unknown[] = []; c.signal.addEventListener('abort', () => seen.push('heard'));
        try { await fetch('http://a/never', { signal: c.signal }); } catch (e: any) { seen.push(e.name); }
        seen.push(wasDropped());
        try { await fetch('http://a/x', { signal: AbortSignal.abort('why') }); } catch (e) { seen.push(e); }
        try { await fetch('http://a/never', { signal: AbortSignal.timeout(5) }); } catch (e: any) { seen.push(e.name); }
        return seen;";
    assert_eq!(
        fetched(body).await,
        json!(["heard", "AbortError", true, "why", "TimeoutError"])
    );
}

#[tokio::test]
async fn requests_run_side_by_side() {
    let body = "const all = await Promise.all(['a', 'b', 'c'].map(async x => (await (await fetch('http://a/' + x)).json()).url)); return all;";
    assert_eq!(
        fetched(body).await,
        json!(["http://a/a", "http://a/b", "http://a/c"])
    );
}
