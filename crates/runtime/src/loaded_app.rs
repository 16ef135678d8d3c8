//! One version of an app, ready to run: its agents known to storage, its scripts compiled.

use crate::app::file_versions::FileVersions;
use crate::app::{App, AppAgent, FileProblem, Severity};
use crate::chats::conversations::ConversationsAgent;
use crate::check::{self, AppPrograms};
use crate::error::{Disclosure, Error, ErrorCode, Result};
use crate::feed::EventFeed;
use crate::hook::{AgentHooks, AgentScriptLoader, EventListeners, SessionScript, listen_for_feed};
use crate::llm::ProviderCache;
use crate::mcp;
use crate::net::{self, AllowList};
use crate::node_record::NodeStart;
use crate::process::ProcessRegistry;
use crate::process::store::OpenStores;
use crate::public_id;
use crate::storage_agent::StorageAgent;
use crate::summariser::{ModelSummariser, SummaryObserver};
use crate::trace::AgentFacts;
use ambit_script::{Engine, SourceFolder};
use ambit_storage::event::EventBus;
use ambit_storage::memory::{self, Ttl};
use ambit_storage::{Ambit, Caller, Stores, truncation};
use ambit_telemetry::Metrics;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is told of an agent that cannot be loaded.
const BROKEN: &str = "the agent cannot be loaded; the server's log says why";

/// An app as turns use it. A reload makes a new one; turns that run keep theirs.
pub(crate) struct LoadedApp {
    /// The app.
    pub app: Arc<App>,
    /// The same agents over the stores.
    pub ambit: Ambit,
    /// What reaches the hosts that the app lists.
    pub http: net::HttpClient,
    /// The hosts that are told of the trace that a request is part of.
    pub propagate: Arc<AllowList>,
    /// What scripts can call by name.
    pub processes: Arc<ProcessRegistry>,
    /// Its tool servers.
    pub mcp: Arc<mcp::McpServers>,
    /// The versions of its files, as far as somebody has asked for them.
    pub file_versions: FileVersions,
    /// The agents that can be asked; of broken ones what is wrong with them.
    agents: BTreeMap<String, Result<CompiledAgent>>,
    problems: Vec<FileProblem>,
}

/// What every version of an app is made with.
#[derive(Clone)]
pub(crate) struct LoadOptions {
    /// The app's folder.
    pub root: PathBuf,
    /// The variables that `$ENV.NAME` stands for.
    pub environment: BTreeMap<String, String>,
    pub engine: Engine,
    pub stores: Arc<Stores>,
    pub storage: ambit_storage::AmbitSettings,
    pub models: Arc<ProviderCache>,
    /// Stores of the app that are open, whichever version of it opened them.
    pub opened: Arc<OpenStores>,
    pub pool: Arc<mcp::McpServerPool>,
    /// Listeners of the program.
    pub listeners: EventBus,
    /// Agents of the program.
    pub agents: Vec<Arc<dyn ambit_storage::Agent>>,
    /// What clients are told of events.
    pub feed: Arc<EventFeed>,
    /// Where everything counts.
    pub metrics: Arc<Metrics>,
    /// How much is told of what is wrong with an agent's scripts.
    pub disclosure: Disclosure,
    /// Who makes them.
    pub node: NodeStart,
}

/// The scripts of an agent, compiled.
struct CompiledAgent {
    hooks: Arc<AgentHooks>,
    summaries: ModelSummariser,
    truncation: truncation::TruncationSettings,
}

/// An agent that is being loaded.
struct AgentParts {
    sessions: SessionScript,
    listeners: Option<Arc<EventListeners>>,
    ready: CompiledAgent,
}

