//! The stored contexts of an app beside its server. Its agents and their listeners are asked and told as they are there, and nothing
//! else of the app runs.

use crate::ctx::surface;
use crate::error::{Disclosure, Error, Result};
use crate::feed::EventFeed;
use crate::llm::ProviderCache;
use crate::loaded_app::{LoadFailure, LoadOptions, LoadedApp};
use crate::mcp::McpServerPool;
use crate::node_record::NodeStart;
use crate::process::store::OpenStores;
use ambit_script::{Engine, EngineSettings};
use ambit_storage::event::EventBus;
use ambit_storage::{Ambit, AmbitSettings, Stores};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Opens the contexts of the app in this folder, for the system. The app is loaded as a server loads it, and its models are left as
/// they are.
pub async fn of_app(
    folder: PathBuf,
    environment: BTreeMap<String, String>,
    stores: Arc<Stores>,
) -> Result<Ambit> {
    let engine = Engine::new(&EngineSettings::default(), surface());
    let making = LoadOptions {
        root: folder,
        environment,
        engine: engine.map_err(|error| Error::internal(error.to_string()))?,
        stores: stores.clone(),
        storage: AmbitSettings::default(),
        models: Arc::new(ProviderCache::new()),
        opened: Arc::new(OpenStores::new(stores.clone())),
        pool: Arc::new(McpServerPool::new()?),
        listeners: EventBus::default(),
        agents: Vec::new(),
        feed: Arc::new(EventFeed::new(stores)),
        metrics: Arc::default(),
        disclosure: Disclosure::Full,
        node: NodeStart::now(),
    };
    let loaded = spawn_blocking(move || LoadedApp::load(&making)).await;
    let loaded = loaded.map_err(|error| Error::internal(format!("loading the app: {error}")))?;
    Ok(loaded.map_err(LoadFailure::Broken)?.ambit)
}
