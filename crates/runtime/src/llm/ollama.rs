//! Ollama: OpenAI's protocol on this machine.

use super::http::Clients;
use super::{Failure, Provider, Row, openai};
use crate::app::Connector;
use std::sync::Arc;

/// The row of the table.
pub const ROW: Row = Row {
    kind: "ollama",
    open,
    by_address: &[],
};

fn open(connector: &Connector, clients: &Clients) -> Result<Arc<dyn Provider>, Failure> {
    openai::at(connector, clients, "http://127.0.0.1:11434/v1")
}
