//! The way to one server for one set of credentials: opened when it is first needed, opened again when it is gone, with
//! back-off.

use super::names;
use super::request::{AnswerDeadline, McpListKind, McpRequest};
use super::session::{McpFailure, McpSession, failure};
use super::transport::{self, ConnectFailure, ConnectionTarget};
use crate::error::{Error, Result, ServerFailure};
use crate::lock::lock;
use crate::tool::McpLists;
use ambit_storage::clock::backoff;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The wait behind the first failure; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Who asks meanwhile waits so long, and is refused if it takes longer.
const PATIENCE: Duration = Duration::from_millis(500);
/// What has lasted so long does not count as a failure when it ends.
const STEADY: Duration = Duration::from_secs(10);
/// So many calls without an answer in time, one after another, make a connection useless.
const SILENT: u32 = 3;

/// A way to a server.
pub struct McpConnection {
    target: Arc<ConnectionTarget>,
    state: Mutex<ConnectionState>,
}

struct ConnectionState {
    phase: ConnectionPhase,
    /// Failures without an answer in between.
    failures: u32,
    /// Calls that were not answered in time, without an answer in between.
    timeouts: u32,
    /// Until when nothing is tried, and what went wrong.
    wait: Option<(Instant, ConnectFailure)>,
    used: Instant,
    /// The tools, as they were listed last.
    tools: Arc<McpLists>,
    /// What each agent was told of them.
    known_tools: BTreeMap<String, Arc<McpLists>>,
}

/// A tool that has come or gone: its name, and whether it is there now.
pub type ToolChange = (String, bool);

#[derive(Clone)]
enum ConnectionPhase {
    Closed,
    Opening(ConnectionAttempt),
    Open(Arc<McpSession>),
}

/// What comes before a request can be sent.
enum ConnectionStep {
    /// The connection is open.
    Use(Arc<McpSession>),
    /// It is being opened.
    Join(ConnectionAttempt),
    /// The last attempt failed, and the next one may begin at this time.
    Wait(Instant, ConnectFailure),
}

type ConnectionAttempt = Shared<BoxFuture<'static, Result<Arc<McpSession>, ConnectFailure>>>;

impl McpConnection {
    /// Nothing is opened yet.
    pub fn new(target: ConnectionTarget) -> Self {
        let state = ConnectionState {
            phase: ConnectionPhase::Closed,
            failures: 0,
            timeouts: 0,
            wait: None,
            used: Instant::now(),
            tools: Arc::default(),
            known_tools: BTreeMap::new(),
        };
        Self {
            target: Arc::new(target),
            state: Mutex::new(state),
        }
    }

    /// When it was used last.
    pub fn used(&self) -> Instant {
        self.state().used
    }

    /// A list of the server.
    pub async fn list(&self, what: McpListKind, limit: AnswerDeadline) -> Result<Arc<McpLists>> {
        let list = move |session: Arc<McpSession>| async move { session.list(what).await }.boxed();
        let listed = self.asked(limit, list).await?;
        if what == McpListKind::Tools {
            self.state().tools = listed.clone();
        }
        Ok(listed)
    }

    /// The tools that have come and gone since this agent asked last. Nothing is news to one that asks for the first time.
    pub fn changed(&self, agent: &str) -> Vec<ToolChange> {
        let mut state = self.state();
        let now = state.tools.clone();
        let Some(before) = state.known_tools.insert(agent.to_owned(), now.clone()) else {
            return Vec::new();
        };
        let (before, now): (BTreeSet<&str>, BTreeSet<&str>) =
            (names(&before.tools).collect(), names(&now.tools).collect());
        let gone = before.difference(&now).map(|name| (*name, false));
        let come = now.difference(&before).map(|name| (*name, true));
        let changed = gone.chain(come);
        changed
            .map(|(name, added)| (name.to_owned(), added))
            .collect()
    }

    /// An answer of the server.
    pub async fn ask(&self, request: McpRequest, limit: AnswerDeadline) -> Result<Value> {
        let request = Arc::new(request);
        let ask = move |session: Arc<McpSession>| {
            let request = request.clone();
            async move { session.ask(&request).await }.boxed()
        };
        let answer = self.asked(limit, ask).await?;
        let mut state = self.state();
        (state.failures, state.timeouts) = (0, 0);
        Ok(answer)
    }

    /// Ends the connection.
    pub fn close(&self) {
        let now = std::mem::replace(&mut self.state().phase, ConnectionPhase::Closed);
        if let ConnectionPhase::Open(session) = now {
            session.close();
        }
    }

    async fn asked<T>(
        &self,
        limit: AnswerDeadline,
        ask: impl Fn(Arc<McpSession>) -> BoxFuture<'static, Result<T, McpFailure>> + Send,
    ) -> Result<T> {
        let asking = async {
            let mut answer = self.ask_once(&ask).await?;
            if answer.as_ref().is_err_and(|failure| failure.is_unsent) {
                // Nobody has seen the request, so it can be sent again over a new connection.
                answer = self.ask_once(&ask).await?;
            }
            answer.map_err(|failure| failure.error)
        };
        let answer = limit.keep(asking).await;
        answer.unwrap_or_else(|| Err(self.too_slow(limit)))
    }

