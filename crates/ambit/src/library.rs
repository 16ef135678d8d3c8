//! The library: an app that runs inside the program that uses it.

mod agent;
mod app_source;
mod builder;
mod response;
mod response_stream;
mod session;
mod turn;

pub use agent::AgentHandle;
pub use app_source::AppSource;
pub use builder::AmbitBuilder;
pub use response::Response;
pub use response_stream::{ResponseStream, TextStream};
pub use session::{AgentSession, AgentSessionBuilder};
pub use turn::TurnBuilder;

use ambit_knowledge::KnowledgeReach;
use ambit_runtime::DataConstraints;
use ambit_runtime::inspect::memory::MemorySelector;
use ambit_runtime::{Authorized, CallerReach, Error, ErrorCode, Result, Runtime};
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::event::{After, AfterFn, Before, BeforeFn, EventBus};
use ambit_storage::memory::Memory;
use ambit_storage::{Caller, SessionQuery, Stores};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// How long turns that still run may take when an app is closed.
const GRACE: Duration = Duration::from_secs(30);

/// An app with its agents, over its stores.
///
/// Cheap to clone; the clones are the same app. It acts as the program itself, which reaches everything of one tenant, until
/// [`acting_as`](Self::acting_as) limits it to a caller.
///
/// Queries take it by reference: [`Context::of(&ambit, "support")`](crate::Context::of),
/// [`Usage::all(&ambit)`](crate::Usage::all).
///
/// # Examples
///
/// ```
/// use ambit::{Ambit, Context};
///
/// # #[tokio::main]
/// # async fn main() -> ambit::Result<()> {
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");
/// let ambit = Ambit::builder(folder).in_memory().open().await?;
/// let agent = ambit.agent("welcome")?.for_user_id("ann").chat("billing").await?;
/// agent.respond("Hello").await?;
///
/// let found = Context::of(&ambit, "welcome")?.for_user("ann").first().await?;
/// assert_eq!(found.unwrap().chat_name(), Some("billing"));
/// # ambit.close().await
/// # }
/// ```
#[derive(Clone)]
pub struct Ambit {
    inner: Arc<AmbitInner>,
    /// Who acts; of the program itself only the tenant.
    authorized: Authorized,
    is_program: bool,
}

/// What all clones share.
struct AmbitInner {
    runtime: Runtime,
    listeners: EventBus,
    /// The folder of an app that was given as texts, removed with the last clone.
    _folder: Option<TempDir>,
}

impl Ambit {
    /// Opens an app: that of a folder, with its data in the file `ambit.db` beside its files as `ambit serve` has it, or one
    /// that is given as pairs of path and text, with its data in memory.
    ///
    /// # Errors
    ///
    /// Fails where the app as a whole cannot be used. An agent that is broken fails when it is asked for.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> ambit::Result<()> {
    /// let ambit = ambit::Ambit::open([
    ///     ("app.yao", "{}"),
    ///     ("assistants/greeter/package.yao", r#"{ "name": "Greeter", "connector": "scripted" }"#),
    ///     ("assistants/greeter/prompts.yml", "- { role: system, content: You greet people. }"),
    ///     ("connectors/scripted.conn.yao", r#"{ "type": "scripted", "options": { "rules": [{ "reply": "Hello!" }] } }"#),
    /// ])
    /// .await?;
    /// assert_eq!(ambit.agents(), ["greeter"]);
    /// let response = ambit.agent("greeter")?.for_user("ann").respond("Good morning").await?;
    /// assert_eq!(response.text, "Hello!");
    /// # ambit.close().await
    /// # }
    /// ```
    pub async fn open(app: impl Into<AppSource>) -> Result<Self> {
        Self::builder(app).open().await
    }

    /// Starts to open an app with stores, variables, tools or listeners of the program's own.
    pub fn builder(app: impl Into<AppSource>) -> AmbitBuilder {
        AmbitBuilder::new(app.into())
    }

    /// Returns the agent with this id.
    ///
    /// # Errors
    ///
    /// Fails where there is no such agent, or where it is broken.
    pub fn agent(&self, id: &str) -> Result<AgentHandle> {
        AgentHandle::new(self.clone(), id)
    }

    /// Returns the ids of all agents that can be used.
    pub fn agents(&self) -> Vec<String> {
        let app = self.runtime().app();
        let agents = app.agents.iter().filter(|(_, agent)| agent.is_ok());
        agents.map(|(id, _)| id.clone()).collect()
    }

    /// Returns the same app, limited to what this caller reaches: what their constraints say, without any their team's data or
    /// their own.
    pub fn acting_as(&self, mut caller: Authorized) -> Self {
        if caller.constraints.is_none() {
            caller.constraints = DataConstraints::usual(&caller);
        }
        Self {
            authorized: caller,
            is_program: false,
            inner: self.inner.clone(),
        }
    }

    /// Returns the same app, acting as the program itself in another tenant.
    pub fn for_tenant(&self, tenant: impl Into<String>) -> Self {
        let tenant_id = Some(tenant.into());
        Self {
            authorized: Authorized {
                tenant_id,
                ..Authorized::default()
            },
            is_program: true,
            inner: self.inner.clone(),
        }
    }

    /// True where the handle reaches less than the whole app.
    pub(crate) fn is_limited(&self) -> bool {
        !self.is_program || self.authorized != Authorized::default()
    }

