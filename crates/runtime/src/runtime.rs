//! The runtime: one app over its stores, and every way into it.

mod agent_search;
mod app_agents;
mod closing;
mod gathered_metrics;
mod model_calls;
mod request_places;
mod responses;
mod status;
mod turn_access;
mod turn_references;

pub use crate::runtime_core::{ReloadCheck, TokenListener};
pub use agent_search::{AgentSearchAnswer, AgentSearchRequest};
pub use model_calls::RenderedRequest;
pub use request_places::RequestPlace;

use crate::access::Authorized;
use crate::app::watcher::AppWatcher;
use crate::app::{App, FileProblem};
use crate::error::{Disclosure, Error, Result};
use crate::feed::{EventFeed, EventFilter, FeedCursor, FeedReader};
use crate::index_vectors::IndexEmbedding;
use crate::inspect::memory::{self, MemorySelector, OpenMemory};
use crate::knowledge_client::KnowledgeClient;
use crate::live_turn::LiveTurns;
use crate::llm::ProviderCache;
use crate::load_status::LoadStatus;
use crate::loaded_app::LoadOptions;
use crate::lock::lock;
use crate::maintenance;
use crate::mcp;
use crate::model;
use crate::node_record::NodeStart;
use crate::otlp::{OtlpExport, OtlpSettings};
use crate::process::store::OpenStores;
use crate::recall::RecallSettings;
use crate::request::TurnRequest;
use crate::runtime_core::{RuntimeCore, TemporaryTenants, stopping};
use crate::tool::{ToolServer, Toolbox};
use crate::turn_info::StartedTurn;
use crate::web_search::WebSearchClient;
use crate::{event_loop_lag, knowledge, nodes, retention, telemetry, turn, vector_upkeep};
use ambit_knowledge::KnowledgeBase;
use ambit_script::Engine;
use ambit_storage::event::EventBus;
use ambit_storage::upkeep::{Sweeper, SweeperOptions};
use ambit_storage::{Agent, Ambit, AmbitSettings, Caller, Stores};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, RwLock, Weak};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};

/// Before work that has panicked is begun again.
const BEHIND_PANIC: Duration = Duration::from_secs(10);

/// What a runtime is made of.
pub struct RuntimeSettings {
    /// The app's folder.
    pub app: PathBuf,
    /// Where everything is kept.
    pub stores: Arc<Stores>,
    /// What storage may be set to.
    pub storage: AmbitSettings,
    /// Where models are kept.
    pub models: model::ModelSettings,
    /// The variables that `$ENV.NAME` stands for; `.env` of the app counts before them.
    pub environment: BTreeMap<String, String>,
    /// Changed files take effect at once, and errors show stacks.
    pub is_development: bool,
    /// How much is told of what goes on inside when something fails.
    pub disclosure: Disclosure,
    /// The JavaScript runtimes of scripts are restored behind each run; without it each is made for one run and freed.
    pub restore_runtimes: bool,
    /// Tools in the place of those of the app's servers.
    pub tools: Option<Arc<dyn Toolbox>>,
    /// Listeners of the program, which every version of the app has.
    pub listeners: EventBus,
    /// Tools of the program, beside those of the app's servers.
    pub tool_servers: Vec<ToolServer>,
    /// Agents of the program, in the place of the app's where one has the same name.
    pub agents: Vec<Arc<dyn Agent>>,
    /// The program that is called with `extract` to read documents of strangers; without one only plain texts become documents.
    pub extract_program: Option<PathBuf>,
    /// The collectors of OpenTelemetry that traces and metrics are sent to.
    pub telemetry: OtlpSettings,
}

impl RuntimeSettings {
    /// Returns the settings of an app in this folder to which nothing is added.
    pub fn new(app: impl Into<PathBuf>, stores: impl Into<Arc<Stores>>) -> Self {
        Self {
            app: app.into(),
            stores: stores.into(),
            storage: AmbitSettings::default(),
            models: model::ModelSettings::default(),
            environment: BTreeMap::new(),
            is_development: false,
            disclosure: Disclosure::default(),
            restore_runtimes: true,
            tools: None,
            tool_servers: Vec::new(),
            listeners: EventBus::default(),
            agents: Vec::new(),
            extract_program: None,
            telemetry: OtlpSettings::default(),
        }
    }
}

/// An app over its stores. Cheap to clone; the clones are the same runtime.
#[derive(Clone)]
pub struct Runtime(Arc<RuntimeCore>);

