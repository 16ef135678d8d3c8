//! A server in this process, over an app made for the test.

use ambit::auth::{Authenticator, Config};
use ambit::http::{self, Measures, Server, Settings};
use ambit_runtime::app::App;
use ambit_runtime::tool::NoTools;
use ambit_runtime::{Runtime, runtime};
use ambit_storage::Stores;
use ambit_storage::driver::{Driver, Options};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Once};
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
        "connectors/script.conn.yao",
        r#"{"label": "Script", "type": "scripted", "options": {"model": "script"}}"#,
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
    _folder: TempDir,
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
    pub async fn set(files: &[(&str, &str)], set: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in HELLO.iter().chain(files) {
            write(&folder.path().join(name), text);
        }
        let app = App::load(folder.path(), &BTreeMap::new()).unwrap();
        let config = Config::of(&app).unwrap_or_else(|problem| panic!("{problem}"));
        let stores = Arc::new(Stores::builder(Options::default()).build().unwrap());
        let store = stores.index().unwrap().driver().clone();
        let is_development = config.development.is_some();
        let runtime = Runtime::open(runtime::Settings {
            app: folder.path().to_owned(),
            stores,
            storage: ambit_storage::Settings::default(),
            environment: BTreeMap::new(),
            is_development,
            tools: Arc::new(NoTools),
            listeners: None,
        });
        let mut settings = Settings {
            base: config.base.clone(),
            is_development,
            ..Settings::default()
        };
        set(&mut settings);
        let server = Server {
            runtime: runtime.await.unwrap(),
            auth: Authenticator::new(config, &store),
            store: store.clone(),
            settings,
            measures: Measures::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(http::serve(listener, Arc::new(server), async {
            drop(stopped.await);
        }));
        Self {
            url,
            store,
            client: client(),
            _folder: folder,
            _stop: stop,
        }
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

    /// What the server says to this body of a chat request.
    pub async fn chat(&self, body: impl Into<reqwest::Body>) -> Answer {
        let request = self.request(Method::POST, "/v1/chat/completions");
        Answer::of(request.body(body)).await
    }
}

impl Answer {
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
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

fn client() -> Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Client::builder().build().unwrap()
}

pub fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
