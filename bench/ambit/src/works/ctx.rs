//! W7 once more, with the `ctx` of a turn: real memory, trace, log and stream instead of stand-ins.

use super::Bench;
use crate::Result;
use crate::app::HOOK;
use crate::measure::{Row, pair, processor_seconds};
use ambit_runtime::app::{App, AppAgent};
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::ctx::NoTurnHost;
use ambit_runtime::ctx::{self, ContextProperties, MemoryNamespaces, ScriptContext};
use ambit_runtime::hook::AgentHooks;
use ambit_runtime::limits::AgentLimits;
use ambit_runtime::mcp::{McpServerPool, McpServers};
use ambit_runtime::net;
use ambit_runtime::outbox::{self, MessageAuthor, Outbox};
use ambit_runtime::process::ProcessRegistry;
use ambit_runtime::process::store::OpenStores;
use ambit_runtime::search::SearchContext;
use ambit_runtime::stream::{self, StreamTarget, StreamWriter};
use ambit_runtime::trace::{self, Trace};
use ambit_runtime::{Authorized, Disclosure, RequestOrigin};
use ambit_script::{Engine, EngineSettings};
use ambit_storage::address::Space;
use ambit_storage::clock::Clock;
use ambit_storage::driver::{Driver, DriverOptions};
use ambit_storage::memory::{ChatMemoryOwner, Memory};
use ambit_storage::{SessionIdentity, Stores};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The file of the hook.
const FILE: &str = "assistants/clerk/src/index.js";
/// Messages in and out.
const MESSAGES: usize = 10;
/// Hooks that run before anything is counted.
const BEFORE: usize = 200;
/// Hooks at once, where their number in a second is counted.
const AT_ONCE: usize = 4;

pub async fn run(bench: &Bench) -> Result<()> {
    let stage = Arc::new(Stage::new(bench)?);
    let times = bench.sizes.operations;
    for _ in 0..BEFORE {
        stage.one().await?;
    }
    let row = Row {
        work: "W7 hook (ctx of a turn)",
        p: MESSAGES,
        unit: "ms",
        note: "real memory, trace, log and stream, made anew for each hook",
    };
    bench
        .output
        .median(row, times, async |_| stage.one().await)
        .await?;
    let before = processor_seconds();
    crate::measure::together(AT_ONCE, |_| {
        let stage = Arc::clone(&stage);
        async move {
            for _ in 0..times {
                stage.one().await?;
            }
            Ok(())
        }
    })
    .await?;
    let rate = (AT_ONCE * times) as f64 / (processor_seconds() - before);
    let row = Row {
        work: "W7 hooks per CPU-second (ctx of a turn)",
        unit: "hooks/s",
        ..row
    };
    bench.output.row(row, rate);
    Ok(())
}

/// What stays the same from turn to turn.
struct Stage {
    hooks: AgentHooks,
    app: Arc<App>,
    processes: Arc<ProcessRegistry>,
    mcp: Arc<McpServers>,
    agent: Arc<AppAgent>,
    limits: AgentLimits,
    http: net::HttpClient,
    search: SearchContext,
    driver: Arc<dyn Driver>,
    clock: Clock,
    tenant: String,
    messages: Vec<ChatMessage>,
}

impl Stage {
    fn new(bench: &Bench) -> Result<Self> {
        let agent = AppAgent {
            id: "clerk".to_owned(),
            folder: "assistants/clerk".to_owned(),
            hooks: Some(FILE.to_owned()),
            ..AppAgent::default()
        };
        let app = App::default();
        let engine = Engine::new(&EngineSettings::default(), ctx::surface())?;
        let files = BTreeMap::from([(FILE.to_owned(), HOOK.to_owned())]);
        let hooks = AgentHooks::load(&engine, &files, &app, &agent)?;
        let app = Arc::new(app);
        let stores = Arc::new(Stores::builder(DriverOptions::default()).build()?);
        let stores = Arc::new(OpenStores::new(stores));
        let processes = Arc::new(ProcessRegistry::load(&app, &engine, &files, stores));
        let messages = (0..MESSAGES / 2).flat_map(pair);
        let messages: Result<Vec<ChatMessage>, _> =
            messages.map(|text| serde_json::from_str(&text)).collect();
        Ok(Self {
            hooks,
            limits: AgentLimits::of(&app, &agent),
            http: net::HttpClient::new(&net::AllowList::default())?,
            search: SearchContext::bare()?,
            mcp: Arc::new(McpServerPool::new()?.servers(&app)),
            app,
            processes,
            agent: Arc::new(agent),
            driver: Arc::clone(&bench.driver),
            clock: Clock::default(),
            tenant: bench.tenant("w7-ctx"),
            messages: messages?,
        })
    }

