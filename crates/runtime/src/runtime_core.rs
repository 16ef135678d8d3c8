//! What all turns of a node share.

use crate::access::Authorized;
use crate::app::{App, FileProblem};
use crate::error::{Error, ErrorCode, Result};
use crate::live_turn::LiveTurns;
use crate::llm::{ProviderCache, TokenUsage};
use crate::load_status::LoadStatus;
use crate::loaded_app::{LoadFailure, LoadOptions, LoadedApp};
use crate::lock::lock;
use crate::otlp::OtlpExport;
use crate::tool::Toolbox;
use crate::web_search::WebSearchClient;
use ambit_knowledge::{KnowledgeBase, KnowledgeWorker};
use ambit_storage::Stores;
use ambit_storage::upkeep::Sweeper;
use ambit_telemetry::Metrics;
use futures::future::BoxFuture;
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tracing::Instrument;

/// What all turns share.
pub(crate) struct RuntimeCore {
    pub stores: Arc<Stores>,
    pub tools: Option<Arc<dyn Toolbox>>,
    pub turns: LiveTurns,
    pub models: Arc<ProviderCache>,
    pub is_development: bool,
    pub making: LoadOptions,
    pub loaded: RwLock<Arc<LoadedApp>>,
    pub load_status: Mutex<LoadStatus>,
    /// Reloads come one after the other: the last one is of the newest files.
    pub reloading: tokio::sync::Mutex<()>,
    pub judge: OnceLock<ReloadCheck>,
    pub token_listener: OnceLock<TokenListener>,
    pub tasks: Mutex<JoinSet<()>>,
    pub temporary: TemporaryTenants,
    /// Agents that write titles of chats, as many as may at once.
    pub titles: Arc<Semaphore>,
    /// Collections of knowledge, once they are open.
    pub knowledge: OnceLock<KnowledgeBase>,
    /// It works on them.
    pub knowledge_worker: Mutex<Option<KnowledgeWorker>>,
    /// Another version of the app is loaded.
    pub reloaded: Arc<Notify>,
    /// What speaks to services that search the web.
    pub web: Arc<WebSearchClient>,
    /// They erase expired values of the stores.
    pub sweepers: Mutex<Vec<Sweeper>>,
    pub is_closing: Mutex<bool>,
    /// What is sent to a collector of OpenTelemetry, where there is one.
    pub telemetry: Option<OtlpExport>,
}

/// Judges a new version of the app for whoever enforces its access rules: an error keeps the present version, and what is
/// answered instead is called when the new one takes effect.
pub type ReloadCheck = Box<dyn Fn(&App) -> Result<Box<dyn FnOnce()>, FileProblem> + Send + Sync>;

/// Hears how many tokens a call of a model has used in a turn of this caller. What is answered is done beside the turn.
pub type TokenListener =
    Box<dyn Fn(&Authorized, u64) -> Option<BoxFuture<'static, ()>> + Send + Sync>;

/// The tenants that had temporary conversations here: these are in no index.
#[derive(Default)]
pub(crate) struct TemporaryTenants(Mutex<BTreeSet<String>>);

impl TemporaryTenants {
    /// The tenant has one.
    pub fn note(&self, tenant: &str) {
        let mut tenants = lock(&self.0);
        if !tenants.contains(tenant) {
            tenants.insert(tenant.to_owned());
        }
    }

    /// All of them.
    pub fn all(&self) -> BTreeSet<String> {
        let tenants = lock(&self.0);
        tenants.clone()
    }
}

impl RuntimeCore {
    /// Where everything counts.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.making.metrics
    }

    /// Whether traces are sent to a collector.
    pub fn sends_traces(&self) -> bool {
        let telemetry = self.telemetry.as_ref();
        telemetry.is_some_and(|telemetry| telemetry.traces.is_some())
    }

    /// The app's present version.
    pub fn loaded(&self) -> Arc<LoadedApp> {
        self.loaded
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The tools of agents in this version of the app.
    pub fn tools(&self, loaded: &LoadedApp) -> Arc<dyn Toolbox> {
        match &self.tools {
            Some(tools) => tools.clone(),
            None => loaded.mcp.clone(),
        }
    }

    /// Tells whoever listens what a call of a model has used in a turn of this caller.
    pub fn tell_tokens(&self, who: &Authorized, usage: &TokenUsage) {
        let Some(listener) = self.token_listener.get() else {
            return;
        };
        let sum = usage.prompt_tokens.saturating_add(usage.completion_tokens);
        let tokens = u64::try_from(usage.total_tokens.max(sum)).unwrap_or(0);
        if let Some(work) = listener(who, tokens) {
            self.spawn(work);
        }
    }

    /// Runs a task that ends with the runtime. What it logs is of the request that it is for, if it is for one.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task.in_current_span());
    }

    /// Loads the app again, if no file of it is broken; a broken one counts less while the app is being developed.
    pub async fn reload(&self) -> Result<Vec<FileProblem>> {
        let _one_at_a_time = self.reloading.lock().await;
        match self.load_again().await {
            Ok(problems) => {
                *lock(&self.load_status) = LoadStatus::now();
                Ok(problems)
            }
            Err(failure) => {
                if let LoadFailure::Broken(problems) = &failure {
                    lock(&self.load_status).refuse(problems.clone());
                }
                Err(failure.into())
            }
        }
    }

    async fn load_again(&self) -> Result<Vec<FileProblem>, LoadFailure> {
        let loaded = self.making.load().await?;
        let problems = loaded.problems().to_vec();
        let errors: Vec<FileProblem> = problems
            .iter()
            .filter(|it| it.is_error())
            .cloned()
            .collect();
        if !errors.is_empty() && !self.is_development {
            return Err(LoadFailure::Broken(errors));
        }
        let judged = self.judge.get().map(|judge| judge(&loaded.app));
        let refused = |problem| LoadFailure::Broken(vec![problem]);
        let take_effect = judged.transpose().map_err(refused)?;
        let mut present = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(take_effect) = take_effect {
            take_effect();
        }
        *present = Arc::new(loaded);
        self.reloaded.notify_one();
        Ok(problems)
    }
}

/// Why a request is not answered any more.
pub(crate) fn stopping() -> Error {
    Error::new(
        ErrorCode::Unavailable,
        "the server is being stopped; send the request again",
    )
}
