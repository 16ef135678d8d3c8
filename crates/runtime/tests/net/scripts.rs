//! `http` and `fetch` as scripts use them.

use crate::server::{After, Server, client, reply};
use ambit_runtime::net::{HttpClient, fetch, http};
use ambit_script::{
    Engine, EngineSettings, Host, HostApi, HostCall, HostError, HostMethod, HostValue,
    ProgramSource, RunLimits, ScriptRun,
};
use futures::future::BoxFuture;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Answers `http` and `fetch` and nothing else.
struct Web(HttpClient);

impl Host for Web {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            let answer = match call.method.as_str() {
                "fetch" => fetch::call(&self.0, &call.arguments[0]).await,
                method => http::call(&self.0, method, &call.arguments, &call.callbacks).await,
            };
            answer.map(HostValue::Json)
        })
    }
}

async fn ran(server: &Server, body: &str) -> Json {
    let functions = [
        "Get", "Post", "Put", "Patch", "Delete", "Head", "Send", "Stream",
    ];
    let functions = functions.map(|name| HostMethod::new(&format!("http.{name}")));
    let surface = HostApi {
        globals: functions
            .into_iter()
            .chain([HostMethod::promise("fetch")])
            .collect(),
        ..HostApi::default()
    };
    let engine = Engine::new(&EngineSettings::default(), surface).unwrap();
    let file = "index.ts".to_owned();
    let text = format!("export async function Create(url: string): Promise<any> {{ {body} }}");
    let files = BTreeMap::from([(file.clone(), text)]);
    let folder = String::new();
    let run = ScriptRun {
        program: engine
            .load(&files, &ProgramSource { file, folder })
            .unwrap(),
        function: "Create".to_owned(),
        arguments: vec![json!(server.url("a.test", "")).into()],
        host: Arc::new(Web(client(&[server.private("a.test")]))),
        limits: RunLimits::default(),
        within: None,
    };
    engine.run(run).await.unwrap().value.unwrap_or_default()
}

async fn shop() -> Server {
    Server::start(|target| {
        let answer = match target.split('?').next().unwrap() {
            "/json" => reply(
                "201 Created",
                "content-type: application/json; charset=utf-8\r\nx-a: 1\r\nx-a: 2\r\n",
                "{\"a\":[1]}",
            ),
            "/missing" => reply("404 Not Found", "content-type: text/plain\r\n", "no"),
            "/lines" => reply("200 OK", "", "one\r\ntwo\nthree"),
            _ => reply("200 OK", "", ""),
        };
        (answer, After::Close)
    })
    .await
}

#[tokio::test]
async fn http_answers_have_a_status_a_code_data_headers_and_a_message() {
    let server = shop().await;
    let body = "const all = [http.Get(url + '/json'), http.Get(url + '/missing'), http.Get(url + '/none')];
        for (const one of all) { delete one.headers['Content-Length']; delete one.headers.Connection; } return all;";
    let expected = json!([
        {"status": 201, "code": 201, "data": {"a": [1]}, "headers": {"Content-Type": ["application/json; charset=utf-8"], "X-A": ["1", "2"]}, "message": ""},
        {"status": 404, "code": 404, "data": "no", "headers": {"Content-Type": ["text/plain"]}, "message": "Not Found"},
        {"status": 200, "code": 200, "data": null, "headers": {}, "message": ""},
    ]);
    assert_eq!(ran(&server, body).await, expected);
}

#[tokio::test]
async fn g121_http_never_throws_for_a_request_that_fails() {
    let server = shop().await;
    let body = "return [http.Get('https://other.test/'), http.Post('nope', {}), http.Get('http://169.254.169.254/latest/meta-data')]";
    let denied = |host: &str| json!({"status": 0, "code": 403, "data": null, "headers": {}, "message": format!("host \"{host}\" is not allowed")});
    let wrong = json!({"status": 0, "code": 0, "data": null, "headers": {}, "message": "the URL is not one of http or https"});
    assert_eq!(
        ran(&server, body).await,
        json!([denied("other.test"), wrong, denied("169.254.169.254")])
    );
}

