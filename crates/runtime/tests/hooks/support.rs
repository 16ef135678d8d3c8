//! An agent with hooks, and the context that they run in.

use ambit_runtime::app::read::ConfigObject;
use ambit_runtime::app::{App, AppAgent};
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::ctx::{self, ContextProperties, MemoryNamespaces, ScriptContext};
use ambit_runtime::ctx::{NoTurnHost, TurnHost};
use ambit_runtime::hook::{AgentHooks, CreateResult, NextResult};
use ambit_runtime::limits::AgentLimits;
use ambit_runtime::mcp::McpServerPool;
use ambit_runtime::net;
use ambit_runtime::outbox::{self, MessageAuthor, Outbox};
use ambit_runtime::process::ProcessRegistry;
use ambit_runtime::process::store::OpenStores;
use ambit_runtime::search::SearchContext;
use ambit_runtime::stream::{self, StreamTarget, StreamWriter};
use ambit_runtime::trace::{self, Trace, TraceTree};
use ambit_runtime::{Authorized, Disclosure, Error};
use ambit_runtime::{ClientInfo, RequestOrigin};
use ambit_script::{Engine, EngineSettings, ProgramSource};
use ambit_storage::address::Space;
use ambit_storage::clock::Clock;
use ambit_storage::driver::{self, Driver, DriverOptions, memory};
use ambit_storage::memory::{ChatMemoryOwner, Memory};
use ambit_storage::{SessionIdentity, Stores};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The file of the hooks.
pub const FILE: &str = "assistants/pet/src/index.ts";

/// What a trace told.
#[derive(Clone, Default)]
pub struct Events(Arc<Mutex<Vec<String>>>);

impl trace::TraceSink for Events {
    fn append(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn is_full(&self) -> bool {
        false
    }
}

/// An agent and the context of one turn of it.
pub struct Stage {
    pub engine: Engine,
    pub app: App,
    pub agent: AppAgent,
    pub authorized: Authorized,
    pub origin: RequestOrigin,
    pub metadata: Map<String, Value>,
    pub chat: Option<String>,
    pub driver: Arc<dyn Driver>,
    pub clock: Clock,
    pub turn_host: Arc<dyn TurnHost>,
    pub events: Events,
    pub outbox: Outbox,
    pub is_traced: bool,
    pub context_id: String,
    /// Scripts that are processes, by their file's name.
    pub scripts: BTreeMap<String, String>,
}

impl Stage {
    /// Ann's turn in the chat `c1`, kept in memory.
    pub fn new() -> Self {
        let options = DriverOptions::default();
        let clock = options.clock.clone();
        Self::over(Arc::new(memory::MemoryDriver::new(options)), clock)
    }

    /// The same over another driver.
    pub fn over(driver: Arc<dyn Driver>, clock: Clock) -> Self {
        // Before anything is logged: what comes first while the collector is set may be left out for good.
        crate::logging::collect();
        let place = StreamTarget {
            driver: Arc::clone(&driver),
            log: Space::settings("t").log("turn/r1/events"),
            check: None,
        };
        let unstored = stream::StreamOptions {
            is_persistent: false,
            ..stream::StreamOptions::default()
        };
        let log = StreamWriter::open(place, unstored);
        let outbox = Outbox::new(log, outbox::OutboxLimits::default(), clock.clone());
        let settings = EngineSettings {
            threads: 2,
            warm: 2,
            ..EngineSettings::default()
        };
        Self {
            engine: Engine::new(&settings, ctx::surface()).expect("an engine starts"),
            app: App::default(),
            agent: AppAgent {
                id: "pet".to_owned(),
                folder: "assistants/pet".to_owned(),
                hooks: Some(FILE.to_owned()),
                ..AppAgent::default()
            },
            authorized: serde_json::from_value(json!({"user_id": "ann", "team_id": "red"}))
                .unwrap(),
            origin: RequestOrigin {
                locale: "en-us".to_owned(),
                theme: "dark".to_owned(),
                route: "/pets".to_owned(),
                accept: "cui-web".to_owned(),
                referer: "api".to_owned(),
                client: ClientInfo {
                    kind: "web".to_owned(),
                    user_agent: "Mozilla".to_owned(),
                    ip: "10.0.0.1".to_owned(),
                },
                trace_context: None,
            },
            metadata: Map::new(),
            chat: Some("c1".to_owned()),
            driver,
            clock,
            turn_host: Arc::new(NoTurnHost),
            events: Events::default(),
            outbox,
            is_traced: true,
            context_id: "ctx-1".to_owned(),
            scripts: BTreeMap::new(),
        }
    }

    /// Over a file of SQLite in a folder.
    pub async fn sqlite(folder: &std::path::Path) -> Self {
        let options = DriverOptions::default();
        let clock = options.clock.clone();
        let url = format!("sqlite:{}", folder.join("ambit.db").display());
        let store = driver::open(&url, options).await.expect("SQLite opens");
        Self::over(store, clock)
    }

    /// The same with another limit.
    pub fn limited(mut self, name: &str, limit: Value) -> Self {
        let mut given = Map::from_iter([(name.to_owned(), limit)]);
        self.app.settings.limits.update(&mut given);
        self
    }