impl LoadedApp {
    /// Loads an app and compiles all its scripts. `Err` is what makes the app as a whole unusable.
    pub fn load(making: &LoadOptions) -> Result<Self, Vec<FileProblem>> {
        let app = Arc::new(App::load_with(
            &making.root,
            &making.environment,
            making.pool.program_ids(),
        )?);
        let folder = folder(&making.root)?;
        let http = http_client(&app).map_err(|error| vec![wrong_host(error)])?;
        let told = &app.settings.telemetry.propagate;
        let propagate = AllowList::parse("telemetry.propagate", told);
        let propagate = propagate.map_err(|error| vec![wrong_host(error)])?;
        let mut builder = Ambit::builder(making.stores.clone())
            .settings(settings(&app, &making.storage))
            .listeners(&making.listeners);
        let (mut agents, mut listeners) = (BTreeMap::new(), Vec::new());
        for agent in app.agents.values().flatten() {
            let ready = match AgentParts::load(making, &folder, &app, agent) {
                Ok(parts) => {
                    builder = builder.agent(parts.sessions);
                    listeners.extend(parts.listeners);
                    Ok(parts.ready)
                }
                // The problems of the app say it in full.
                Err(error) => Err(making.disclosure.of(error, BROKEN)),
            };
            agents.insert(agent.id.clone(), ready);
        }
        builder = builder.agent(ConversationsAgent);
        for own in &making.agents {
            builder = builder.shared_agent(own.clone());
        }
        let ambit = builder.build();
        listeners.iter().for_each(|own| own.register(ambit.bus()));
        let feed = making.feed.listener(app.settings.events.content);
        listen_for_feed(&feed, ambit.bus());

        let mcp = Arc::new(making.pool.servers(&app));
        let mut problems = app.problems.clone();
        let programs = AppPrograms::load(&app, &making.engine, &folder);
        problems.extend(programs.problems());
        problems.extend(check::hooks(&app, &programs));
        let opened = making.opened.clone();
        let processes = ProcessRegistry::load(&app, &making.engine, &folder, opened);
        Ok(Self {
            app,
            processes: Arc::new(processes),
            ambit,
            http,
            propagate: Arc::new(propagate),
            mcp,
            file_versions: FileVersions::default(),
            agents,
            problems,
        })
    }

    /// Brings the tables of the app's models to what their files say. An app without models has no tables.
    async fn prepare_models(&mut self) -> Result<()> {
        let models = &self.processes.models;
        if models.all().all(|model| model.options.is_system) {
            return Ok(());
        }
        let unfit = models.prepare().await?;
        let files = models.all().map(|model| (model.id.clone(), model));
        let files: BTreeMap<_, _> = files.collect();
        let problems = unfit.iter().map(|(id, error)| {
            let file = files.get(id).map_or("", |model| &model.file);
            FileProblem::new(Severity::Error, file, &error.message)
        });
        self.problems.extend(problems);
        let unpaired = self.processes.stores.unpaired_models().await;
        // Where nothing may be written, models that are only read can be used all the same.
        let unpaired = unpaired.unwrap_or_else(|error| {
            Some(format!(
                "it cannot be told whether their database belongs to the store: {error}"
            ))
        });
        let unpaired =
            unpaired.map(|message| FileProblem::new(Severity::Warning, "models", message));
        self.problems.extend(unpaired);
        Ok(())
    }

    /// Everything that is wrong or not used.
    pub fn problems(&self) -> &[FileProblem] {
        &self.problems
    }

    /// The stored contexts as this caller may see them.
    pub fn acting_as(&self, caller: &Caller) -> Ambit {
        self.ambit.acting_as(caller)
    }

    /// An agent with its hooks.
    pub fn agent(&self, id: &str) -> Result<(Arc<AppAgent>, Arc<AgentHooks>)> {
        let agent = self.app.agent(id)?;
        let hooks = self.ready(&agent.id)?.hooks.clone();
        Ok((agent, hooks))
    }

    /// The agents that are refused to somebody for now, because their hooks were ended for their limits.
    pub fn refused_agents(&self) -> impl Iterator<Item = &str> {
        let agents = self.agents.iter();
        agents.filter_map(|(id, agent)| {
            let is_refused = agent.as_ref().is_ok_and(|agent| agent.hooks.is_refused());
            is_refused.then_some(id.as_str())
        })
    }

    /// What traces tell of an agent.
    pub fn agent_facts(&self, id: &str, locale: &str) -> AgentFacts {
        let agent = self.app.agent(id).ok();
        let name = agent.map(|agent| {
            let words = self.app.words(&agent, locale);
            words.fill(&agent.package.name).into_owned()
        });
        AgentFacts {
            id: id.to_owned(),
            name: name.unwrap_or_default(),
            ..AgentFacts::default()
        }
    }

    /// Whether long conversations of this agent are made shorter.
    pub fn truncates(&self, agent: &str) -> Result<bool> {
        Ok(self.truncation(agent)?.is_some())
    }

    /// The strategy that makes long conversations of this agent shorter, if one does.
    pub fn truncation(&self, agent: &str) -> Result<Option<String>> {
        let own = &self.ready(agent)?.truncation;
        let levels = [own, &self.ambit.settings().truncation];
        let rules = truncation::TruncationSettings::resolve(&levels)?;
        Ok(rules.map(|rules| rules.strategy.name().to_owned()))
    }

    /// What makes long conversations of this agent shorter where its package says how, with an observer of the calls that it makes.
    pub(crate) fn observed_truncation(
        &self,
        agent: &str,
        observer: Arc<dyn SummaryObserver>,
    ) -> Result<Option<Arc<dyn truncation::TruncationStrategy>>> {
        let summaries = ModelSummariser {
            observer: Some(observer),
            ..self.ready(agent)?.summaries.clone()
        };
        Ok(summaries.settings().strategy)
    }