    /// Asks over an open connection, and drops one that turns out to be of no more use.
    async fn ask_once<T>(
        &self,
        ask: impl Fn(Arc<McpSession>) -> BoxFuture<'static, Result<T, McpFailure>>,
    ) -> Result<Result<T, McpFailure>> {
        let session = self.session().await?;
        let answer = ask(session.clone()).await;
        if answer.as_ref().is_err_and(|failure| failure.is_over) {
            self.lose(&mut self.state(), &session, &session.end());
        }
        Ok(answer)
    }

    /// A connection is of no more use, unless there is another one by now.
    fn lose(&self, state: &mut ConnectionState, session: &Arc<McpSession>, why: &str) {
        if matches!(&state.phase, ConnectionPhase::Open(now) if Arc::ptr_eq(now, session)) {
            let why = self.target.secrets.hide(why);
            tracing::warn!(server = %self.target.id, "the connection to a tool server is lost: {why}");
            state.lose(session, &why);
        }
    }

    fn too_slow(&self, limit: AnswerDeadline) -> Error {
        let mut state = self.state();
        state.timeouts += 1;
        if state.timeouts >= SILENT
            && let ConnectionPhase::Open(session) = state.phase.clone()
        {
            // Calls that still run hold it; it is closed when they have ended.
            self.lose(&mut state, &session, "it does not answer any more");
        }
        limit.missed(&self.target.id)
    }

    /// The open connection, or a new one.
    async fn session(&self) -> Result<Arc<McpSession>> {
        loop {
            match self.next_step() {
                ConnectionStep::Use(session) => return Ok(session),
                ConnectionStep::Join(attempt) => {
                    let opened = attempt.clone().await;
                    self.opened(&attempt, opened)?;
                }
                ConnectionStep::Wait(until, why) => self.wait(until, &why).await?,
            }
        }
    }

    /// What is to be done for an open connection.
    fn next_step(&self) -> ConnectionStep {
        let mut state = self.state();
        state.used = Instant::now();
        if let ConnectionPhase::Open(session) = state.phase.clone() {
            if session.is_open() {
                return ConnectionStep::Use(session);
            }
            self.lose(&mut state, &session, &session.end());
        }
        if let ConnectionPhase::Opening(attempt) = &state.phase {
            return ConnectionStep::Join(attempt.clone());
        }
        match &state.wait {
            Some((until, why)) if *until > Instant::now() => {
                ConnectionStep::Wait(*until, why.clone())
            }
            _ => {
                let attempt = attempt(self.target.clone());
                state.phase = ConnectionPhase::Opening(attempt.clone());
                ConnectionStep::Join(attempt)
            }
        }
    }

    async fn wait(&self, until: Instant, why: &ConnectFailure) -> Result<()> {
        let rest = until.saturating_duration_since(Instant::now());
        if rest > PATIENCE {
            let seconds = rest.as_secs() + 1;
            let words = format!("{}; it is tried again in {seconds} s", why.message);
            return Err(self.failed(&words, why.kind));
        }
        tokio::time::sleep(rest).await;
        Ok(())
    }

    fn opened(
        &self,
        attempt: &ConnectionAttempt,
        opened: Result<Arc<McpSession>, ConnectFailure>,
    ) -> Result<()> {
        let mut state = self.state();
        let is_mine = matches!(&state.phase, ConnectionPhase::Opening(now) if now.ptr_eq(attempt));
        match opened {
            Ok(session) => {
                if is_mine {
                    state.phase = ConnectionPhase::Open(session);
                }
                Ok(())
            }
            Err(why) => {
                if is_mine {
                    state.fail(&why);
                }
                Err(self.failed(&why.message, why.kind))
            }
        }
    }

    fn failed(&self, why: &str, kind: ServerFailure) -> Error {
        kind.because(failure(&self.target.id, &self.target.secrets, why))
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        lock(&self.state)
    }
}

impl ConnectionState {
    /// The open connection is of no more use.
    fn lose(&mut self, session: &Arc<McpSession>, why: &str) {
        self.timeouts = 0;
        if session.age() >= STEADY {
            self.failures = 0;
        }
        // One that has served may be opened again at once.
        match self.failures {
            0 => {
                self.failures = 1;
                self.phase = ConnectionPhase::Closed;
            }
            _ => self.fail(&ConnectFailure::new(why)),
        }
    }

    fn fail(&mut self, why: &ConnectFailure) {
        self.phase = ConnectionPhase::Closed;
        self.failures += 1;
        let wait = backoff(FIRST_WAIT, LONGEST_WAIT, self.failures);
        self.wait = Some((Instant::now() + wait, why.clone()));
    }
}

/// Opens a connection on a task of its own: whoever wanted it first may leave, and others wait for the same one.
fn attempt(target: Arc<ConnectionTarget>) -> ConnectionAttempt {
    let mut task = JoinSet::new();
    task.spawn(async move {
        let opened = tokio::time::timeout(target.timeout, open(&target)).await;
        let late = |_| {
            let message = format!("no connection within {:?}", target.timeout);
            Err(ConnectFailure::new(message))
        };
        opened.unwrap_or_else(late)
    });
    let opened = async move {
        match task.join_next().await {
            Some(Ok(opened)) => opened,
            Some(Err(_)) | None => Err(ConnectFailure::new("opening the connection was given up")),
        }
    };
    opened.boxed().shared()
}

async fn open(target: &ConnectionTarget) -> Result<Arc<McpSession>, ConnectFailure> {
    let client = transport::open(target).await?;
    Ok(Arc::new(McpSession::new(client).await))
}
