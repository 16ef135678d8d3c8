//! What the processes of one run share: each script's module instance, made once, and timers. It ends with the run.

use crate::ctx::RunHost;
use crate::error::{Error, ErrorCode, Result};
use crate::lock::lock;
use ambit_script::{ParentRun, ProgramInstance};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use tokio::task::JoinSet;

/// A run's share. Only that of the outermost run keeps it alive: what it holds points back at runs within.
#[derive(Clone)]
pub struct RunResources(ResourcesHandle);

#[derive(Clone)]
enum ResourcesHandle {
    Outermost(Arc<SharedResources>),
    Within(Weak<SharedResources>),
}

#[derive(Default)]
struct SharedResources {
    outermost: OnceLock<ParentRun>,
    scripts: Mutex<HashMap<String, Option<ScriptInstance>>>,
    later: Mutex<JoinSet<()>>,
}

/// A script's module instance.
pub struct ScriptInstance {
    pub instance: ProgramInstance,
    /// The run that answers its calls.
    pub run: RunHost,
}

/// A script whose kept instance is in use. Unless it is given back, the next one who comes makes a new one.
pub struct InstanceGuard {
    shared: Weak<SharedResources>,
    script: String,
}

impl RunResources {
    /// That of a new run.
    pub fn outermost() -> Self {
        Self(ResourcesHandle::Outermost(Arc::default()))
    }

    /// The same for a run within.
    pub fn within(&self) -> Self {
        Self(ResourcesHandle::Within(match &self.0 {
            ResourcesHandle::Outermost(shared) => Arc::downgrade(shared),
            ResourcesHandle::Within(shared) => shared.clone(),
        }))
    }

    fn shared(&self) -> Option<Arc<SharedResources>> {
        match &self.0 {
            ResourcesHandle::Outermost(shared) => Some(Arc::clone(shared)),
            ResourcesHandle::Within(shared) => shared.upgrade(),
        }
    }

    /// The outermost run, for the script crate: all others are within that one. The first call comes from it.
    pub fn caller(&self, caller: &ParentRun) -> ParentRun {
        match self.shared() {
            Some(shared) => shared.outermost.get_or_init(|| caller.clone()).clone(),
            None => caller.clone(),
        }
    }

    /// Takes a script's instance, which is not there at the first call. `None` while somebody uses it: a call that comes from
    /// the script itself, or at the same time, gets an instance of its own.
    pub fn check_out(&self, script: &str) -> Option<(InstanceGuard, Option<ScriptInstance>)> {
        let shared = self.shared()?;
        let mut scripts = lock(&shared.scripts);
        let instance = match scripts.get_mut(script) {
            None => {
                scripts.insert(script.to_owned(), None);
                None
            }
            Some(instance) => Some(instance.take()?),
        };
        let guard = InstanceGuard {
            shared: Arc::downgrade(&shared),
            script: script.to_owned(),
        };
        Some((guard, instance))
    }

    /// Does something later in the run, if it lasts so long; at most `limit` of such wait at once.
    pub fn schedule(
        &self,
        limit: usize,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        let Some(shared) = self.shared() else {
            return Ok(());
        };
        let mut later = lock(&shared.later);
        while later.try_join_next().is_some() {}
        if later.len() >= limit {
            let text = format!("at most {limit} timers at once");
            return Err(Error::new(ErrorCode::LimitExceeded, text));
        }
        later.spawn(work);
        Ok(())
    }

    /// How many of those still wait.
    pub fn scheduled_count(&self) -> usize {
        let Some(shared) = self.shared() else {
            return 0;
        };
        let mut later = lock(&shared.later);
        while later.try_join_next().is_some() {}
        later.len()
    }
}

impl InstanceGuard {
    /// Gives the instance back, for the next call.
    pub fn check_in(self, instance: ScriptInstance) {
        if let Some(shared) = self.shared.upgrade() {
            lock(&shared.scripts).insert(self.script.clone(), Some(instance));
        }
    }
}

impl Drop for InstanceGuard {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let mut scripts = lock(&shared.scripts);
        if scripts.get(&self.script).is_some_and(Option::is_none) {
            scripts.remove(&self.script);
        }
    }
}
