//! The runtime: one app over its stores, and every way into it.

mod info;

pub use info::{Applied, Interrupt, Started, Status, TurnInfo};

use crate::access::Authorized;
use crate::app::watch::Watch;
use crate::app::{App, Problem, Severity};
use crate::error::{Code, Error, Result};
use crate::journal::{self, Names};
use crate::live::{Live, Stop, Turns};
use crate::llm::Models;
use crate::loaded::Loaded;
use crate::request::Request;
use crate::stream::{self, Reader};
use crate::tool::Toolbox;
use crate::{requests, turn};
use ambit_script::Engine;
use ambit_storage::batch::{Batch, NewEntry, Write};
use ambit_storage::driver::Part;
use ambit_storage::json::Json;
use ambit_storage::{Ambit, Stores, ids, lease, memory};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;
use tokio::task::JoinSet;

/// How often a node looks for turns that nobody runs any more.
const LOOK: Duration = Duration::from_secs(1);

/// What a runtime is made of.
pub struct Settings {
    /// The app's folder.
    pub app: PathBuf,
    /// Where everything is kept.
    pub stores: Arc<Stores>,
    /// What storage may be set to.
    pub storage: ambit_storage::Settings,
    /// The variables that `$ENV.NAME` stands for; `.env` of the app counts before them.
    pub environment: BTreeMap<String, String>,
    /// Changed files take effect at once, and errors show stacks.
    pub is_development: bool,
    /// The tools of servers that agents name.
    pub tools: Arc<dyn Toolbox>,
    /// Listeners of the application, registered on every version of the app.
    pub listeners: Option<Listeners>,
}

/// Registers listeners.
pub type Listeners = Arc<dyn Fn(&Ambit) + Send + Sync>;

/// An app over its stores. Cheap to clone; the clones are the same runtime.
#[derive(Clone)]
pub struct Runtime(Arc<Core>);

/// What all turns share.
pub(crate) struct Core {
    pub stores: Arc<Stores>,
    pub memory: memory::Settings,
    pub tools: Arc<dyn Toolbox>,
    pub turns: Turns,
    pub models: Models,
    pub is_development: bool,
    engine: Engine,
    storage: ambit_storage::Settings,
    root: PathBuf,
    environment: BTreeMap<String, String>,
    listeners: Option<Listeners>,
    loaded: RwLock<Arc<Loaded>>,
    tasks: Mutex<JoinSet<()>>,
    is_closing: Mutex<bool>,
}