    /// The context of the turn.
    pub fn scope(&self) -> Arc<ScriptContext> {
        let authorized = self.authorized.clone();
        let mut identity = SessionIdentity::builder("pet");
        if let Some(user) = &authorized.user_id {
            identity = identity.user_id(user);
        }
        if let Some(chat) = &self.chat {
            identity = identity.chat_name(chat);
        }
        let identity = identity.build().unwrap();
        let (tenant, settings) = (
            authorized.tenant(),
            ambit_storage::memory::MemorySettings::default(),
        );
        let driver = || Arc::clone(&self.driver);
        let conversation = self.chat.as_ref().map(|_| ChatMemoryOwner {
            identity: identity.clone(),
            tracking: None,
        });
        let user = authorized.user_id.as_deref();
        let team = authorized.team_id.as_deref();
        let memory = MemoryNamespaces {
            user: Memory::user(driver(), tenant, user, settings).unwrap(),
            team: Memory::team(driver(), tenant, team, settings).unwrap(),
            chat: Memory::chat(driver(), tenant, conversation, settings).unwrap(),
            context: Memory::request(self.clock.clone(), tenant, &self.context_id, settings)
                .unwrap(),
        };
        Arc::new(ScriptContext {
            properties: ContextProperties {
                chat_id: self.chat.clone().unwrap_or_default(),
                assistant_id: "pet".to_owned(),
                request_id: "r1".to_owned(),
                context_id: self.context_id.clone(),
                origin: self.origin.clone(),
                metadata: self.metadata.clone(),
                authorized: authorized.clone(),
                identity,
            },
            memory,
            outbox: self.outbox.for_author(MessageAuthor {
                assistant_id: "pet".to_owned(),
                ..MessageAuthor::default()
            }),
            trace: self.trace().root(),
            app: self.loaded(),
            processes: self.processes(),
            agent: Arc::new(self.agent.clone()),
            limits: AgentLimits::of(&self.app, &self.agent),
            http: net::HttpClient::new(&net::AllowList::default()).unwrap(),
            servers: Arc::default(),
            mcp: Arc::new(McpServerPool::new().unwrap().servers(&self.loaded())),
            search: SearchContext::bare().unwrap(),
            turn_host: Arc::clone(&self.turn_host),
            disclosure: Disclosure::default(),
        })
    }

    fn loaded(&self) -> Arc<App> {
        let scripts = self.scripts.keys().map(|name| {
            let (file, folder) = (format!("scripts/{name}.ts"), String::new());
            (format!("scripts.{name}"), ProgramSource { file, folder })
        });
        Arc::new(App {
            locales: self.app.locales.clone(),
            processes: scripts.collect(),
            ..App::default()
        })
    }

    fn processes(&self) -> Arc<ProcessRegistry> {
        let stores = Stores::builder(DriverOptions::default()).build().unwrap();
        let stores = Arc::new(OpenStores::new(Arc::new(stores)));
        let files = self.scripts.iter();
        let files = files.map(|(name, text)| (format!("scripts/{name}.ts"), text.clone()));
        let files: BTreeMap<String, String> = files.collect();
        Arc::new(ProcessRegistry::load(
            &self.loaded(),
            &self.engine,
            &files,
            stores,
        ))
    }

    fn trace(&self) -> Trace {
        if !self.is_traced {
            return Trace::off("t1");
        }
        let text = |text: &str| text.to_owned();
        Trace::start(trace::TraceSettings {
            about: trace::TraceSubject {
                trace_id: text("t1"),
                request_id: text("r1"),
                chat_id: text("c1"),
                assistant_id: text("pet"),
            },
            origin: trace::TraceOrigin::default(),
            agent: trace::AgentFacts::default(),
            propagation: None,
            limits: AgentLimits::of(&self.app, &self.agent).trace,
            clock: self.clock.clone(),
            sink: Box::new(self.events.clone()),
        })
    }

    /// The agent's hooks with this text.
    pub fn hooks(&self, text: &str) -> Result<AgentHooks, Error> {
        let files = BTreeMap::from([(FILE.to_owned(), text.to_owned())]);
        AgentHooks::load(&self.engine, &files, &self.app, &self.agent)
    }

    /// Runs `Create` of this text.
    pub async fn create(&self, text: &str) -> Result<Option<CreateResult>, Error> {
        let messages = [ChatMessage::user("Hello")];
        self.hooks(text)?
            .create(&self.scope(), &messages, json!({}))
            .await
    }

    /// Runs `Next` of this text.
    pub async fn next(&self, text: &str) -> Result<Option<NextResult>, Error> {
        let payload = json!({"messages": [], "completion": null, "tools": [], "error": null});
        self.hooks(text)?
            .next(&self.scope(), payload, json!({}))
            .await
    }

    /// What this expression is in a hook.
    pub async fn value(&self, expression: &str) -> Value {
        let text = format!(
            "export function Create(ctx) {{ const run = () => ({expression}); return {{ metadata: {{ value: run() }} }}; }}"
        );
        let created = self.create(&text).await.expect("the hook runs");
        let metadata = created.map(|created| created.metadata).unwrap_or_default();
        metadata.get("value").cloned().unwrap_or_default()
    }

    /// What these statements return, or the error that they throw as `[code, message]`.
    pub async fn attempt(&self, statements: &str) -> Value {
        self.value(&format!(
            "(() => {{ try {{ return (() => {{ {statements} }})(); }} catch (error) {{ return [error.code, error.message]; }} }})()"
        ))
        .await
    }

    /// What the trace holds.
    pub fn tree(&self) -> TraceTree {
        let events = self.events.0.lock().unwrap();
        trace::fold_texts(events.iter().map(String::as_str))
    }
}
