//! The runtime: one app over its stores, and every way into it.

mod running;

use crate::access::Authorized;
use crate::app::{App, Problem, Severity};
use crate::error::{Code, Error, Result};
use crate::live::{Stop, Turns};
use crate::llm::Models;
use crate::loaded::Loaded;
use crate::request::Request;
use crate::stream::{self, Reader};
use crate::tool::Toolbox;
use crate::turn;
use ambit_script::Engine;
use ambit_storage::{Ambit, Stores, memory};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::oneshot;
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

/// A request that was taken on.
pub struct Started {
    /// The turn.
    pub request_id: String,
    /// The run context.
    pub context_id: String,
    /// The chat's name.
    pub chat_id: String,
    /// The trace.
    pub trace_id: String,
    /// The agent that was asked.
    pub assistant_id: String,
    /// The turn's stream from its beginning.
    pub stream: Reader,
}

/// What is known of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnInfo {
    /// The turn.
    pub request_id: String,
    /// The run context.
    pub context_id: String,
    /// The chat's name.
    pub chat_id: String,
    /// The agent that was asked.
    pub assistant_id: String,
    /// How far it is.
    pub status: Status,
    /// The number of the stream's last entry.
    pub last_event: u64,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// Milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// The failure, if it failed: `{message, code}`.
    pub error: Option<Value>,
    /// The response, once it is there.
    pub response: Option<Value>,
}

/// How far a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Under way, on some node.
    Running,
    /// It ended as it should.
    Completed,
    /// It failed.
    Error,
    /// It was stopped.
    Cancelled,
}

/// What a person adds to a turn that is running.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interrupt {
    /// At once instead of at the next safe point.
    pub is_forced: bool,
    /// New messages.
    pub messages: Vec<Value>,
    /// More metadata.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// What becomes of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    /// After the current model call or tool round.
    NextStep,
    /// The model is called again at once.
    Restart,
    /// The turn ends.
    Cancel,
}

impl Runtime {
    /// Loads the app and begins to take up what other nodes, or this one, left behind.
    pub async fn open(settings: Settings) -> Result<Self> {
        let engine = Engine::new(&ambit_script::Settings::default(), crate::ctx::surface())
            .map_err(|error| Error::internal(error.to_string()))?;
        let memory = settings.storage.memory;
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

    /// Takes a request on: its conversation is held and its input is durable when this returns. The turn goes on by itself.
    pub async fn start(&self, request: Request) -> Result<Started> {
        if *lock(&self.0.is_closing) {
            return Err(stopping());
        }
        let (tell, told) = oneshot::channel();
        let core = self.0.clone();
        // A task of its own: whoever asked may leave at any moment, and a turn half begun would hold the conversation.
        self.0.spawn(async move {
            let begun = match turn::begin(&core, request).await {
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
async fn upkeep(core: std::sync::Weak<Core>) {
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

fn stopping() -> Error {
    let message = "the server is being stopped; send the request again in a moment";
    Error::new(Code::Unavailable, message)
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