impl Runtime {
    /// Loads the app and begins to take up what other nodes, or this one, left behind.
    pub fn open(settings: RuntimeSettings) -> BoxFuture<'static, Result<Self>> {
        Box::pin(async move {
            let scripts = ambit_script::EngineSettings {
                restore: settings.restore_runtimes,
                ..ambit_script::EngineSettings::default()
            };
            let engine = Engine::new(&scripts, crate::ctx::surface())
                .map_err(|error| Error::internal(error.to_string()))?;
            let models = Arc::new(ProviderCache::new());
            let stores = settings.stores.clone();
            let making = LoadOptions {
                root: settings.app,
                environment: settings.environment,
                engine,
                stores: settings.stores.clone(),
                storage: settings.storage,
                models: models.clone(),
                opened: Arc::new(OpenStores::new(stores).with_models(settings.models)?),
                pool: Arc::new(mcp::McpServerPool::new()?.with_programs(settings.tool_servers)),
                listeners: settings.listeners,
                agents: settings.agents,
                feed: Arc::new(EventFeed::new(settings.stores.clone())),
                metrics: Arc::default(),
                disclosure: settings.disclosure,
                node: NodeStart::now(),
            };
            let is_development = settings.is_development;
            let watch = is_development.then(|| AppWatcher::new(&making.root));
            let loaded = making.load().await?;
            let core = Arc::new(RuntimeCore {
                stores: settings.stores,
                tools: settings.tools,
                turns: LiveTurns::default(),
                models,
                is_development,
                making,
                loaded: RwLock::new(Arc::new(loaded)),
                load_status: Mutex::new(LoadStatus::now()),
                reloading: tokio::sync::Mutex::default(),
                judge: OnceLock::new(),
                token_listener: OnceLock::new(),
                tasks: Mutex::default(),
                temporary: TemporaryTenants::default(),
                titles: Arc::new(Semaphore::new(turn::CONCURRENT_TITLES)),
                knowledge: OnceLock::new(),
                knowledge_worker: Mutex::default(),
                reloaded: Arc::default(),
                web: Arc::new(WebSearchClient::new()?),
                sweepers: Mutex::default(),
                is_closing: Mutex::new(false),
                telemetry: OtlpExport::of(settings.telemetry)?,
            });
            start_knowledge(&core, settings.extract_program)?;
            start_upkeep(&core);
            if let Some(watch) = watch {
                core.spawn(follow(Arc::downgrade(&core), watch));
            }
            Ok(Self(core))
        })
    }

    /// The app as it is loaded now.
    pub fn app(&self) -> Arc<App> {
        self.0.loaded().app.clone()
    }

    /// Whether changed files take effect at once and errors show stacks.
    pub fn is_development(&self) -> bool {
        self.0.is_development
    }

    /// Loads the app's files again: all of them or, if one is broken, none. The answer is what is wrong or not used.
    /// Turns that run keep what they began with.
    pub fn reload<'a>(&'a self) -> BoxFuture<'a, Result<Vec<FileProblem>>> {
        Box::pin(async move { self.0.reload().await })
    }

    /// Has this judge every new version of the app; the first one stays.
    pub fn judge_reloads(&self, judge: ReloadCheck) {
        self.0.judge.get_or_init(|| judge);
    }

    /// What is wrong with the app as it is loaded now, or not used.
    pub fn problems(&self) -> Vec<FileProblem> {
        self.0.loaded().problems().to_vec()
    }

    /// Loads the app's files again beside the turns that run, and logs what came of it.
    pub async fn reload_and_tell(&self) {
        match self.reload().await {
            Ok(problems) => {
                tracing::info!("the app's files are loaded again");
                for problem in problems.iter().filter(|problem| problem.is_error()) {
                    tracing::error!("{problem}");
                }
            }
            Err(error) => tracing::error!("the app goes on as it was: {error}"),
        }
    }

    /// Takes a request on: its conversation is held and its input is durable when this returns. The turn goes on by itself.
    pub fn start<'a>(&'a self, request: TurnRequest) -> BoxFuture<'a, Result<StartedTurn>> {
        Box::pin(async move {
            if *lock(&self.0.is_closing) {
                return Err(stopping());
            }
            let (tell, told) = oneshot::channel();
            let core = self.0.clone();
            // A task of its own: whoever asked may leave at any moment, and a turn half begun would hold the conversation.
            self.0.spawn(async move {
                let begun = match turn::open(&core, request).await {
                    Ok(turn) => turn.started().map(|started| (turn, started)),
                    Err(error) => Err(error),
                };
                match begun {
                    Ok((turn, started)) => {
                        // The turn goes on without whoever asked for it.
                        let _ = tell.send(Ok(started));
                        turn.run().await;
                    }
                    Err(error) => drop(tell.send(Err(error))),
                }
            });
            told.await.unwrap_or_else(|_| Err(stopping()))
        })
    }

    /// About how many tokens the request would give its agent's model. Nothing is run or stored for it.
    pub fn estimate_input<'a>(&'a self, request: TurnRequest) -> BoxFuture<'a, Result<u64>> {
        turn::estimate(&self.0, request)
    }

    /// The stored contexts as this caller may see them.
    pub fn contexts(&self, who: &Authorized) -> Ambit {
        self.contexts_of(&who.caller())
    }

    /// The stored contexts as storage shows them to this caller of its own.
    pub fn contexts_of(&self, caller: &Caller) -> Ambit {
        self.0.loaded().acting_as(caller)
    }

    /// Whether and what conversations are searched for. Vectors of queries are booked on the caller.
    pub fn recall(&self, who: &Authorized) -> RecallSettings {
        vector_upkeep::recall_settings(&self.0, who)
    }

    /// Who makes vectors of memories, if anybody does. Those of queries are booked on the caller.
    pub fn value_embedding(&self, who: &Authorized) -> Option<IndexEmbedding> {
        vector_upkeep::value_embedding(&self.0, who)
    }

    /// The memory that a request names, its values living as long as the app says.
    pub fn memory<'a>(
        &'a self,
        who: &'a Authorized,
        which: MemorySelector<'a>,
    ) -> BoxFuture<'a, Result<OpenMemory>> {
        Box::pin(async move {
            let loaded = self.0.loaded();
            let usual = loaded.ambit.settings().memory;
            let settings = loaded.memory(which.space, usual.value_limit);
            memory::open_as(&self.contexts(who), who, which, settings).await
        })
    }

    /// The events of the caller's tenant from now on, or from behind a place, as far as the caller may see what they are
    /// about. All that happens on this node once this has returned is told, and on another node a second later.
    pub fn follow_events<'a>(
        &'a self,
        who: &'a Authorized,
        wanted: EventFilter,
        behind: Option<FeedCursor>,
    ) -> BoxFuture<'a, Result<FeedReader>> {
        Box::pin(async move {
            let ambit = self.contexts(who);
            let feed = &self.0.making.feed;
            feed.follow(ambit, who, wanted, behind).await
        })
    }

    /// Waits until the collections that are files of the app are as the files say.
    pub async fn settle_collections(&self) -> Result<()> {
        knowledge::settle(&self.0, &self.knowledge()?).await
    }

    /// The collections of knowledge.
    pub fn knowledge(&self) -> Result<KnowledgeBase> {
        let open = self.0.knowledge.get().cloned();
        open.ok_or_else(|| Error::internal("collections are not open"))
    }

    /// The collections of knowledge, for a caller.
    pub fn knowledge_client(&self, who: &Authorized) -> Result<KnowledgeClient> {
        let app = self.0.loaded().app.clone();
        Ok(KnowledgeClient::new(self.knowledge()?, who, app))
    }

    /// The stores.
    pub fn stores(&self) -> &Arc<Stores> {
        &self.0.stores
    }

    /// Drops streams and traces whose time is over, and temporary conversations. The runtime does so by itself, every ten
    /// seconds and every minute. The answer is how many notes of turns were followed.
    pub async fn drop_expired(&self) -> usize {
        maintenance::end_temporary(&self.0).await;
        retention::drop_due(&self.0).await
    }
}

