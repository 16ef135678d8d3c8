//! The models of an app, each opened once: connections are shared, and what a scripted model counts goes on counting.

use super::endpoint::ProxyClients;
use super::{ModelFailure, PROVIDERS, Provider};
use crate::llm::Connector;
use crate::lock::lock;
use ambit_storage::suggestion;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Types of connectors that name a store.
const STORES: &[&str] = &["redis", "sqlite3", "postgres", "mysql", "mongo"];

/// Opened models by connector.
#[derive(Default)]
pub struct ProviderCache {
    clients: ProxyClients,
    opened: Mutex<BTreeMap<String, CachedProvider>>,
}

struct CachedProvider {
    connector: Arc<Connector>,
    provider: Arc<dyn Provider>,
}

impl ProviderCache {
    /// Nothing is opened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The provider of a connector; the same one as before unless the connector was loaded again.
    pub fn open(&self, connector: &Arc<Connector>) -> Result<Arc<dyn Provider>, ModelFailure> {
        let mut opened = lock(&self.opened);
        if let Some(known) = opened.get(&connector.id)
            && Arc::ptr_eq(&known.connector, connector)
        {
            return Ok(known.provider.clone());
        }
        let provider = open(connector, &self.clients)?;
        let entry = CachedProvider {
            connector: connector.clone(),
            provider: provider.clone(),
        };
        opened.insert(connector.id.clone(), entry);
        Ok(provider)
    }
}

/// Opens the provider that a connector's type names.
fn open(connector: &Connector, clients: &ProxyClients) -> Result<Arc<dyn Provider>, ModelFailure> {
    let kind = connector.kind.as_str();
    if let Some(row) = PROVIDERS.iter().find(|row| row.kind == kind) {
        return (row.open)(connector, clients);
    }
    let known = PROVIDERS.iter().map(|row| row.kind);
    let why = match STORES.contains(&kind) {
        true => format!("type \"{kind}\" is a store and not a model"),
        false => format!(
            "unknown type \"{kind}\"{}",
            suggestion::hint(kind, known.clone())
        ),
    };
    let names: Vec<&str> = known.collect();
    let names = names.join(", ");
    let why = format!("{why}; models are of type {names}");
    Err(ModelFailure::permanent(why).of(&connector.id))
}
