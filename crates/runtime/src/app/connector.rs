//! `connectors/**.conn.yao`: models and stores by name.

mod fallback;

use super::Connector;
use super::loader::AppLoader;
use super::problem::{FileProblem, ItemsById, ProblemReport, Severity};
use super::read::{ConfigNode, ConfigValue};
use super::variables::EnvVariables;
use crate::config;
use crate::llm::connector::{ConnectorOptions, FOREIGN, MODELS, STORES};
use crate::llm::endpoint::NO_ADDRESS;
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
    loader
        .written
        .keep_keys(file, node.get("options"), &["model"]);
    let mut report = ProblemReport::new(file);
    match read.kind.as_str() {
        kind if MODELS.contains(&kind) => warn_of_model(&read.options, &node, &mut report),
        kind if STORES.contains(&kind) => {}
        kind => warn_of_type(kind, &node, &mut report),
    }
    loader.take(report)?;
    Ok(Connector {
        id: id.to_owned(),
        file: file.to_owned(),
        kind: read.kind,
        label: read.label,
        fallback: read.options.provider.common.fallback.clone(),
        options: read.options,
    })
}

/// Tells of a type that nothing can use. A warning, unless it is one of Yao's.
fn warn_of_type(kind: &str, node: &ConfigNode, report: &mut ProblemReport) {
    let known = || MODELS.iter().chain(STORES).copied();
    let hint = suggestion::hint(kind, known());
    let known: Vec<&str> = known().collect();
    let known = known.join(", ");
    let severity = match FOREIGN.contains(&kind) {
        true => Severity::Notice,
        false => Severity::Warning,
    };
    let message = format!("nothing can use this connector: its type is none of {known}{hint}");
    report.push(severity, node.position("type"), message);
}

/// Warns of options with which calls of the model fail, or its answers are not what was meant.
fn warn_of_model(options: &ConnectorOptions, node: &ConfigNode, report: &mut ProblemReport) {
    let nothing = ConfigNode::nothing();
    let written = node.get("options").unwrap_or(&nothing);
    if let Err(option) = options.provider.address() {
        let message = format!("\"options.{option}\" {NO_ADDRESS}");
        report.push(Severity::Warning, written.position(option), message);
    }
    let rules = options.scripted.rules.iter().zip(written.list("rules"));
    for (at, (rule, written)) in rules.enumerate() {
        let Some(reply) = written.get("reply") else {
            continue;
        };
        if matches!(&reply.content, ConfigValue::Text(text) if EnvVariables::named(text).is_some())
        {
            // What a variable stands for is not told.
            continue;
        }
        for fault in rule.reply_faults() {
            let message = format!("\"options.rules[{at}].reply\": {fault}");
            report.push(Severity::Warning, reply.at, message);
        }
    }
}
