//! The installation that the cases work on: the index in the store under test, called `main`, and this process's
//! memory as another store, called `other`.

use crate::stores::Store;
use ambit_storage::conformance::DriverFixture;
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{Driver, DriverOptions, FaultPoints};
use ambit_storage::storage::{ChatHistoryStorage, Message, StorageKind};
use ambit_storage::{
    Agent, Ambit, AmbitSettings, Caller, IndexSweepReport, LiveAgent, Result, SessionIdentity,
    SessionQuery, Stores,
};
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub type Case = (&'static str, fn(&'static Store) -> BoxFuture<'static, ()>);

/// A table of cases, each named like the function that it runs.
macro_rules! cases {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), |store| Box::pin($name(store)))),*] };
}
pub(crate) use cases;

pub const DAY: Duration = Duration::from_secs(24 * 3600);

/// An agent of the group `team` that keeps its conversations in these drivers.
pub struct Member {
    pub name: &'static str,
    pub drivers: &'static [&'static str],
}

impl Agent for Member {
    fn name(&self) -> &str {
        self.name
    }

    fn group(&self, _caller: &Caller) -> Result<Option<String>> {
        Ok(Some("team".to_owned()))
    }

    fn drivers(&self, _scope: &str) -> Option<Vec<String>> {
        Some(self.drivers.iter().map(|name| (*name).to_owned()).collect())
    }
}

/// A note: a storage of an application's own kind.
pub struct Notes;

impl StorageKind for Notes {
    const PREFIX: &'static str = "notes";
    type Item = String;
}

type Hook = Box<dyn FnOnce() + Send>;

/// What happens when a point is reached for the next time.
#[derive(Clone, Default)]
pub struct Hooks(Arc<Mutex<Option<(&'static str, Hook)>>>);

impl Hooks {
    /// Does this when the point is reached; the work that reaches it waits.
    pub fn at(&self, point: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let runtime = tokio::runtime::Handle::current();
        let hook = move || tokio::task::block_in_place(|| runtime.block_on(work));
        *self.0.lock().unwrap() = Some((point, Box::new(hook)));
    }

    pub fn are_done(&self) -> bool {
        self.0.lock().unwrap().is_none()
    }

    fn reach(&self, point: &str) {
        let hook = self
            .0
            .lock()
            .unwrap()
            .take_if(|(awaited, _)| *awaited == point);
        if let Some((_, hook)) = hook {
            hook();
        }
    }
}

pub struct Setting {
    pub options: DriverOptions,
    pub main: Arc<dyn Driver>,
    pub other: Arc<dyn Driver>,
    pub hooks: Hooks,
    /// Lives as long as the case: a store's folder goes with it.
    _place: Box<dyn DriverFixture>,
}

impl Setting {
    pub async fn of(store: &'static Store) -> Self {
        let fresh = store.fresh();
        let hooks = Hooks::default();
        let reached = hooks.clone();
        let options = DriverOptions {
            clock: fresh.clock(),
            fault_points: FaultPoints::new(move |point| reached.reach(point)),
            ..DriverOptions::default()
        };
        let other = DriverOptions {
            clock: fresh.clock(),
            ..DriverOptions::default()
        };
        Self {
            options,
            main: fresh.open().await,
            other: Arc::new(MemoryDriver::new(other)),
            hooks,
            _place: Box::new(fresh),
        }
    }

    /// An installation over these stores with the agents `Main`, `Other` and `Both`, each named after its drivers.
    pub fn ambit(&self, settings: AmbitSettings) -> Ambit {
        let mut builder = Ambit::builder(self.stores()).settings(settings);
        for (name, drivers) in [
            ("Main", &["main"][..]),
            ("Other", &["other"]),
            ("Both", &["main", "other"]),
        ] {
            builder = builder.agent(Member { name, drivers });
        }
        builder.build()
    }

    pub fn stores(&self) -> Stores {
        let stores = Stores::builder(self.options.clone())
            .driver("main", self.main.clone())
            .driver("other", self.other.clone())
            .default_drivers(&["main"]);
        stores.build().unwrap()
    }

    pub fn pass(&self, time: Duration) {
        self.options.clock.advance(time);
    }
}

pub async fn open(ambit: &Ambit, agent: &str, chat: &str) -> LiveAgent {
    let agent = ambit.agent(agent).unwrap();
    agent.for_chat(chat).await.unwrap()
}

/// Adds a message and saves it.
pub async fn say(agent: &LiveAgent, text: &str) -> Result<()> {
    let history = agent.history();
    history.add_message(Message::user(text)).await?;
    agent.context().save().await.map(|_| ())
}

pub async fn texts(agent: &LiveAgent) -> Vec<String> {
    let messages = agent.history().messages().await.unwrap();
    messages.iter().map(|message| message.text()).collect()
}

/// The chats whose history is in the index, oldest first.
pub async fn chats(ambit: &Ambit) -> Vec<String> {
    let found = SessionQuery::every(ambit).for_storage::<ChatHistoryStorage>();
    let found = found.page(None, 1_000).await.unwrap().items;
    let chat = |identity: &SessionIdentity| identity.chat_name().unwrap().to_owned();
    found.iter().map(|row| chat(&row.identity)).collect()
}

/// A whole walk of the patrol.
pub async fn patrol(ambit: &Ambit) -> IndexSweepReport {
    let (mut patrol, mut done) = (ambit.index_sweep(), IndexSweepReport::default());
    while let Some(step) = patrol.step(100).await.unwrap() {
        done.rows += step.rows;
        done.retired += step.retired;
        done.swept += step.swept;
        done.busy += step.busy;
        done.failed += step.failed;
    }
    done
}