    /// What holds in a namespace of memory, for scripts that may keep values of this many bytes.
    pub fn memory(&self, namespace: &str, value_limit: usize) -> memory::MemorySettings {
        let usual = self.ambit.settings().memory;
        let own = self.app.settings.memory.default_ttl.of(namespace);
        let own = own.map(|life| i64::try_from(life.as_millis()).unwrap_or(i64::MAX));
        let default_ttl = own.map_or(usual.default_ttl, Ttl::After);
        memory::MemorySettings {
            default_ttl,
            value_limit,
        }
    }

    fn ready(&self, id: &str) -> Result<&CompiledAgent> {
        match self.agents.get(id) {
            Some(Ok(ready)) => Ok(ready),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::internal(format!("agent {id} was not loaded"))),
        }
    }
}

impl AgentParts {
    fn load(
        making: &LoadOptions,
        folder: &SourceFolder,
        app: &Arc<App>,
        agent: &Arc<AppAgent>,
    ) -> Result<Self> {
        let engine = &making.engine;
        let summaries = ModelSummariser {
            app: app.clone(),
            agent: agent.clone(),
            models: making.models.clone(),
            metrics: making.metrics.clone(),
            observer: None,
            disclosure: making.disclosure,
        };
        let truncation = summaries.settings();
        let behind = Box::new(StorageAgent::new(agent.clone(), truncation.clone()));
        let loader = AgentScriptLoader {
            engine,
            files: folder,
            app,
            agent,
            disclosure: making.disclosure,
        };
        let sessions = SessionScript::load(&loader, behind)?;
        let hooks = AgentHooks::load(engine, folder, app, agent)?;
        let hooks = Arc::new(hooks.counted_in(making.metrics.clone()));
        Ok(Self {
            sessions,
            listeners: EventListeners::load(&loader)?,
            ready: CompiledAgent {
                hooks,
                summaries,
                truncation,
            },
        })
    }
}

/// What storage is set to, as far as the app has a say in it.
fn settings(app: &App, given: &ambit_storage::AmbitSettings) -> ambit_storage::AmbitSettings {
    let mut settings = given.clone();
    let idle = app.settings.responses.retention;
    settings.retention = settings.retention.chats_at_most(public_id::RESPONSE, idle);
    if let Some(idle) = app.defaults.store.expiration {
        settings.retention = settings.retention.histories_at_most(idle);
    }
    settings
}

fn folder(root: &Path) -> Result<SourceFolder, Vec<FileProblem>> {
    let unreadable = |error: std::io::Error| {
        let message = format!("the app's folder cannot be read: {error}");
        vec![FileProblem::new(Severity::Error, "", message)]
    };
    SourceFolder::new(root).map_err(unreadable)
}

fn http_client(app: &App) -> Result<net::HttpClient> {
    let hosts = &app.settings.capabilities.http;
    net::HttpClient::new(&AllowList::parse("capabilities.http", hosts)?)
}

fn wrong_host(error: Error) -> FileProblem {
    FileProblem::new(Severity::Error, "app.yao", error.message)
}

impl LoadOptions {
    /// Loads the app where waiting for the disk and compiling hold nobody up.
    pub async fn load(&self) -> Result<LoadedApp, LoadFailure> {
        let making = self.clone();
        let loaded = tokio::task::spawn_blocking(move || LoadedApp::load(&making)).await;
        let loaded =
            loaded.map_err(|error| Error::internal(format!("loading the app: {error}")))?;
        let mut loaded = loaded.map_err(LoadFailure::Broken)?;
        // Before the models are looked at: their key may be changed while nobody says that it is there.
        if loaded.processes.models.has_encrypted() {
            self.node.announce(&self.stores).await?;
        }
        loaded.prepare_models().await?;
        Ok(loaded)
    }
}

/// Why an app is not loaded.
pub(crate) enum LoadFailure {
    /// Its files are broken.
    Broken(Vec<FileProblem>),
    /// Something else is.
    Failed(Error),
}

impl From<Error> for LoadFailure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<LoadFailure> for Error {
    fn from(failure: LoadFailure) -> Self {
        match failure {
            LoadFailure::Broken(problems) => broken(&problems),
            LoadFailure::Failed(error) => error,
        }
    }
}

/// The app as a whole cannot be used.
fn broken(problems: &[FileProblem]) -> Error {
    let texts: Vec<String> = problems.iter().map(FileProblem::to_string).collect();
    Error::new(
        ErrorCode::ConfigError,
        format!("the app cannot be loaded:\n{}", texts.join("\n")),
    )
}
