//! Vectors of conversations and memories, made for as long as a node runs: by which connector, and who pays.

use crate::access::Authorized;
use crate::call_metrics::count_tokens;
use crate::error::Result;
use crate::index_vectors::{IndexEmbedding, VectorBooking};
use crate::knowledge::embedding_usage::{self, EmbeddingAccount};
use crate::llm::{TokenUsage, embedding};
use crate::memory_search::embed_values;
use crate::recall::{RecallSettings, embed_messages};
use crate::runtime_core::RuntimeCore;
use crate::search::UsageBooking;
use ambit_storage::clock::backoff;
use ambit_storage::storage::UsageRecord;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// From one look for what has no vectors to the next.
const LOOK: Duration = Duration::from_secs(5);
/// From one look to the next while a connector is down; and at most.
const RETRY: Duration = Duration::from_secs(60);
const LONGEST_RETRY: Duration = Duration::from_secs(60 * 60);
/// The names under which vectors are booked.
const RECALL: &str = "recall";
const MEMORY: &str = "memory";

/// What the app says of searching conversations, for a caller.
pub(crate) fn recall_settings(core: &Arc<RuntimeCore>, who: &Authorized) -> RecallSettings {
    let loaded = core.loaded();
    let options = &loaded.app.settings.search.recall;
    let connector = options.embedding.as_deref();
    let embedding = index_embedding(core, connector, booking_of_caller(core, RECALL, who));
    RecallSettings::of(options, embedding)
}

/// Who makes vectors of memories, for a caller.
pub(crate) fn value_embedding(core: &Arc<RuntimeCore>, who: &Authorized) -> Option<IndexEmbedding> {
    let loaded = core.loaded();
    let connector = loaded.app.settings.search.values.embedding.as_deref();
    index_embedding(core, connector, booking_of_caller(core, MEMORY, who))
}

fn index_embedding(
    core: &RuntimeCore,
    connector: Option<&str>,
    book: UsageBooking,
) -> Option<IndexEmbedding> {
    IndexEmbedding::of(core.knowledge.get()?, connector, book)
}

/// Makes the vectors that are missing, again and again. While a connector is down it is asked less often.
pub(crate) async fn follow(core: Weak<RuntimeCore>) {
    let (mut messages, mut values) = (FailureCount::default(), FailureCount::default());
    loop {
        let Some(core) = core.upgrade() else {
            return;
        };
        if messages.is_due() {
            messages.note(embed_histories(&core).await);
        }
        if values.is_due() {
            values.note(embed_memories(&core).await);
        }
        drop(core);
        tokio::time::sleep(LOOK).await;
    }
}

async fn embed_histories(core: &Arc<RuntimeCore>) -> Result<()> {
    let settings = recall_settings(core, &Authorized::default());
    let book = booking_of_owner(core, RECALL);
    embed_messages(&core.loaded().ambit, &settings, &book).await
}

async fn embed_memories(core: &Arc<RuntimeCore>) -> Result<()> {
    match value_embedding(core, &Authorized::default()) {
        Some(embedding) => {
            let book = booking_of_owner(core, MEMORY);
            embed_values(&core.stores, &embedding, &book).await
        }
        None => Ok(()),
    }
}

/// How often in a row it has failed, and how many looks are to be let pass for that.
#[derive(Default)]
struct FailureCount {
    failures: u32,
    passing: u64,
}

impl FailureCount {
    fn is_due(&mut self) -> bool {
        self.passing = self.passing.saturating_sub(1);
        self.passing == 0
    }

    fn note(&mut self, done: Result<()>) {
        match done {
            Ok(()) => self.failures = 0,
            Err(error) => {
                self.failures += 1;
                let pause = backoff(RETRY, LONGEST_RETRY, self.failures);
                self.passing = pause.as_secs() / LOOK.as_secs();
                tracing::warn!(%error, retry.seconds = pause.as_secs(), "vectors of conversations and memories are made later");
            }
        }
    }
}

/// Books what the vector of a query has used on who asks.
fn booking_of_caller(
    core: &Arc<RuntimeCore>,
    agent: &'static str,
    who: &Authorized,
) -> UsageBooking {
    let (core, who) = (Arc::downgrade(core), who.clone());
    Arc::new(move |usage, record| {
        let Some(core) = core.upgrade() else {
            return;
        };
        let (weak, who) = (Arc::downgrade(&core), who.clone());
        core.spawn(async move {
            let Some(core) = weak.upgrade() else {
                return;
            };
            let account = EmbeddingAccount {
                agent,
                tenant: Some(who.tenant()),
                user: who.user_id.as_deref(),
            };
            book(&core, account, &usage, record).await;
        });
    })
}

/// Books what a job has used on the owner of what it works on.
fn booking_of_owner(core: &Arc<RuntimeCore>, agent: &'static str) -> VectorBooking {
    let core = core.clone();
    Arc::new(move |payer, used| {
        let core = core.clone();
        Box::pin(async move {
            let usage = TokenUsage::of(i64::try_from(used.tokens).unwrap_or(i64::MAX), 0);
            let record = embedding::usage_record(&used.connector, &used.model, &usage);
            let account = EmbeddingAccount {
                agent,
                tenant: Some(&payer.tenant),
                user: payer.user.as_deref(),
            };
            book(&core, account, &usage, record).await;
        })
    })
}

async fn book(
    core: &RuntimeCore,
    account: EmbeddingAccount<'_>,
    usage: &TokenUsage,
    mut record: UsageRecord,
) {
    let loaded = core.loaded();
    let connector = record.provider_name.as_deref().unwrap_or_default();
    count_tokens(core.metrics(), connector, usage);
    let connector = loaded.app.model(connector).ok();
    record.cost = connector.and_then(|connector| connector.cost(&record));
    let settings = loaded.ambit.settings();
    if let Err(error) = embedding_usage::book(&core.stores, settings, account, record).await {
        tracing::warn!(%error, "what vectors of conversations or memories have used is not booked");
    }
}
