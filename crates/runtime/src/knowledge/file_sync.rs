//! Collections that are files of the app become what the files say: when the app is loaded, and while it is developed each minute.

use super::app_files::AppFiles;
use crate::app::{AgentShare, App, AppCollection, Visibility};
use crate::error::{Error, Result};
use crate::loaded_app::LoadedApp;
use crate::runtime_core::RuntimeCore;
use ambit_knowledge::{
    ChunkLengths, CollectionShare, EmbeddingSettings, KeptContent, KnowledgeBase, NewCollection,
    SyncReport,
};
use futures::future::BoxFuture;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// From one look to the next while the app is developed, and until what failed is tried again.
const LOOK: Duration = Duration::from_secs(60);
/// And at most.
const LONGEST_LOOK: Duration = Duration::from_secs(60 * 60);

/// What is left when all collections were compared with their files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SyncRemainder {
    Nothing,
    /// Files that are no documents: only who changes them can help.
    BadFiles,
    /// What another node is at, or what failed.
    Collections,
}

/// Keeps the collections as the files say, for as long as the runtime is there.
pub(crate) async fn follow_files(core: Weak<RuntimeCore>, base: KnowledgeBase) {
    // What is said of them ends soon, and comparing them may take long.
    let saying = keep_saying(core.clone(), base.clone());
    tokio::join!(saying, keep_comparing(core, base));
}

async fn keep_saying(core: Weak<RuntimeCore>, base: KnowledgeBase) {
    loop {
        sleep(LOOK).await;
        let Some(now) = core.upgrade() else {
            return;
        };
        let loaded = now.loaded();
        drop(now);
        keep(&loaded.app, &base).await;
    }
}

async fn keep_comparing(core: Weak<RuntimeCore>, base: KnowledgeBase) {
    let mut pause = LOOK;
    while let Some(now) = core.upgrade() {
        let loaded = now.loaded();
        let (is_development, reloaded) = (now.is_development, now.reloaded.clone());
        drop(now);
        let left = sync_all(&loaded, &base, is_development).await;
        let is_done = left == SyncRemainder::Nothing;
        drop(loaded);
        if is_done && !is_development {
            while timeout(LOOK, reloaded.notified()).await.is_err() {
                let Some(now) = core.upgrade() else {
                    return;
                };
                let loaded = now.loaded();
                drop(now);
                if !has_all(&loaded.app, &base).await {
                    break;
                }
            }
            pause = LOOK;
            continue;
        }
        // Who does not come in time is looked for again, a file that cannot be read more and more seldom.
        let is_reloaded = timeout(pause, reloaded.notified()).await;
        pause = match is_reloaded.is_ok() || is_done {
            true => LOOK,
            false => LONGEST_LOOK.min(pause * 2),
        };
    }
}

/// Whether the app's collections are there. Where that cannot be told, they are taken to be.
async fn has_all(app: &App, base: &KnowledgeBase) -> bool {
    let usable = app.collections.values().flatten();
    let ids: Vec<&str> = usable.map(|collection| collection.id.as_str()).collect();
    base.has_file_collections(&ids).await.unwrap_or(true)
}

/// Says which collections the app has, so that nodes with another version of it leave them; those that no node's app has go.
/// False where that failed.
pub(super) async fn keep(app: &App, base: &KnowledgeBase) -> bool {
    // A collection whose file is broken stays as it was.
    let ids: Vec<&str> = app.collections.keys().map(String::as_str).collect();
    let kept = base.keep_file_collections(&ids).await;
    if let Err(error) = &kept {
        tracing::warn!(%error, "collections whose files are gone could not be looked for");
    }
    kept.is_ok()
}

/// Says which collections there are, and brings all of them to what the files say.
async fn sync_all(loaded: &LoadedApp, base: &KnowledgeBase, is_development: bool) -> SyncRemainder {
    let is_kept = keep(&loaded.app, base).await;
    let left = compare_all(loaded, base, is_development).await;
    match is_kept {
        true => left,
        false => SyncRemainder::Collections,
    }
}

/// Brings all of them to what the files say.
pub(super) fn compare_all<'a>(
    loaded: &'a LoadedApp,
    base: &'a KnowledgeBase,
    is_development: bool,
) -> BoxFuture<'a, SyncRemainder> {
    let app = &loaded.app;
    let usable = app.collections.values().flatten();
    let usable: Vec<Arc<AppCollection>> = usable.cloned().collect();
    Box::pin(async move {
        let mut left = SyncRemainder::Nothing;
        for collection in usable {
            match sync(app, base, &collection, is_development).await {
                Ok(Some(report)) => {
                    tell(&collection.id, &report);
                    if !report.failed.is_empty() {
                        left = left.max(SyncRemainder::BadFiles);
                    }
                }
                // Another node is at it, which may have begun before the last change.
                Ok(None) => left = SyncRemainder::Collections,
                Err(error) => {
                    left = SyncRemainder::Collections;
                    let id = &collection.id;
                    tracing::warn!(collection.id = id, %error, "a collection could not be compared with its files");
                }
            }
        }
        left
    })
}

fn sync<'a>(
    app: &'a App,
    base: &'a KnowledgeBase,
    collection: &'a Arc<AppCollection>,
    is_development: bool,
) -> BoxFuture<'a, Result<Option<SyncReport>>> {
    Box::pin(async move {
        let files = AppFiles {
            root: app.root.clone(),
            collection: collection.clone(),
            largest: super::bytes(app.settings.search.limits.file),
        };
        let definition = definition(app, collection, is_development)?;
        Ok(base.sync(&definition, &files).await?)
    })
}

fn tell(collection: &str, report: &SyncReport) {
    let SyncReport {
        added,
        changed,
        removed,
        failed,
        ..
    } = report;
    if added + changed + removed > 0 {
        tracing::info!(
            collection.id = collection,
            added,
            changed,
            removed,
            "a collection follows its files"
        );
    }
    for (file, reason) in failed {
        tracing::warn!(
            collection.id = collection,
            file,
            reason,
            "a file is no document"
        );
    }
}

/// The collection as its file says. One that does not say who sees it is seen as the app's agents are.
fn definition(
    app: &App,
    collection: &AppCollection,
    is_development: bool,
) -> Result<NewCollection> {
    let file = &collection.file;
    let usual = app.settings.visibility.map(Visibility::from);
    let usual = usual.map_or(is_development, |usual| usual == Visibility::Public);
    let is_silent = file.public.is_none() && file.share.is_none();
    let language = file.language.parse();
    let embedding = file.embedding.as_ref().map(|vectors| &vectors.0);
    Ok(NewCollection {
        id: collection.id.clone(),
        name: file.name.clone(),
        description: file.description.clone(),
        public: file.public.unwrap_or(is_silent && usual),
        share: match file.share {
            Some(AgentShare::Team) => CollectionShare::Team,
            Some(AgentShare::Private) | None => CollectionShare::Private,
        },
        language: language.map_err(|_| Error::internal("a language without a name"))?,
        chunk: ChunkLengths {
            size: file.chunk.size,
            overlap: file.chunk.overlap,
        },
        embedding: embedding.map(|options| EmbeddingSettings {
            connector: options.connector.clone(),
            dimensions: options.dimensions,
            query_prefix: options.query_prefix.clone(),
            document_prefix: options.document_prefix.clone(),
        }),
        keep: KeptContent::Text,
        metadata: file.metadata.clone(),
    })
}
