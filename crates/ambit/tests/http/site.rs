//! A server in this process, over an app made for the test.

#[path = "openapi.rs"]
mod openapi;

use ambit::auth::{AuthConfig, Authenticator};
use ambit::http::{self, HttpSettings, ServerState};
use ambit_runtime::app::App;
use ambit_runtime::{Runtime, RuntimeSettings};
use ambit_storage::Stores;
use ambit_storage::driver::{Driver, DriverOptions};
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Once};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// An app whose agent `hello` everybody may use.
pub const HELLO: &[(&str, &str)] = &[
    ("app.yao", r#"{"name": "Tests"}"#),
    (
        "assistants/hello/package.yao",
        r#"{"name": "Hello", "public": true, "connector": "script"}"#,
    ),
    (
        "assistants/hello/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    (
        "connectors/script.conn.yao",
        r#"{
            "label": "Script",
            "type": "scripted",
            "options": {
                "model": "script",
                "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
                "rules": [
                    {"match": {"last_user": "^go on slowly"}, "reply": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", "delay": "150ms"},
                    {"match": {"last_user": "^go on"}, "reply": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", "delay": "30ms"},
                    {"match": {"last_user": "^never ends"}, "reply": "0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9", "delay": "1s"},
                    {"match": {"last_user": "^refuse"}, "error": {"status": 400, "message": "no such model"}}
                ]
            }
        }"#,
    ),
];

/// Whose tokens count: an issuer with a shared secret, and API keys.
pub const TOKENS: (&str, &str) = (
    "openapi/openapi.yao",
    r#"{"auth": {"api_keys": true, "issuers": [{"issuer": "https://id.test", "audience": "ambit", "secret": "not a secret, being in a test"}]}}"#,
);

/// A server that runs until it is dropped.
pub struct Site {
    pub url: String,
    pub store: Arc<dyn Driver>,
    pub client: Client,
    pub stores: Arc<Stores>,
    pub runtime: Runtime,
    folder: Arc<TempDir>,
    _stop: oneshot::Sender<()>,
}

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Site {
    /// The app of `HELLO`, whose developer everybody is.
    pub async fn development() -> Self {
        Self::of(&[]).await
    }

    /// The app of `HELLO` with these files too, or instead.
    pub async fn of(files: &[(&str, &str)]) -> Self {
        Self::set(files, |_| {}).await
    }

    /// The same with other settings.
    pub async fn set(files: &[(&str, &str)], set: impl FnOnce(&mut HttpSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in HELLO.iter().chain(files) {
            write(&folder.path().join(name), text);
        }
        let stores = Stores::builder(DriverOptions::default()).build().unwrap();
        Self::over(Arc::new(stores), Arc::new(folder), set).await
    }

    /// Another node of the same installation.
    pub async fn beside(&self) -> Self {
        Self::over(self.stores.clone(), self.folder.clone(), |_| {}).await
    }

    /// The same on all addresses of the machine.
    pub async fn everywhere(&self) -> Self {
        let everywhere = "0.0.0.0:0";
        Self::listening(self.stores.clone(), self.folder.clone(), everywhere, |_| {}).await
    }

    /// A server over these stores and the app in this folder.
    pub async fn over(
        stores: Arc<Stores>,
        folder: Arc<TempDir>,
        set: impl FnOnce(&mut HttpSettings),
    ) -> Self {
        Self::listening(stores, folder, "127.0.0.1:0", set).await
    }

    async fn listening(
        stores: Arc<Stores>,
        folder: Arc<TempDir>,
        address: &str,
        set: impl FnOnce(&mut HttpSettings),
    ) -> Self {
        let app = App::load(folder.path(), &BTreeMap::new()).unwrap();
        let config = AuthConfig::of(&app).unwrap_or_else(|problem| panic!("{problem}"));
        let store = stores.index().unwrap().driver().clone();
        let is_development = config.development.is_some();
        let runtime = Runtime::open(RuntimeSettings {
            is_development,
            ..RuntimeSettings::new(folder.path(), stores.clone())
        });
        let mut settings = HttpSettings {
            base: config.base.clone(),
            is_development,
            // A busy machine must not turn a status into an event.
            status_wait: Duration::from_secs(120),
            ..HttpSettings::default()
        };
        set(&mut settings);
        let runtime = runtime.await.unwrap();
        let server = ServerState {
            runtime: runtime.clone(),
            auth: Authenticator::new(config, &store),
            store: store.clone(),
            settings,
        };
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(http::serve(listener, Arc::new(server), async {
            drop(stopped.await);
        }));
        Self {
            url,
            store,
            client: client(),
            stores,
            runtime,
            folder,
            _stop: stop,
        }
    }

    /// Where the app is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        Answer::of(self.request(Method::POST, path).json(body)).await
    }

    /// The stream that answers this body of a chat request.
    pub async fn stream(&self, body: &Value) -> Stream {
        let request = self.request(Method::POST, "/v1/chat/completions");
        Stream::of(request.json(body)).await
    }

    /// The stream of a turn behind an entry.
    pub async fn resume(&self, request_id: &str, after: u64) -> Stream {
        let path = format!("/v1/chat/requests/{request_id}/stream?accept=cui-web");
        let request = self.request(Method::GET, &path);
        Stream::of(request.header("last-event-id", after)).await
    }

    /// Lets a day pass, so that the stream of a turn that has ended is no longer kept.
    pub async fn outlive_stream(&self, request_id: &str) {
        let day = Duration::from_secs(24 * 3_600);
        self.stores.options().clock.advance(day);
        let path = format!("/v1/chat/requests/{request_id}/stream");
        loop {
            // Readers are refused also before it is dropped.
            self.runtime.drop_expired().await;
            if self.get(&path).await.status == 410 {
                return;
            }
        }
    }

    /// Fails if a chat or a turn is there, or has ended here.
    pub async fn check_untouched(&self) {
        for (path, list) in [
            ("/v1/chat/sessions", "data"),
            ("/v1/chat/sessions?source=responses", "data"),
            ("/v1/chat/requests", "items"),
        ] {
            let listed = self.get(path).await.json();
            assert_eq!(listed[list].as_array().map(Vec::len), Some(0), "{listed}");
        }
        // Of turns that store nothing only this is left.
        let metrics = self.get("/metrics").await.text;
        assert!(!metrics.contains("ambit_turns_total{"), "{metrics}");
    }

    /// What the server says to this body of a chat request.
    pub async fn chat(&self, body: impl Into<reqwest::Body>) -> Answer {
        let request = self.request(Method::POST, "/v1/chat/completions");
        Answer::of(request.body(body)).await
    }
}

impl Answer {
    pub async fn of(request: RequestBuilder) -> Self {
        let (method, response) = send(request).await;
        let path = response.url().path().to_owned();
        let mut answer = Self::beginning(&response);
        answer.text = response.text().await.unwrap();
        openapi::check(&method, &path, &answer);
        answer
    }

    /// What is known of an answer before its body.
    fn beginning(response: &Response) -> Self {
        Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: String::new(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Status, code and parameter of a failure.
    pub fn failure(&self) -> (u16, String, Option<String>) {
        let error = self.json()["error"].take();
        let text = |name: &str| error[name].as_str().map(str::to_owned);
        (self.status, text("code").unwrap_or_default(), text("param"))
    }
}

/// Sends a request; returns its method beside what answers it.
async fn send(request: RequestBuilder) -> (Method, Response) {
    let (client, request) = request.build_split();
    let request = request.unwrap();
    let method = request.method().clone();
    (method, client.execute(request).await.unwrap())
}

pub fn client() -> Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Client::builder().build().unwrap()
}

pub fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Server-sent events, as they come.
pub struct Stream {
    pub response: Response,
    method: Method,
    text: String,
    /// The beginning of a letter.
    letter: Vec<u8>,
    /// Comments that came so far.
    pub comments: Vec<String>,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: Option<u64>,
    /// Of protocols that name their events.
    pub name: Option<String>,
    pub data: Value,
}

impl Stream {
    pub async fn of(request: RequestBuilder) -> Self {
        let (method, response) = send(request).await;
        let status = response.status().as_u16();
        assert_eq!(status, 200, "{}", response.text().await.unwrap());
        let path = response.url().path();
        openapi::check(&method, path, &Answer::beginning(&response));
        Self {
            response,
            method,
            text: String::new(),
            letter: Vec::new(),
            comments: Vec::new(),
        }
    }

    pub fn request_id(&self) -> String {
        let id = self.response.headers().get("x-ambit-request").unwrap();
        id.to_str().unwrap().to_owned()
    }

    /// The next event; none at the end. An error is a stream that broke off.
    pub async fn next(&mut self) -> reqwest::Result<Option<Event>> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let frame = frame.to_owned();
                self.text = rest.to_owned();
                if let Some(event) = self.read(&frame) {
                    return Ok(Some(event));
                }
                continue;
            }
            match self.response.chunk().await? {
                Some(bytes) => self.take(&bytes),
                None => {
                    assert_eq!(self.text, "");
                    return Ok(None);
                }
            }
        }
    }

    /// Takes what came, which may end within a letter.
    fn take(&mut self, bytes: &[u8]) {
        self.letter.extend_from_slice(bytes);
        let whole = self.letter.utf8_chunks().next();
        let whole = whole.map_or(0, |chunk| chunk.valid().len());
        let letters = self.letter.drain(..whole).collect();
        self.text += &String::from_utf8(letters).unwrap();
    }

    fn read(&mut self, frame: &str) -> Option<Event> {
        let mut answer = Answer::beginning(&self.response);
        frame.clone_into(&mut answer.text);
        openapi::check(&self.method, self.response.url().path(), &answer);
        let (mut id, mut name, mut data) = (None, None, None);
        for line in frame.lines() {
            match line.split_once(": ").unwrap() {
                ("event", text) => name = Some(text.to_owned()),
                ("id", number) => id = Some(number.parse().unwrap()),
                ("data", text) => {
                    data = Some(serde_json::from_str(text).unwrap_or_else(|_| text.into()));
                }
                ("", comment) => self.comments.push(comment.to_owned()),
                other => panic!("{other:?}"),
            }
        }
        data.map(|data| Event { id, name, data })
    }

    /// All events from here to the end.
    pub async fn rest(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await.unwrap() {
            events.push(event);
        }
        events
    }

    /// Events up to the first for which this holds.
    pub async fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let Some(event) = self.next().await.unwrap() else {
                panic!("the stream ended before");
            };
            let is_it = holds(&event.data);
            events.push(event);
            if is_it {
                return events;
            }
        }
    }
}
