//! `stores/<id>.<kind>.yao`: named stores of the app.

mod address;

pub(crate) use address::address;

use super::loader::AppLoader;
use super::problem::{FileProblem, ItemsById, ProblemReport};
use super::read::ConfigNode;
use super::{App, AppStore};
use crate::config;
use crate::llm::connector::STORES;

use ambit_storage::suggestion;
use std::sync::Arc;
use std::time::Duration;

/// What the names of stores begin with that are not the app's.
const INTERNAL: &str = "__yao.";

/// Whether a store of this name is none of the app's.
pub fn is_internal(id: &str) -> bool {
    id.starts_with(INTERNAL)
}

config! {
    /// A named store of the app.
    pub struct StoreFile {
        /// What people call the store.
        name: String,
        /// What it is for.
        description: String,
        /// A shorter name, for lists.
        label: String,
        /// Where its values live. Without it, the end of the file's name says it: `.lru.yao` is `lru`.
        #[key = "type"]
        kind: Option<StoreKind>,
        /// The connector of type `redis`, `sqlite3` or `postgres` that keeps it; without one it is in Ambit's own database.
        connector: Option<String>,
        /// Its size and its values' life.
        option: StoreOptions,
    }

    /// Where a store's values live.
    pub enum StoreKind {
        /// In the memory of one process.
        Lru = "lru",
        /// In a database.
        Xun = "xun",
    }

    /// How much a store keeps, and for how long.
    pub struct StoreOptions {
        /// The most values of a store in memory; the one that was not used for longest goes first.
        size: usize = 10240,
        /// How long values live that are set without a time of their own; 0 is for ever.
        ttl: Option<Duration>,
    }
}

/// Reads all stores, after the connectors. The last part of a file's name says its kind, as in `cache.lru.yao`.
pub fn load(loader: &mut AppLoader, app: &App) -> ItemsById<Arc<AppStore>> {
    let endings = [".lru.yao", ".xun.yao", ".redis.yao", ".store.yao"];
    loader.load_items("stores", &endings, |loader, id, file| {
        read_store(loader, app, id, file).map(Arc::new)
    })
}

fn read_store(
    loader: &mut AppLoader,
    app: &App,
    id: &str,
    name: &str,
) -> Result<AppStore, FileProblem> {
    let (file, node) = loader.read::<StoreFile>(name)?;
    let is_lru = match file.kind {
        Some(kind) => kind == StoreKind::Lru,
        None => name.ends_with(".lru.yao"),
    };
    let id = id.to_owned();
    let store = AppStore { id, is_lru, file };
    let mut report = ProblemReport::new(name);
    check_store(app, &store, &node, &mut report);
    if store.file.connector.is_none() && name.ends_with(".redis.yao") {
        report.error(node.at, "a store in Redis needs \"connector\"");
    }
    loader.take(report).map(|()| store)
}

fn check_store(app: &App, store: &AppStore, node: &ConfigNode, report: &mut ProblemReport) {
    if is_internal(&store.id) {
        let message = "names that begin with \"__yao.\" are not the app's; rename the file";
        report.error(node.at, message);
    }
    let Some(id) = &store.file.connector else {
        return;
    };
    let at = node.position("connector");
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
