//! Ollama: OpenAI's protocol on this machine.

use super::endpoint::ProxyClients;
use super::{ModelFailure, Provider, ProviderEntry, openai};
use crate::llm::Connector;
use std::sync::Arc;

/// The row of the table.
pub const ROW: ProviderEntry = ProviderEntry {
    kind: "ollama",
    open,
    by_address: &[],
    options: openai::ROW.options,
};

fn open(connector: &Connector, clients: &ProxyClients) -> Result<Arc<dyn Provider>, ModelFailure> {
    openai::at(connector, clients, "http://127.0.0.1:11434/v1")
}
