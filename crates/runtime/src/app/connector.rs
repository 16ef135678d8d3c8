//! `connectors/**.conn.yao`: models and stores by name.

mod fallback;

use super::Connector;
use super::loader::AppLoader;
use super::problem::{FileProblem, ItemsById, Severity};
use crate::config;
use crate::llm::connector::{ConnectorOptions, MODELS, STORES};
use ambit_storage::suggestion;
use fallback::FallbackList;
use std::sync::Arc;

config! {
    /// `connectors/**.conn.yao`: a model, or a place that keeps data, by name.
    #[secret]
    pub struct ConnectorFile {
        /// What people call it.
        label: String,
        /// The provider of a model, or the kind of store.
        #[required]
        #[key = "type"]
        kind: String,
        /// How it is reached; which keys there are depends on the type.
        options: ConnectorOptions,
        unused { LANG: " in Ambit", VERSION: " in Ambit", version: " in Ambit" }
    }
}

/// Reads all connectors.
pub fn load(loader: &mut AppLoader) -> ItemsById<Arc<Connector>> {
    let mut lists = Vec::new();
    let mut found = loader.load_items("connectors", &[".conn.yao"], |loader, id, file| {
        read_connector(loader, id, file, &mut lists)
    });
    fallback::check_lists(loader, &mut found, &lists);
    let shared = found.into_iter();
    shared
        .map(|(id, connector)| (id, connector.map(Arc::new)))
        .collect()
}

fn read_connector(
    loader: &mut AppLoader,
    id: &str,
    file: &str,
    lists: &mut Vec<FallbackList>,
) -> Result<Connector, FileProblem> {
    let (read, node) = loader.read::<ConnectorFile>(file)?;
    lists.extend(FallbackList::of(id, file, &node));
    let kind = read.kind;
    if !MODELS.contains(&kind.as_str()) && !STORES.contains(&kind.as_str()) {
        let known = || MODELS.iter().chain(STORES).copied();
        let hint = suggestion::hint(&kind, known());
        let known: Vec<&str> = known().collect();
        let known = known.join(", ");
        let message = format!("nothing can use this connector: its type is none of {known}{hint}");
        let problem = FileProblem::new(Severity::Notice, file, message);
        loader.problems.push(problem);
    }
    Ok(Connector {
        id: id.to_owned(),
        kind,
        label: read.label,
        fallback: read.options.provider.common.fallback.clone(),
        options: read.options,
    })
}
