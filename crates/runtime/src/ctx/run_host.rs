//! One run of a script: answers what it calls.

use super::memory_use::{CallTimes, MemoryNames, MemoryUses, read_value};
use super::trace::TraceCursor;
use super::{ScriptCall, ScriptContext, find};
use crate::error::Error;
use crate::globals::ScriptLog;
use crate::lock::lock;
use crate::log_words::{EchoFilter, ReadText};
use crate::net;
use crate::process::RunResources;
use crate::trace::{MemoryUse, TraceNode};
use ambit_script::{Host, HostError, HostValue};
use ambit_storage::memory::Memory;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// One run of a script, or of a process within one. Clones are the same run.
#[derive(Clone)]
pub struct RunHost {
    common: Arc<RunHostState>,
    log: ScriptLog,
    resources: RunResources,
    depth: Arc<AtomicUsize>,
}

/// What a run has in common with those within it. The first of the contexts is the one that the run was called with; others
/// it makes with `new Context`.
struct RunHostState {
    reaches: Mutex<Vec<Arc<ContextHandle>>>,
    own: Arc<ContextHandle>,
    http: net::HttpClient,
    stores: Mutex<BTreeMap<String, Memory>>,
    memory_uses: MemoryUses,
    failed_call: Mutex<Option<FailedCall>>,
    read: Mutex<ReadText>,
    /// Where the run is traced.
    node: TraceNode,
}

/// The last call that failed.
struct FailedCall {
    method: String,
    message: String,
}

/// A context within a run.
pub struct ContextHandle {
    /// What it reaches.
    pub scope: Arc<ScriptContext>,
    /// Which of the run's contexts it is.
    pub number: usize,
    /// Where its script is in its trace.
    pub cursor: TraceCursor,
    is_released: AtomicBool,
}

impl RunHost {
    /// A run of this function, whose steps are traced below a node, and whose requests go out through a client of its own.
    pub fn new(
        scope: &Arc<ScriptContext>,
        function: &str,
        node: TraceNode,
        http: net::HttpClient,
    ) -> Self {
        let own = Arc::new(ContextHandle::new(scope, 0, node.clone()));
        Self {
            log: ScriptLog::new(scope, function),
            common: Arc::new(RunHostState {
                reaches: Mutex::new(vec![Arc::clone(&own)]),
                own,
                http,
                stores: Mutex::default(),
                memory_uses: MemoryUses::default(),
                failed_call: Mutex::default(),
                read: Mutex::default(),
                node,
            }),
            resources: RunResources::outermost(),
            depth: Arc::default(),
        }
    }

    /// A process within it.
    pub fn within(&self, process: &str) -> Self {
        Self {
            common: Arc::clone(&self.common),
            log: self.log.of(process),
            resources: self.resources.within(),
            depth: Arc::new(AtomicUsize::new(self.depth())),
        }
    }

    /// Lets go of the contexts that its scripts have made: they end with the run, whatever still points at it.
    pub fn end(&self) {
        lock(&self.common.reaches).truncate(1);
    }

    /// When its scripts used memory.
    pub fn memory_uses(&self) -> (Option<MemoryUse>, Option<MemoryUse>) {
        self.common.memory_uses.all()
    }

    /// Which values of memory its scripts used.
    pub fn memory_names(&self) -> MemoryNames {
        self.common.memory_uses.names()
    }

    /// Notes a call that is over, with what it gave.
    pub fn note_call(&self, call: &ScriptCall<'_>, times: CallTimes, given: Option<&HostValue>) {
        self.common.memory_uses.note(call, times, given);
        if let Some((space, key)) = read_value(call) {
            self.common.node.note_read(space, key);
        }
    }

    /// The method that threw this, if the last one that failed did.
    pub fn failed_method(&self, message: &str) -> Option<String> {
        let failed = lock(&self.common.failed_call);
        let failed = failed.as_ref().filter(|call| call.message == message)?;
        Some(failed.method.clone())
    }

    /// Leaves out of its failures what it was given and what it has read.
    pub(crate) fn echo_filter(&self, given: &Value) -> EchoFilter {
        EchoFilter::of_run(given, &lock(&self.common.read))
    }

    /// What it was called with.
    pub fn own(&self) -> &Arc<ContextHandle> {
        &self.common.own
    }

    /// What its processes share.
    pub fn resources(&self) -> &RunResources {
        &self.resources
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
    pub async fn open_store(&self, reach: &ContextHandle, id: &str) -> crate::Result<Value> {
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
    pub fn log(&self) -> &ScriptLog {
        &self.log
    }

    /// What its requests go out through.
    pub fn http(&self) -> &net::HttpClient {
        &self.common.http
    }

    /// Adds a context that the script made.
    pub fn add(&self, scope: &Arc<ScriptContext>) -> Arc<ContextHandle> {
        let mut reaches = lock(&self.common.reaches);
        let reach = ContextHandle::new(scope, reaches.len(), scope.trace.clone());
        let reach = Arc::new(reach);
        reaches.push(Arc::clone(&reach));
        reach
    }

    fn reach(&self, handle: &Value) -> Option<Arc<ContextHandle>> {
        let number = match handle {
            Value::Null => 0,
            handle => usize::try_from(handle.get("context")?.as_u64()?).ok()?,
        };
        lock(&self.common.reaches).get(number).cloned()
    }

    async fn answer(&self, call: ambit_script::HostCall) -> Result<HostValue, HostError> {
        if call.class == "console" {
            self.log.console(&call.method, &call.arguments);
            return Ok(HostValue::Undefined);
        }
        let unknown = || Error::internal(format!("nothing answers {}.{}", call.class, call.method));
        let (class, method) = find(&call.class, &call.method).ok_or_else(unknown)?;
        let reach = self.reach(&call.handle).ok_or_else(unknown)?;
        let call = ScriptCall {
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
        let answer = call.answer().await;
        match &answer {
            Ok(answer) => lock(&self.common.read).add(answer),
            Err(error) => {
                *lock(&self.common.failed_call) = Some(FailedCall {
                    method: call.place(),
                    message: error.message.clone(),
                });
            }
        }
        answer
    }
}

impl Host for RunHost {
    fn call(&self, call: ambit_script::HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(self.answer(call))
    }
}

impl ContextHandle {
    fn new(scope: &Arc<ScriptContext>, number: usize, node: TraceNode) -> Self {
        Self {
            scope: Arc::clone(scope),
            number,
            cursor: TraceCursor::new(node),
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
            trace.finish(crate::trace::TraceStatus::Completed, None);
        }
        is_first
    }
}

impl Drop for ContextHandle {
    /// A context left open ends with the run that made it; its memory goes with it.
    fn drop(&mut self) {
        if self.is_manual() {
            self.let_go();
        }
    }
}
