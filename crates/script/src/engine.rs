//! The engine: what runs scripts.

mod instance;
mod ready_queue;
mod runner_pool;
mod thread_pool;
mod unused;

pub use instance::ProgramInstance;

use crate::error::{Error, LoadError, Result};
use crate::host::{Host, HostApi, HostValue, ParentRun};
use crate::limits::{RunBudget, RunLimits};
use crate::prelude::Prelude;
use crate::program::{ModuleCache, Program, ProgramSource, SourceFiles};
use crate::run::fiber_body;
use crate::task::{RunOutcome, RunTask, Scheduler};
use runner_pool::RunnerPool;
use std::sync::Arc;
use std::time::Duration;
use thread_pool::ThreadPool;
use tokio::sync::mpsc;

/// How an engine is set up.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// Threads that run scripts; one for each core is right.
    pub threads: usize,
    /// Runtimes kept with their memory for further runs at most, each with up to a megabyte and a half and the stack that its
    /// scripts have touched. A quarter of them is made ahead of time; those beyond it, and those without memory, are freed when
    /// they were not used for ten seconds.
    pub warm: usize,
    /// Restores a runtime behind each run and uses it again. Without it each run has a runtime of its own, which is freed behind
    /// it: the same outcomes, for several times the processor time of a short run.
    pub restore: bool,
    /// The largest stack that a run may be allowed.
    pub stack: usize,
    /// Bytes of all sources of one program.
    pub program: usize,
}

impl Default for EngineSettings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            threads: cores,
            warm: (8 * cores).min(32),
            restore: true,
            stack: 1 << 20,
            program: 2 << 20,
        }
    }
}

/// One call of a function.
pub struct ScriptRun {
    /// Where the function is.
    pub program: Arc<Program>,
    /// Its name.
    pub function: String,
    /// Its arguments.
    pub arguments: Vec<HostValue>,
    /// Who answers what it calls.
    pub host: Arc<dyn Host>,
    /// What it may use.
    pub limits: RunLimits,
    /// The run that it is part of; then it uses that one's limits, and `limits` says nothing.
    pub within: Option<ParentRun>,
}

/// What came of a run, and what it took.
pub struct MeasuredRun {
    /// What it left behind, or why it failed.
    pub outcome: Result<RunOutcome>,
    /// Processor time used.
    pub cpu: Duration,
}

/// How many runs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunCounts {
    /// Those that have a thread.
    pub running: usize,
    /// Those that wait for one.
    pub waiting: usize,
}

/// Runs functions of programs, each run in a runtime that is as it was made. Clones are the same engine.
#[derive(Clone)]
pub struct Engine(Arc<EngineInner>);

struct EngineInner {
    pool: Arc<ThreadPool>,
    warm: Arc<RunnerPool>,
    cache: ModuleCache,
    stack: usize,
}

impl Engine {
    /// An engine whose scripts can call what the surface describes.
    pub fn new(settings: &EngineSettings, surface: HostApi) -> Result<Self> {
        let prelude = Arc::new(Prelude::new(surface)?);
        let cache = ModuleCache::new(settings.program, prelude.names());
        let warm = Arc::new(RunnerPool::new(settings, prelude, fiber_body));
        let pool = ThreadPool::start(settings.threads, Arc::clone(&warm))
            .map_err(|error| Error::Internal(format!("no thread for scripts: {error}")))?;
        Ok(Self(Arc::new(EngineInner {
            pool,
            warm,
            cache,
            stack: settings.stack,
        })))
    }

    /// Loads a file and everything it imports. What was compiled before and has not changed is not compiled again.
    pub fn load(
        &self,
        files: &dyn SourceFiles,
        source: &ProgramSource,
    ) -> Result<Arc<Program>, LoadError> {
        self.0.cache.load(files, source)
    }

    /// Calls a function and waits for what it returns, or for what its promise settles to.
    ///
    /// Dropping the future ends the run. Needs a Tokio runtime with timers.
    pub async fn run(&self, run: ScriptRun) -> Result<RunOutcome> {
        self.run_measured(run).await.outcome
    }

    /// The same, with the processor time that was used however the run ended.
    pub async fn run_measured(&self, run: ScriptRun) -> MeasuredRun {
        let opened = self.open(run.program, run.host, run.limits, run.within.as_ref());
        let mut instance = match opened {
            Ok(instance) => instance,
            Err(error) => {
                return MeasuredRun {
                    outcome: Err(error),
                    cpu: Duration::ZERO,
                };
            }
        };
        instance.once = true;
        let outcome = instance.call(&run.function, run.arguments).await;
        let cpu = instance.used();
        MeasuredRun { outcome, cpu }
    }

    /// How many runs there are now.
    pub fn counts(&self) -> RunCounts {
        self.0.pool.counts()
    }

    /// A run of which several functions can be called, one after another: its modules keep their state from call to call.
    /// `within` is the run that it is part of; then it uses that one's limits, and `limits` says nothing.
    pub fn open(
        &self,
        program: Arc<Program>,
        host: Arc<dyn Host>,
        limits: RunLimits,
        within: Option<&ParentRun>,
    ) -> Result<ProgramInstance> {
        if let Some(ParentRun(outer)) = within {
            outer.check_depth()?;
        }
        let stack = limits.stack.min(self.0.stack);
        let budget = match within {
            Some(ParentRun(outer)) => outer.within(),
            None => RunBudget::new(RunLimits { stack, ..limits }),
        };
        let (requests, asked) = mpsc::unbounded_channel();
        let pool: Arc<dyn Scheduler> = Arc::<ThreadPool>::clone(&self.0.pool);
        Ok(ProgramInstance {
            task: RunTask::new(Arc::new(budget), Arc::downgrade(&pool), requests),
            engine: self.clone(),
            program,
            host,
            requests: asked,
            once: false,
        })
    }

    pub(crate) fn submit(&self, task: Arc<RunTask>) {
        self.0.pool.submit(task);
    }
}

impl Drop for EngineInner {
    fn drop(&mut self) {
        self.pool.close();
        self.warm.drain();
    }
}
