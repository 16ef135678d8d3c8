//! `stores/<id>.<kind>.yao`: named stores of the app.

use super::connector::STORES;
use super::loader::AppLoader;
use super::problem::{FileProblem, ProblemReport};
use super::read::{ConfigNode, FieldMap, FieldSpec, ValueKind};
use super::{App, AppStore};
use crate::process::store::{address, is_internal};
use ambit_storage::suggestion;
use std::collections::BTreeMap;
use std::sync::Arc;

const TABLE: ValueKind = ValueKind::Object(&[
    FieldSpec::new("name", ValueKind::Text),
    FieldSpec::new("description", ValueKind::Text),
    FieldSpec::new("label", ValueKind::Text),
    FieldSpec::new("type", ValueKind::OneOf(&["lru", "xun"])),
    FieldSpec::new("connector", ValueKind::Text),
    FieldSpec::new(
        "option",
        ValueKind::Object(&[
            FieldSpec::new("size", ValueKind::Count),
            FieldSpec::new("ttl", ValueKind::Duration),
        ]),
    ),
]);

/// Reads all stores, after the connectors. The last part of a file's name says its kind, as in `cache.lru.yao`.
pub fn load(
    loader: &mut AppLoader,
    app: &App,
) -> BTreeMap<String, Result<Arc<AppStore>, FileProblem>> {
    let files = loader.items(
        "stores",
        &[".lru.yao", ".xun.yao", ".redis.yao", ".store.yao"],
    );
    let stores = files.into_iter().map(|(id, file)| {
        let store = file.and_then(|file| one(loader, app, (&id, &file)));
        (id, store.map(Arc::new))
    });
    stores.collect()
}

fn one(
    loader: &mut AppLoader,
    app: &App,
    (id, file): (&str, &str),
) -> Result<AppStore, FileProblem> {
    let (value, node) = loader.value(file, &TABLE)?;
    let fields = FieldMap(value.as_object().cloned().unwrap_or_default());
    let option = fields.object("option");
    let is_named_lru = file.ends_with(".lru.yao");
    let store = AppStore {
        id: id.to_owned(),
        name: fields.text("name"),
        description: fields.text("description"),
        is_lru: fields
            .optional("type")
            .map_or(is_named_lru, |kind| kind == "lru"),
        connector: fields.optional("connector"),
        size: option.count("size"),
        ttl: option.milliseconds("ttl"),
    };
    let mut report = ProblemReport::new(file);
    judge(app, &store, &node, &mut report);
    if store.connector.is_none() && file.ends_with(".redis.yao") {
        report.error(node.at, "a store in Redis needs \"connector\"");
    }
    let failure = report.first().cloned();
    loader.problems.append(&mut report.problems);
    failure.map_or(Ok(store), Err)
}

fn judge(app: &App, store: &AppStore, node: &ConfigNode, report: &mut ProblemReport) {
    if is_internal(&store.id) {
        let message = "names that begin with \"__yao.\" are not the app's; rename the file";
        report.error(node.at, message);
    }
    let Some(id) = &store.connector else { return };
    let at = node.get("connector").map_or(node.at, |node| node.at);
    if store.is_lru {
        let message =
            "a store in memory has no connector: leave \"connector\" or the kind \"lru\" out";
        return report.error(at, message);
    }
    match app.connectors.get(id) {
        None => {
            let hint = suggestion::hint(id, app.connectors.keys().map(String::as_str));
            report.error(at, format!("there is no connector \"{id}\"{hint}"));
        }
        Some(Err(problem)) => {
            let file = &problem.file;
            report.error(
                at,
                format!("its connector \"{id}\" cannot be used; see {file}"),
            );
        }
        Some(Ok(found)) if !STORES.contains(&found.kind.as_str()) => {
            let (kind, kinds) = (&found.kind, STORES.join(", "));
            let message =
                format!("connector \"{id}\" keeps no data: its type is {kind}, not one of {kinds}");
            report.error(at, message);
        }
        Some(Ok(found)) => {
            if let Err(error) = address(found, &app.root) {
                report.error(at, error.message);
            }
        }
    }
}
