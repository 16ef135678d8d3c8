//! One version of an app, ready to run: its agents known to storage, its scripts compiled.

use crate::app::{Agent, App, Problem, Severity, check};
use crate::error::{Code, Error, Result};
use crate::feed::Feed;
use crate::hook::{Hooks, Listeners, Sessions};
use crate::kept::Kept;
use crate::llm::Models;
use crate::mcp;
use crate::net::{self, AllowList};
use crate::process::Catalogue;
use crate::process::store::Opened;
use crate::runtime;
use crate::summarise;
use ambit_script::{Engine, Folder};
use ambit_storage::memory::{self, Ttl};
use ambit_storage::{Ambit, Caller, Stores, truncation};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// An app as turns use it. A reload makes a new one; turns that run keep theirs.
pub(crate) struct Loaded {
    /// The app.
    pub app: Arc<App>,
    /// The same agents over the stores.
    pub ambit: Ambit,
    /// What reaches the hosts that the app lists.
    pub http: net::Client,
    /// What scripts can call by name.
    pub processes: Arc<Catalogue>,
    /// Its tool servers.
    pub mcp: Arc<mcp::Servers>,
    /// The agents that can be asked; of broken ones what is wrong with them.
    agents: BTreeMap<String, Result<Ready>>,
    problems: Vec<Problem>,
}

/// What every version of an app is made with.
#[derive(Clone)]
pub(crate) struct Making {
    /// The app's folder.
    pub root: PathBuf,
    /// The variables that `$ENV.NAME` stands for.
    pub environment: BTreeMap<String, String>,
    pub engine: Engine,
    pub stores: Arc<Stores>,
    pub storage: ambit_storage::Settings,
    pub models: Arc<Models>,
    /// Stores of the app that are open, whichever version of it opened them.
    pub opened: Arc<Opened>,
    pub pool: Arc<mcp::Pool>,
    /// Listeners of the application.
    pub listeners: Option<runtime::Listeners>,
    /// What clients are told of events.
    pub feed: Arc<Feed>,
}

/// The scripts of an agent, compiled.
struct Ready {
    hooks: Arc<Hooks>,
    truncation: truncation::Settings,
}

/// An agent that is being loaded.
struct Parts {
    sessions: Sessions,
    listeners: Option<Arc<Listeners>>,
    ready: Ready,
}

impl Loaded {
    /// Loads an app and compiles all its scripts. `Err` is what makes the app as a whole unusable.
    pub fn load(making: &Making) -> Result<Self, Vec<Problem>> {
        let app = Arc::new(App::load(&making.root, &making.environment)?);
        let folder = folder(&making.root)?;
        let http = reach(&app).map_err(|error| vec![wrong_host(error)])?;
        let mut builder =
            Ambit::builder(making.stores.clone()).settings(settings(&app, &making.storage));
        let (mut agents, mut listeners) = (BTreeMap::new(), Vec::new());
        for agent in app.agents.values().flatten() {
            let ready = match Parts::load(making, &folder, &app, agent) {
                Ok(parts) => {
                    builder = builder.agent(parts.sessions);
                    listeners.extend(parts.listeners);
                    Ok(parts.ready)
                }
                Err(error) => Err(error),
            };
            agents.insert(agent.id.clone(), ready);
        }
        let ambit = builder.build();
        if let Some(listeners) = &making.listeners {
            listeners(&ambit);
        }
        listeners.iter().for_each(|own| own.register(ambit.bus()));
        making
            .feed
            .listen(ambit.bus(), app.settings.has_content_in_events);

        let mcp = Arc::new(making.pool.servers(&app));
        let mut problems = app.problems.clone();
        problems.extend(check::scripts(&app, &making.engine));
        let opened = making.opened.clone();
        let processes = Catalogue::load(&app, &making.engine, &folder, opened);
        Ok(Self {
            app,
            processes: Arc::new(processes),
            ambit,
            http,
            mcp,
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
            Problem::new(Severity::Error, file, &error.message)
        });
        self.problems.extend(problems);
        Ok(())
    }

