//! One run of a script: answers what it calls.

use super::trace::Cursor;
use super::{Call, Scope, find};
use crate::error::Error;
use crate::globals::Log;
use crate::lock::lock;
use crate::net;
use crate::process::Nest;
use crate::trace::Node;
use ambit_script::{Host, HostError, Value};
use ambit_storage::memory::Memory;
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// One run of a script, or of a process within one. Clones are the same run.
#[derive(Clone)]
pub struct Run {
    common: Arc<Common>,
    log: Log,
    nest: Nest,
    depth: Arc<AtomicUsize>,
}

/// What a run has in common with those within it. The first of the contexts is the one that the run was called with; others
/// it makes with `new Context`.
struct Common {
    reaches: Mutex<Vec<Arc<Reach>>>,
    own: Arc<Reach>,
    http: net::Client,
    stores: Mutex<BTreeMap<String, Memory>>,
}

/// A context within a run.
pub struct Reach {
    /// What it reaches.
    pub scope: Arc<Scope>,
    /// Which of the run's contexts it is.
    pub number: usize,
    /// Where its script is in its trace.
    pub cursor: Cursor,
    is_released: AtomicBool,
}

impl Run {
    /// A run of this function, whose steps are traced below a node, and whose requests go out through a client of its own.
    pub fn new(scope: &Arc<Scope>, function: &str, node: Node, http: net::Client) -> Self {
        let own = Arc::new(Reach::new(scope, 0, node));
        Self {
            log: Log::new(scope, function),
            common: Arc::new(Common {
                reaches: Mutex::new(vec![Arc::clone(&own)]),
                own,
                http,
                stores: Mutex::default(),
            }),
            nest: Nest::outermost(),
            depth: Arc::default(),
        }
    }

    /// A process within it.
    pub fn within(&self, process: &str) -> Self {
        Self {
            common: Arc::clone(&self.common),
            log: self.log.of(process),
            nest: self.nest.within(),
            depth: Arc::new(AtomicUsize::new(self.depth())),
        }
    }

    /// Lets go of the contexts that its scripts have made: they end with the run, whatever still points at it.
    pub fn end(&self) {
        lock(&self.common.reaches).truncate(1);
    }

    /// What it was called with.
    pub fn own(&self) -> &Arc<Reach> {
        &self.common.own
    }

    /// What its processes share.
    pub fn nest(&self) -> &Nest {
        &self.nest
    }

    /// How many processes it is within.
    pub fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }

    /// A function of it is called from so deep.
    pub fn enter(&self, depth: usize) {
        self.depth.store(depth, Ordering::Relaxed);
    }

    /// Opens a store of the app for this run; the answer is what its object is known by.
    pub async fn open_store(&self, reach: &Reach, id: &str) -> crate::Result<Json> {
        let scope = &reach.scope;
        if self.store(id).is_none() {
            let stores = &scope.processes.stores;
            let opened = stores
                .open(&scope.app, id, scope.limits.memory_value)
                .await?;
            lock(&self.common.stores).insert(id.to_owned(), opened);
        }
        Ok(json!({"context": reach.number, "store": id}))
    }

    /// A store that was opened before.
    pub fn store(&self, id: &str) -> Option<Memory> {
        lock(&self.common.stores).get(id).cloned()
    }

    /// Where its log lines go.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// What its requests go out through.
    pub fn http(&self) -> &net::Client {
        &self.common.http
    }

    /// Adds a context that the script made.
    pub fn add(&self, scope: &Arc<Scope>) -> Arc<Reach> {
        let mut reaches = lock(&self.common.reaches);
        let reach = Reach::new(scope, reaches.len(), scope.trace.clone());
        let reach = Arc::new(reach);
        reaches.push(Arc::clone(&reach));
        reach
    }

    fn reach(&self, handle: &Json) -> Option<Arc<Reach>> {
        let number = match handle {
            Json::Null => 0,
            handle => usize::try_from(handle.get("context")?.as_u64()?).ok()?,
        };
        lock(&self.common.reaches).get(number).cloned()
    }

    async fn answer(&self, call: ambit_script::Call) -> Result<Value, HostError> {
        if call.class == "console" {
            self.log.console(&call.method, &call.arguments);
            return Ok(Value::Undefined);
        }
        let unknown = || Error::internal(format!("nothing answers {}.{}", call.class, call.method));
        let (class, method) = find(&call.class, &call.method).ok_or_else(unknown)?;
        let reach = self.reach(&call.handle).ok_or_else(unknown)?;
        let call = Call {
            run: self,
            reach,
            class,
            method,
            handle: call.handle,
            arguments: call.arguments,
            undefined: call.undefined,
            callbacks: call.callbacks,
            caller: Some(call.run),
        };
        call.answer().await
    }
}

#[async_trait]
impl Host for Run {
    async fn call(&self, call: ambit_script::Call) -> Result<Value, HostError> {
        self.answer(call).await
    }
}

impl Reach {
    fn new(scope: &Arc<Scope>, number: usize, node: Node) -> Self {
        Self {
            scope: Arc::clone(scope),
            number,
            cursor: Cursor::new(node),
            is_released: AtomicBool::new(false),
        }
    }

    /// True if the script made it, and must let go of it.
    pub fn is_manual(&self) -> bool {
        self.number > 0
    }

    /// Lets go of a context that the script made: its memory is emptied and its trace ends. False if that was done before.
    pub async fn release(&self) -> crate::Result<bool> {
        let is_first = self.let_go();
        if is_first {
            self.scope.memory.context.clear().await?;
        }
        Ok(is_first)
    }

    fn let_go(&self) -> bool {
        let is_first = !self.is_released.swap(true, Ordering::AcqRel);
        if is_first {
            self.cursor.release();
            let trace = self.scope.trace.trace();
            trace.finish(crate::trace::Status::Completed, None);
        }
        is_first
    }
}

impl Drop for Reach {
    /// A context left open ends with the run that made it; its memory goes with it.
    fn drop(&mut self) {
        if self.is_manual() {
            self.let_go();
        }
    }
}
