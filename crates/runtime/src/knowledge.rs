//! Collections of knowledge in an app: who may see what, who makes vectors, reads and fetches documents for them, and the
//! collections that are files of the app.

mod app_files;
mod connector_embedder;
pub(crate) mod embedding_usage;
mod failure;
mod file_sync;
mod page_fetcher;
mod settle;
mod step_asker;
mod step_extractor;

pub(crate) use file_sync::follow_files;
pub(crate) use settle::settle;
pub(crate) use step_asker::StepAsker;

use crate::app::{AppSearch, SearchLimits};
use crate::config::ByteSize;
use crate::error::{Error, ErrorCode, Result};
use crate::runtime_core::RuntimeCore;
use ambit_knowledge::{KnowledgeBase, KnowledgeLimits, KnowledgeSettings};
use connector_embedder::ConnectorEmbedder;
use page_fetcher::AllowedPageFetcher;
use std::path::PathBuf;
use std::sync::Arc;
use step_extractor::StepExtractor;

/// The knowledge base of a runtime, over the store that its app names. What the app says of it counts until the runtime ends.
pub(crate) fn open(
    core: &Arc<RuntimeCore>,
    extract_program: Option<PathBuf>,
) -> Result<KnowledgeBase> {
    let loaded = core.loaded();
    let settings = &loaded.app.settings.search;
    let placement = match &settings.store {
        None => core.stores.index()?,
        Some(name) => {
            let wrong = |error: ambit_storage::Error| {
                let message = format!("app.yao: \"ambit.search.store\": {error}");
                Error::new(ErrorCode::ConfigError, message)
            };
            core.stores.chain(&[name]).map_err(wrong)?
        }
    };
    let asker = StepAsker::of(core);
    let usual = KnowledgeSettings::new(placement.driver().clone());
    Ok(KnowledgeBase::open(KnowledgeSettings {
        clock: core.stores.options().clock.clone(),
        memory: bytes(settings.memory),
        limits: limits(settings),
        extract_program,
        embedder: Some(Arc::new(ConnectorEmbedder::of(core))),
        extractor: Some(Arc::new(StepExtractor::new(asker.clone()))),
        fetcher: Some(Arc::new(AllowedPageFetcher(asker))),
        ..usual
    }))
}

fn limits(settings: &AppSearch) -> KnowledgeLimits {
    let SearchLimits {
        collections,
        bytes: text,
        jobs,
        queries,
        documents,
        chunks,
        file,
        document_chunks,
    } = settings.limits;
    KnowledgeLimits {
        collections,
        bytes: bytes(text),
        jobs,
        queries,
        documents,
        chunks,
        file: bytes(file),
        document_chunks,
    }
}

fn bytes(size: ByteSize) -> u64 {
    u64::try_from(size.0).unwrap_or(u64::MAX)
}