/// Runs what ends only with the runtime, and begins it again behind a panic, of which the thread has told.
fn keep_running<F>(core: &Arc<RuntimeCore>, work: fn(Weak<RuntimeCore>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let weak = Arc::downgrade(core);
    core.spawn(async move {
        while AssertUnwindSafe(work(weak.clone()))
            .catch_unwind()
            .await
            .is_err()
        {
            tokio::time::sleep(BEHIND_PANIC).await;
        }
    });
}

/// Begins what a node does by itself.
fn start_upkeep(core: &Arc<RuntimeCore>) {
    keep_running(core, maintenance::recover);
    keep_running(core, maintenance::tidy);
    keep_running(core, nodes::announce);
    keep_running(core, vector_upkeep::follow);
    core.spawn(core.making.feed.clone().run());
    core.spawn(event_loop_lag::measure(core.metrics().clone()));
    if let Some(export) = &core.telemetry {
        core.spawn(telemetry::export_traces(Arc::downgrade(core)));
        if export.metrics.is_some() {
            let interval = export.metrics_interval;
            core.spawn(telemetry::export_metrics(Arc::downgrade(core), interval));
        }
    }
    let drivers = core.stores.drivers().values().cloned();
    let sweep = |driver| Sweeper::start(driver, SweeperOptions::default());
    *lock(&core.sweepers) = drivers.map(sweep).collect();
}

/// Opens the collections, begins to work on them, and brings those that are files to what the files say.
fn start_knowledge(core: &Arc<RuntimeCore>, extract_program: Option<PathBuf>) -> Result<()> {
    let base = knowledge::open(core, extract_program)?;
    let base = core.knowledge.get_or_init(|| base);
    *lock(&core.knowledge_worker) = Some(base.start());
    core.spawn(knowledge::follow_files(Arc::downgrade(core), base.clone()));
    Ok(())
}

/// Loads the app again when its files have changed, for as long as the runtime is there.
async fn follow(core: Weak<RuntimeCore>, mut watch: AppWatcher) {
    loop {
        watch.changed().await;
        let Some(core) = core.upgrade() else {
            return;
        };
        Runtime(core).reload_and_tell().await;
    }
}