#[tokio::test]
async fn http_sends_queries_headers_and_payloads() {
    let server = shop().await;
    let body = "http.Get(url + '/q?a=1', { b: [2, 'x y'], c: null }, { 'X-One': 'h' });
        http.Post(url + '/p', { n: 1 }); http.Put(url + '/t', 'plain', { q: 1 }); http.Patch(url + '/f', { a: 'b c' }, null, { 'Content-Type': 'application/x-www-form-urlencoded' });
        http.Send('delete', url + '/d', null, '?z=1'); http.Head(url + '/h'); try { (http as any).Get(); } catch (e: any) { return [e.code, e.message]; }";
    let thrown = json!(["invalid_argument", "Get requires a url argument"]);
    assert_eq!(ran(&server, body).await, thrown);
    let sent: Vec<_> = server
        .seen()
        .into_iter()
        .map(|seen| {
            let own = seen
                .headers
                .into_iter()
                .filter(|(name, _)| name != "accept");
            (seen.line, own.collect::<Vec<_>>(), seen.body)
        })
        .collect();
    let row = |line: &str, header: Option<(&str, &str)>, body: &str| {
        let header = header.map(|(name, value)| (name.to_owned(), value.to_owned()));
        (
            line.to_owned(),
            header.into_iter().collect::<Vec<_>>(),
            body.to_owned(),
        )
    };
    let kind = |value| Some(("content-type", value));
    let expected = [
        row("GET /q?a=1&b=2&b=x+y", Some(("x-one", "h")), ""),
        row("POST /p", kind("application/json"), "{\"n\":1}"),
        row("PUT /t?q=1", kind("text/plain;charset=UTF-8"), "plain"),
        row(
            "PATCH /f",
            kind("application/x-www-form-urlencoded"),
            "a=b+c",
        ),
        row("DELETE /d?z=1", None, ""),
        row("HEAD /h", None, ""),
    ];
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn http_sends_files_as_forms_do() {
    let server = shop().await;
    let body = "const sent = http.Post(url + '/f', { a: 'b' }, [{ name: 'doc', filename: 'd\"1.txt', type: 'text/plain', data: 'aGk=' }]);
        return [sent.status, http.Post(url + '/f', null, [{ name: 'doc', path: '/etc/passwd' }]).message];";
    let refused = "file \"doc\" has no data; files take base64 data, no paths";
    assert_eq!(ran(&server, body).await, json!([200, refused]));
    let seen = &server.seen()[0];
    let kind = &seen
        .headers
        .iter()
        .find(|(name, _)| name == "content-type")
        .unwrap()
        .1;
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"doc\"; \
         filename=\"d%221.txt\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--{boundary}--\r\n"
    );
    assert_eq!(seen.body, expected);
}

#[tokio::test]
async fn http_stream_gives_lines_until_it_is_told_to_stop() {
    let server = shop().await;
    let body = "const all: string[] = [], some: string[] = [];
        const end = http.Stream('GET', url + '/lines', (line: string) => { all.push(line); return 1; });
        http.Stream('GET', url + '/lines', (line: string) => { some.push(line); return 0; });
        try { http.Stream('GET', url + '/lines', () => { throw new TypeError('mine'); }); } catch (e: any) { return [all, some, end.status, e.name, e.message]; }";
    let expected = json!([["one", "two", "three"], ["one"], 200, "TypeError", "mine"]);
    assert_eq!(ran(&server, body).await, expected);
}

#[tokio::test]
async fn g121_fetch_rejects_what_is_not_allowed_and_reads_what_is() {
    let server = shop().await;
    let body = "const seen: unknown[] = [];
        try { await fetch('https://other.test/'); } catch (e: any) { seen.push(e instanceof TypeError, e.message); }
        const one = await fetch(url + '/json', { method: 'POST', body: new Uint8Array([104, 105]), headers: { 'X-One': 'h' } });
        seen.push(one.status, one.ok, one.statusText, one.url === url + '/json', one.headers.get('x-a'), await one.json());
        return seen;";
    let expected = json!([true, "host \"other.test\" is not allowed", 201, true, "Created", true, "1, 2", {"a": [1]}]);
    assert_eq!(ran(&server, body).await, expected);
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.line.as_str(), seen.body.as_str()),
        ("POST /json", "hi")
    );
}