    async fn one(&self) -> Result<()> {
        let scope = Arc::new(self.scope()?);
        let created = self.hooks.create(&scope, &self.messages, json!({}));
        let created = created.await?.ok_or("the hook returned nothing")?;
        let returned = created.messages.map_or(0, |messages| messages.len());
        if returned == MESSAGES {
            Ok(())
        } else {
            Err(format!("the hook returned {returned} messages").into())
        }
    }

    /// A log of which nothing is kept: in a turn its rows go with the turn's own commits.
    fn log(&self, name: &str) -> StreamWriter {
        let place = StreamTarget {
            driver: Arc::clone(&self.driver),
            log: Space::settings(&self.tenant).log(name),
            check: None,
        };
        let options = stream::StreamOptions {
            is_persistent: false,
            ..stream::StreamOptions::default()
        };
        StreamWriter::open(place, options)
    }

    fn scope(&self) -> Result<ScriptContext> {
        let authorized = Authorized {
            user_id: Some("u1".to_owned()),
            team_id: Some("t1".to_owned()),
            tenant_id: Some(self.tenant.clone()),
            ..Authorized::default()
        };
        let identity = SessionIdentity::builder("clerk")
            .user_id("u1")
            .chat_name("c1")
            .build()?;
        let outbox = Outbox::new(
            self.log("events"),
            outbox::OutboxLimits::default(),
            self.clock.clone(),
        );
        Ok(ScriptContext {
            memory: self.memories(&identity)?,
            properties: ContextProperties {
                chat_id: "c1".to_owned(),
                assistant_id: "clerk".to_owned(),
                request_id: "r1".to_owned(),
                context_id: "x1".to_owned(),
                origin: RequestOrigin::default(),
                metadata: Map::new(),
                authorized,
                identity,
            },
            outbox: outbox.for_author(MessageAuthor::default()),
            trace: self.trace().root(),
            app: Arc::clone(&self.app),
            processes: Arc::clone(&self.processes),
            agent: Arc::clone(&self.agent),
            limits: self.limits,
            http: self.http.clone(),
            search: self.search.clone(),
            mcp: Arc::clone(&self.mcp),
            servers: Arc::default(),
            turn_host: Arc::new(NoTurnHost),
            disclosure: Disclosure::default(),
        })
    }

    fn memories(&self, identity: &SessionIdentity) -> Result<MemoryNamespaces> {
        let settings = ambit_storage::memory::MemorySettings::default();
        let driver = || Arc::clone(&self.driver);
        let conversation = ChatMemoryOwner {
            identity: identity.clone(),
            tracking: None,
        };
        Ok(MemoryNamespaces {
            user: Memory::user(driver(), &self.tenant, Some("u1"), settings)?,
            team: Memory::team(driver(), &self.tenant, Some("t1"), settings)?,
            chat: Memory::chat(driver(), &self.tenant, Some(conversation), settings)?,
            context: Memory::request(self.clock.clone(), &self.tenant, "x1", settings)?,
        })
    }

    fn trace(&self) -> Trace {
        Trace::start(trace::TraceSettings {
            about: trace::TraceSubject {
                trace_id: "r1".to_owned(),
                request_id: "r1".to_owned(),
                chat_id: "c1".to_owned(),
                assistant_id: "clerk".to_owned(),
            },
            origin: trace::TraceOrigin::default(),
            agent: trace::AgentFacts::default(),
            propagation: None,
            limits: self.limits.trace,
            clock: self.clock.clone(),
            sink: Box::new(self.log("trace")),
        })
    }
}
