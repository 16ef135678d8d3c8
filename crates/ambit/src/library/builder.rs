//! Opening an app with what the program adds to it.

use super::app_source::{AppFolder, AppSource};
use super::{Ambit, AmbitInner};
use crate::environment::environment;
use crate::otlp_variables::otlp_settings;
use crate::store_urls::{DATA_FILE, StoreUrls, path_text};
use ambit_runtime::RuntimeSettings;
use ambit_runtime::model::{ModelSecret, ModelSettings};
use ambit_runtime::tool::ToolServer;
use ambit_runtime::{Authorized, Error, Result, Runtime};
use ambit_storage::event::{After, AfterFn, Before, BeforeFn, EventBus};
use ambit_storage::{Agent, AmbitSettings, Stores};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The store of the process's own memory.
const MEMORY_URL: &str = "memory:";

/// An app that is about to be opened, with what the program adds to it.
///
/// # Examples
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> ambit::Result<()> {
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");
/// # let data = tempfile::tempdir().unwrap();
/// # let url = format!("sqlite:{}", data.path().join("ambit.db").display());
/// let ambit = ambit::Ambit::builder(folder)
///     .store(url)
///     .variable("OPENAI_API_KEY", "sk-…")
///     .open()
///     .await?;
/// # ambit.close().await
/// # }
/// ```
#[must_use = "an app is opened by `open`"]
pub struct AmbitBuilder {
    source: AppSource,
    urls: Vec<String>,
    stores: Option<Arc<Stores>>,
    model_key: Option<ModelSecret>,
    variables: BTreeMap<String, String>,
    settings: AmbitSettings,
    agents: Vec<Arc<dyn Agent>>,
    tools: Vec<ToolServer>,
    listeners: EventBus,
    is_development: bool,
}

impl AmbitBuilder {
    pub(super) fn new(source: AppSource) -> Self {
        Self {
            source,
            urls: Vec::new(),
            stores: None,
            model_key: None,
            variables: environment(),
            settings: AmbitSettings::default(),
            agents: Vec::new(),
            tools: Vec::new(),
            listeners: EventBus::default(),
            is_development: false,
        }
    }

    /// Keeps everything in the memory of this process.
    pub fn in_memory(self) -> Self {
        self.store(MEMORY_URL)
    }

    /// Keeps everything in the store behind this URL: `sqlite:path`, `postgres://…`, `redis://…`, `file:folder`. Called again
    /// it adds another one, named by its kind or as in `archive=sqlite:path`; the first keeps the index, and agents may name the
    /// others.
    pub fn store(mut self, url: impl Into<String>) -> Self {
        self.urls.push(url.into());
        self
    }

    /// Keeps everything in stores that are open already.
    pub fn stores(self, stores: impl Into<Arc<Stores>>) -> Self {
        Self {
            stores: Some(stores.into()),
            ..self
        }
    }

    /// Sets the secret that columns of the app's models with `crypt: AES` are encrypted with.
    pub fn model_key(self, secret: impl Into<String>) -> Self {
        Self {
            model_key: Some(ModelSecret(secret.into())),
            ..self
        }
    }

    /// Sets what `$ENV.NAME` in the app's files stands for, beside the variables of this process.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Sets when usage is counted, histories are shortened and idle storages are removed.
    pub fn settings(self, settings: AmbitSettings) -> Self {
        Self { settings, ..self }
    }

    /// Adds an agent that says where its sessions are kept. For an agent of the app with the same name it says so in the place of
    /// `context` in its package; of any other, sessions can be opened, but they do not respond.
    pub fn agent(mut self, agent: impl Agent) -> Self {
        self.agents.push(Arc::new(agent));
        self
    }

    /// Adds tools of the program's own. Agents name their server in `mcp.servers` as they name the app's.
    ///
    /// # Examples
    ///
    /// ```
    /// use ambit::{Ambit, ToolServer};
    /// use serde_json::json;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> ambit::Result<()> {
    /// // The scripted model calls the tool, and repeats what it gave.
    /// let rules = r#"{ "type": "scripted", "options": { "rules": [
    ///     { "match": { "has_tool_result": true }, "reply": "{{last_tool_result}} are left" },
    ///     { "tool_calls": [{ "name": "stock__count", "arguments": { "article": "lamp" } }] }
    /// ] } }"#;
    /// let shop = r#"{ "name": "Shop", "connector": "scripted", "mcp": { "servers": ["stock"] } }"#;
    ///
    /// let article = json!({ "type": "object", "properties": { "article": { "type": "string" } } });
    /// let stock = ToolServer::new("stock").tool(
    ///     "count",
    ///     "How many of an article there are",
    ///     article,
    ///     async |arguments, _caller| Ok(json!(arguments["article"].to_string().len())),
    /// );
    /// let ambit = Ambit::builder([
    ///     ("app.yao", "{}"),
    ///     ("assistants/shop/package.yao", shop),
    ///     ("connectors/scripted.conn.yao", rules),
    /// ])
    /// .tools(stock)
    /// .open()
    /// .await?;
    /// let response = ambit.agent("shop")?.for_user("ann").respond("How many lamps?").await?;
    /// assert_eq!(response.text, "6 are left");
    /// # ambit.close().await
    /// # }
    /// ```
    pub fn tools(mut self, server: ToolServer) -> Self {
        self.tools.push(server);
        self
    }

    /// Asks this listener before each `E`, also in turns that go on where another process left them.
    pub fn before<E: Before>(self, listener: impl BeforeFn<E>) -> Self {
        self.listeners
            .before(move |event: &mut E| Box::pin(listener(event)));
        self
    }

    /// Tells this listener after each `E`, also in turns that go on where another process left them.
    pub fn after<E: After>(self, listener: impl AfterFn<E>) -> Self {
        self.listeners.after(listener);
        self
    }

    /// Has changed files of the app take effect at once, and errors show where in the scripts they come from.
    pub fn development(self, is_development: bool) -> Self {
        Self {
            is_development,
            ..self
        }
    }

    /// Opens the app, and begins to take up turns that no other process goes on with.
    ///
    /// # Errors
    ///
    /// Fails where the app as a whole cannot be used, or a store cannot be opened.
    pub async fn open(self) -> Result<Ambit> {
        let AppFolder { path, temporary } = AppFolder::of(self.source)?;
        let urls = match self.urls.is_empty() {
            false => self.urls,
            true if temporary.is_some() => vec![MEMORY_URL.to_owned()],
            true => vec![data_url(&path)?],
        };
        let wrong = |reason| Error::invalid("store", format!("the builder's store {reason}"));
        let urls = StoreUrls::parse(&urls).map_err(wrong)?;
        let models = ModelSettings {
            store: urls.models(&path),
            key: self.model_key,
        };
        let telemetry = otlp_settings(&self.variables)?;
        let stores = match self.stores {
            Some(stores) => stores,
            None => Arc::new(urls.open().await?),
        };
        let runtime = Runtime::open(RuntimeSettings {
            telemetry,
            storage: self.settings,
            models,
            environment: self.variables,
            is_development: self.is_development,
            agents: self.agents,
            tool_servers: self.tools,
            listeners: self.listeners.clone(),
            ..RuntimeSettings::new(path, stores)
        });
        let inner = AmbitInner {
            runtime: runtime.await?,
            listeners: self.listeners,
            _folder: temporary,
        };
        Ok(Ambit {
            inner: Arc::new(inner),
            authorized: Authorized::default(),
            is_program: true,
        })
    }
}

/// The store of an app whose program names none.
fn data_url(app: &Path) -> Result<String> {
    let file = app.join(DATA_FILE);
    let file = path_text(&file).map_err(|reason| Error::invalid("app", reason))?;
    Ok(format!("sqlite:{file}"))
}