impl Runtime {
    /// Loads the app and begins to take up what other nodes, or this one, left behind.
    pub async fn open(settings: Settings) -> Result<Self> {
        let engine = Engine::new(&ambit_script::Settings::default(), crate::ctx::surface())
            .map_err(|error| Error::internal(error.to_string()))?;
        let memory = settings.storage.memory;
        let watch = settings.is_development.then(|| Watch::new(&settings.app));
        let load = Loaded::load(
            (&settings.app, &settings.environment),
            &engine,
            (&settings.stores, &settings.storage),
        );
        let loaded = load.map_err(|problems| broken(&problems))?;
        let core = Arc::new(Core {
            stores: settings.stores,
            memory,
            tools: settings.tools,
            turns: Turns::default(),
            models: Models::new(),
            is_development: settings.is_development,
            engine,
            storage: settings.storage,
            root: settings.app,
            environment: settings.environment,
            listeners: settings.listeners,
            loaded: RwLock::new(Arc::new(loaded)),
            tasks: Mutex::default(),
            is_closing: Mutex::new(false),
        });
        core.listen();
        let runtime = Self(core);
        runtime.0.spawn(upkeep(Arc::downgrade(&runtime.0)));
        if let Some(watch) = watch {
            runtime.0.spawn(follow(Arc::downgrade(&runtime.0), watch));
        }
        Ok(runtime)
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
    pub fn reload(&self) -> Result<Vec<Problem>> {
        let core = &self.0;
        let load = Loaded::load(
            (&core.root, &core.environment),
            &core.engine,
            (&core.stores, &core.storage),
        );
        let loaded = load.map_err(|problems| broken(&problems))?;
        let errors: Vec<Problem> = loaded
            .problems()
            .into_iter()
            .filter(|problem| problem.severity == Severity::Error)
            .collect();
        if !errors.is_empty() && !core.is_development {
            return Err(broken(&errors));
        }
        let problems = loaded.problems();
        *core.loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        core.listen();
        Ok(problems)
    }

    /// Loads the app's files again beside the turns that run, and logs what came of it.
    pub async fn reload_and_tell(&self) {
        let runtime = self.clone();
        let loading = tokio::task::spawn_blocking(move || runtime.reload());
        let Ok(loaded) = loading.await else {
            tracing::error!("the app's files were not loaded again: loading them failed");
            return;
        };
        match loaded {
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
    pub async fn start(&self, request: Request) -> Result<Started> {
        if *lock(&self.0.is_closing) {
            return Err(Error::new(
                Code::Unavailable,
                "the server is being stopped; send the request again in a moment",
            ));
        }
        let turn = turn::begin(&self.0, request).await?;
        let started = turn.started()?;
        self.0.spawn(turn.run());
        Ok(started)
    }

    /// What is known of a turn.
    pub async fn turn(&self, who: &Authorized, request_id: &str) -> Result<TurnInfo> {
        if let Some(live) = self.live(who, request_id) {
            return Ok(live.info_now());
        }
        let (place, mut info) = self.found(who, request_id).await?;
        // What is stored of a turn is not written again with each entry; its log knows how long it is.
        let last = stream::last_number(place.driver.as_ref(), &place.names.events()).await?;
        info.last_event = last.unwrap_or(info.last_event);
        Ok(info)
    }

    /// A turn's stream behind this entry, wherever it runs or ran.
    pub async fn stream(&self, who: &Authorized, request_id: &str, after: u64) -> Result<Reader> {
        if let Some(live) = self.live(who, request_id) {
            return live.log.reader(after);
        }
        let (place, _) = self.found(who, request_id).await?;
        let log = place.names.events();
        let expired = || {
            Error::new(
                Code::StreamExpired,
                "the stream of this request is no longer kept",
            )
        };
        Reader::stored(place.driver, log, after)
            .await?
            .ok_or_else(expired)
    }

    /// Stops a turn, wherever it runs. One that has ended stays as it is.
    pub async fn cancel(&self, who: &Authorized, request_id: &str) -> Result<()> {
        if let Some(live) = self.live(who, request_id) {
            live.stop(Stop::Cancelled);
            return Ok(());
        }
        let (place, info) = self.found(who, request_id).await?;
        if info.status == Status::Running {
            lease::ask_to_end(place.driver.as_ref(), &place.space.lease(), 0).await?;
        }
        Ok(())
    }

    /// Adds to a running turn, or stops it. The turn is named by its context's or by its own id.
    pub async fn interrupt(
        &self,
        who: &Authorized,
        id: &str,
        interrupt: Interrupt,
    ) -> Result<Applied> {
        let id = journal::request_id(id);
        let applied = match (interrupt.is_forced, interrupt.messages.is_empty()) {
            (false, _) => Applied::NextStep,
            (true, false) => Applied::Restart,
            (true, true) => Applied::Cancel,
        };
        if let Some(live) = self.live(who, id) {
            let too_late = || {
                Error::new(
                    Code::TooLate,
                    "the turn is about to end; send the messages as a new request",
                )
            };
            if applied != Applied::Cancel && !live.add(interrupt) {
                return Err(too_late());
            }
            match applied {
                Applied::NextStep => {}
                Applied::Restart => live.stop(Stop::Restart),
                Applied::Cancel => live.stop(Stop::Cancelled),
            }
            return Ok(applied);
        }
        let (place, info) = self.found(who, id).await?;
        if info.status != Status::Running {
            return Err(Error::new(
                Code::TooLate,
                "the turn has ended; send the messages as a new request",
            ));
        }
        let entry = NewEntry {
            id: ids::unguessable(),
            body: Json::of(&interrupt)?,
        };
        let write = Write::Append {
            log: place.names.inbox(),
            entries: vec![entry],
        };
        place.driver.commit(Batch::of([write])).await?;
        if applied != Applied::NextStep {
            lease::ask_to_end(place.driver.as_ref(), &place.space.lease(), 0).await?;
        }
        Ok(applied)
    }

    /// The stored contexts as this caller may see them.
    pub fn contexts(&self, who: &Authorized) -> Ambit {
        self.0.loaded().acting_as(&who.caller())
    }

    /// The stores.
    pub fn stores(&self) -> &Arc<Stores> {
        &self.0.stores
    }

    /// Takes no more requests, gives running turns this long, and leaves the rest to be taken up later.
    pub async fn close(&self, grace: Duration) -> Result<()> {
        *lock(&self.0.is_closing) = true;
        let running = self.0.turns.all();
        let all_done = futures::future::join_all(running.iter().map(|live| live.ended()));
        if tokio::time::timeout(grace, all_done).await.is_err() {
            let left = self.0.turns.all();
            left.iter().for_each(|live| live.stop(Stop::Left));
            futures::future::join_all(left.iter().map(|live| live.ended())).await;
        }
        let mut tasks = std::mem::take(&mut *lock(&self.0.tasks));
        tasks.shutdown().await;
        Ok(())
    }

    /// A turn that runs here, if the caller may see it.
    fn live(&self, who: &Authorized, id: &str) -> Option<Arc<Live>> {
        let live = self.0.turns.get(id)?;
        live.is_visible_to(who).then_some(live)
    }

    async fn found(&self, who: &Authorized, request_id: &str) -> Result<(Found, TurnInfo)> {
        let unknown = || Error::not_found("request", request_id);
        let found = requests::find(&self.contexts(who), who, request_id).await?;
        let names = Names::new(found.space.clone(), request_id);
        let entry = found
            .driver
            .get(&names.info(), Part::Whole)
            .await?
            .ok_or_else(unknown)?;
        let place = Found {
            names,
            space: found.space,
            driver: found.driver,
        };
        Ok((place, entry.value.to()?))
    }
}

/// Where a stored turn is.
struct Found {
    names: Names,
    space: ambit_storage::address::Space,
    driver: Arc<dyn ambit_storage::driver::Driver>,
}

impl Core {
    /// The app's present version.
    pub fn loaded(&self) -> Arc<Loaded> {
        self.loaded
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Runs a task that ends with the runtime.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// How streams and traces are kept.
    pub fn stream_options(&self) -> stream::Options {
        stream::Options::default()
    }

    fn listen(&self) {
        if let Some(listeners) = &self.listeners {
            listeners(&self.loaded().ambit);
        }
    }
}

/// Takes up turns that nobody runs any more, for as long as the runtime is there.
async fn upkeep(core: Weak<Core>) {
    loop {
        let Some(core) = core.upgrade() else {
            return;
        };
        if let Err(error) = turn::recover_all(&core).await {
            tracing::warn!(%error, "open turns could not be looked for");
        }
        drop(core);
        tokio::time::sleep(LOOK).await;
    }
}

/// Loads the app again when its files have changed, for as long as the runtime is there.
async fn follow(core: Weak<Core>, mut watch: Watch) {
    loop {
        watch.changed().await;
        let Some(core) = core.upgrade() else {
            return;
        };
        Runtime(core).reload_and_tell().await;
    }
}

fn broken(problems: &[Problem]) -> Error {
    let texts: Vec<String> = problems.iter().map(Problem::to_string).collect();
    Error::new(
        Code::ConfigError,
        format!("the app cannot be loaded:\n{}", texts.join("\n")),
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