    /// Everything that is wrong or not used.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The stored contexts as this caller may see them.
    pub fn acting_as(&self, caller: &Caller) -> Ambit {
        self.ambit.acting_as(caller)
    }

    /// An agent with its hooks.
    pub fn agent(&self, id: &str) -> Result<(Arc<Agent>, Arc<Hooks>)> {
        let agent = self.app.agent(id)?;
        let hooks = self.ready(&agent.id)?.hooks.clone();
        Ok((agent, hooks))
    }

    /// Whether long conversations of this agent are made shorter.
    pub fn truncates(&self, agent: &str) -> Result<bool> {
        let own = &self.ready(agent)?.truncation;
        let levels = [own, &self.ambit.settings().truncation];
        Ok(truncation::Settings::resolve(&levels)?.is_some())
    }

    /// What holds in a namespace of memory, for scripts that may keep values of this many bytes.
    pub fn memory(&self, namespace: &str, value_limit: usize) -> memory::Settings {
        let usual = self.ambit.settings().memory;
        let default_ttl = match self.app.settings.memory_ttl.get(namespace) {
            None => usual.default_ttl,
            Some(0) => Ttl::Never,
            Some(seconds) => Ttl::After(i64::try_from(seconds * 1_000).unwrap_or(i64::MAX)),
        };
        memory::Settings {
            default_ttl,
            value_limit,
        }
    }

    fn ready(&self, id: &str) -> Result<&Ready> {
        match self.agents.get(id) {
            Some(Ok(ready)) => Ok(ready),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::internal(format!("agent {id} was not loaded"))),
        }
    }
}

impl Parts {
    fn load(making: &Making, folder: &Folder, app: &Arc<App>, agent: &Arc<Agent>) -> Result<Self> {
        let engine = &making.engine;
        let truncation = summarise::settings(app, agent, &making.models)?;
        let behind = Box::new(Kept::new(agent.clone(), truncation.clone()));
        let sessions = Sessions::load(engine, folder, (app, agent), behind)?;
        let hooks = Arc::new(Hooks::load(engine, folder, app, agent)?);
        Ok(Self {
            sessions,
            listeners: Listeners::load(engine, folder, (app, agent))?,
            ready: Ready { hooks, truncation },
        })
    }
}

/// What storage is set to, as far as the app has a say in it.
fn settings(app: &App, given: &ambit_storage::Settings) -> ambit_storage::Settings {
    let mut settings = given.clone();
    if let Some(seconds) = app.defaults.expiration.filter(|seconds| *seconds > 0) {
        let idle = Duration::from_secs(seconds);
        settings.retention = settings.retention.histories_at_most(idle);
    }
    settings
}

fn folder(root: &Path) -> Result<Folder, Vec<Problem>> {
    let unreadable = |error: std::io::Error| {
        let message = format!("the app's folder cannot be read: {error}");
        vec![Problem::new(Severity::Error, "", message)]
    };
    Folder::new(root).map_err(unreadable)
}

fn reach(app: &App) -> Result<net::Client> {
    net::Client::new(&AllowList::parse(&app.settings.http)?)
}

fn wrong_host(error: Error) -> Problem {
    Problem::new(Severity::Error, "app.yao", error.message)
}

impl Making {
    /// Loads the app where waiting for the disk and compiling hold nobody up.
    pub async fn load(&self) -> Result<Loaded> {
        let making = self.clone();
        let loaded = tokio::task::spawn_blocking(move || Loaded::load(&making)).await;
        let loaded =
            loaded.map_err(|error| Error::internal(format!("loading the app: {error}")))?;
        let mut loaded = loaded.map_err(|problems| broken(&problems))?;
        loaded.prepare_models().await?;
        Ok(loaded)
    }
}

/// The app as a whole cannot be used.
pub(crate) fn broken(problems: &[Problem]) -> Error {
    let texts: Vec<String> = problems.iter().map(Problem::to_string).collect();
    Error::new(
        Code::ConfigError,
        format!("the app cannot be loaded:\n{}", texts.join("\n")),
    )
}