    /// Returns the memory of a user, which all agents of the app share: `ctx.memory.user` in scripts.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> ambit::Result<()> {
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");
    /// # let ambit = ambit::Ambit::builder(folder).in_memory().open().await?;
    /// let memory = ambit.user_memory("ann").await?;
    /// memory.set("name", "Ann", None).await?;
    /// assert_eq!(memory.incr("visits", 1.0).await?.as_u64(), Some(1));
    /// assert_eq!(memory.keys(None).await?, ["name", "visits"]);
    /// # ambit.close().await
    /// # }
    /// ```
    pub async fn user_memory(&self, user_id: &str) -> Result<Memory> {
        let owner = Authorized {
            user_id: Some(user_id.to_owned()),
            ..self.authorized.clone()
        };
        self.memory("user", user_id, &owner).await
    }

    /// Erases what is stored of a user of this tenant: their conversations with all agents, their memory, their keys of the store, the
    /// documents that they have added to collections, and their votes there. Returns once the last byte is gone.
    ///
    /// # Errors
    ///
    /// Fails where the app acts as a caller, and where a conversation could not be erased, after all others were.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> ambit::Result<()> {
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");
    /// # let ambit = ambit::Ambit::builder(folder).in_memory().open().await?;
    /// let memory = ambit.user_memory("ann").await?;
    /// memory.set("name", "Ann", None).await?;
    /// ambit.erase_user("ann").await?;
    /// assert!(memory.keys(None).await?.is_empty());
    /// # ambit.close().await
    /// # }
    /// ```
    pub async fn erase_user(&self, user_id: &str) -> Result<()> {
        if !self.is_program {
            let message = "a user can be erased by the program itself, not by a caller";
            return Err(Error::new(ErrorCode::PermissionDenied, message));
        }
        let (base, reach) = (
            self.runtime().knowledge()?,
            CallerReach::of(&self.authorized),
        );
        let contexts = SessionQuery::every(self.index()).for_user(user_id);
        let report = contexts.remove().await?;
        self.user_memory(user_id).await?.clear().await?;
        let space = Space::user_store(reach.tenant(), user_id);
        let store = self.stores().index()?.driver().clone();
        store
            .commit(Batch::of([BatchWrite::Remove { space }]))
            .await?;
        // Behind the turns, whose hits are counted when they have ended.
        base.store_hits().await?;
        let jobs = base.erase_person(reach.tenant(), user_id).await?;
        for job in jobs {
            base.finished_job(&reach, &job).await?;
        }
        if let Some((_, error)) = report.failed.into_iter().next() {
            return Err(error.into());
        }
        match report.skipped.into_iter().next() {
            Some((context, why)) => {
                let message = format!("{} was not erased: {why}", context.key());
                Err(Error::new(ErrorCode::Conflict, message))
            }
            None => Ok(()),
        }
    }

    /// Returns the memory of a team, `ctx.memory.team` in scripts.
    pub async fn team_memory(&self, team_id: &str) -> Result<Memory> {
        let owner = Authorized {
            team_id: Some(team_id.to_owned()),
            ..self.authorized.clone()
        };
        self.memory("team", team_id, &owner).await
    }

    async fn memory(&self, space: &str, id: &str, owner: &Authorized) -> Result<Memory> {
        let selector = MemorySelector {
            space,
            owner: Some(id),
            assistant_id: None,
            context: None,
        };
        // The program reaches what the owner reaches; a caller may be somebody else.
        let who = match self.is_program {
            true => owner,
            false => &self.authorized,
        };
        Ok(self.runtime().memory(who, selector).await?.memory)
    }

    /// Asks this listener before each `E`, in every turn and every save of this process; it may change the event or veto it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ambit::event::{BeforeSend, Verdict};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> ambit::Result<()> {
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");
    /// # let ambit = ambit::Ambit::builder(folder).in_memory().open().await?;
    /// ambit.before::<BeforeSend>(async |event| {
    ///     let text = event.message.content.words();
    ///     Ok(if text.contains("password") { Verdict::veto("no passwords here") } else { Verdict::Continue })
    /// });
    /// let refused = ambit.agent("welcome")?.for_user_id("ann").respond("My password is 1234").await;
    /// assert!(refused.unwrap_err().message.contains("no passwords here"));
    /// # ambit.close().await
    /// # }
    /// ```
    pub fn before<E: Before>(&self, listener: impl BeforeFn<E>) {
        self.inner
            .listeners
            .before(move |event: &mut E| Box::pin(listener(event)));
    }

    /// Tells this listener after each `E`, once it is durable.
    pub fn after<E: After>(&self, listener: impl AfterFn<E>) {
        self.inner.listeners.after(listener);
    }

    /// Returns the stores.
    pub fn stores(&self) -> &Arc<Stores> {
        self.runtime().stores()
    }

    /// Returns the runtime below: streams, traces, chats and all else that a server of one's own needs.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    /// Takes no more requests, gives running turns 30 seconds, and closes the stores. What has not ended by then goes on where
    /// the app is opened next.
    pub async fn close(&self) -> Result<()> {
        let ended = self.runtime().close(GRACE).await;
        self.stores().close().await?;
        ended
    }

    /// The stored contexts as whoever acts sees them, with the agents as they are now.
    fn index(&self) -> ambit_storage::Ambit {
        self.runtime().contexts_of(&self.caller())
    }

    fn caller(&self) -> Caller {
        let caller = self.authorized.caller();
        match self.is_program {
            true => caller.as_system(),
            false => caller,
        }
    }
}

impl From<&Ambit> for ambit_storage::Ambit {
    fn from(ambit: &Ambit) -> Self {
        ambit.index()
    }
}

impl fmt::Debug for Ambit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ambit")
            .field("app", &self.runtime().app().root)
            .finish_non_exhaustive()
    }
}
