//! What is one user's alone, and goes with them.

use super::{APP, builder};
use ambit::event::{IdentityRemoving, Verdict};
use ambit::runtime::CallerReach;
use ambit::storage::Json;
use ambit::storage::address::{DEFAULT_TENANT, Space};
use ambit::storage::batch::{Batch, BatchWrite};
use ambit::storage::driver::ValuePart;
use ambit::storage::operation::Operation;
use ambit::{Ambit, Authorized, Context, ErrorCode, Result};
use ambit_knowledge::{KnowledgeReach, NewCollection, NewDocument, UsedChunk};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test]
async fn a_caller_reaches_no_other_user() -> Result<()> {
    let ambit = builder().open().await?;
    let support = ambit.agent("SupportAgent")?;
    support.for_user_id("ann").respond("Hello").await?;
    ambit.user_memory("ann").await?.set("a", &1, None).await?;
    let mallory = ambit.acting_as(Authorized {
        user_id: Some("mallory".to_owned()),
        ..Authorized::default()
    });
    let of_agent = Context::of(&mallory, "SupportAgent")?;
    assert_eq!(of_agent.count().await?, 0);
    assert!(mallory.user_memory("ann").await.is_err());
    let others = mallory.agent("SupportAgent")?.for_user_id("ann").await;
    assert_eq!(others.unwrap_err().code, ErrorCode::PermissionDenied);
    ambit.close().await
}

#[tokio::test]
async fn what_a_user_keeps_in_the_store_goes_with_them() -> Result<()> {
    let ambit = builder().open().await?;
    let store = ambit.stores().index()?.driver().clone();
    let key = |user: &str| Space::user_store(DEFAULT_TENANT, user).key("docs/a");
    for user in ["ann", "bob"] {
        let set = Operation::Set(Json::of("canary")?.into());
        let write = BatchWrite::apply(key(user), set, None);
        store.commit(Batch::of([write])).await?;
    }
    ambit.erase_user("ann").await?;
    assert_eq!(store.get(&key("ann"), ValuePart::Whole).await?, None);
    assert!(store.get(&key("bob"), ValuePart::Whole).await?.is_some());
    ambit.close().await
}

#[tokio::test]
async fn g204_hits_of_a_turn_that_ends_while_its_user_is_erased_are_erased_too() -> Result<()> {
    static NOTED: AtomicUsize = AtomicUsize::new(0);
    let ambit = builder().open().await?;
    let base = ambit.runtime().knowledge()?;
    let reach = |user: &str| {
        CallerReach::of(&Authorized {
            user_id: Some(user.to_owned()),
            ..Authorized::default()
        })
    };
    let (ann, bob) = (reach("ann"), reach("bob"));
    let ann: Arc<dyn KnowledgeReach> = Arc::new(ann);
    let collection = NewCollection {
        id: "c".to_owned(),
        public: true,
        ..NewCollection::default()
    };
    base.create_collection(&bob, collection).await?;
    let new = NewDocument::text("d.md", "A heron.");
    let id = base.add_document(&bob, "c", new).await?.document_id;
    base.work().await?;
    let chunk = base.document_chunks(&bob, &id, 0..1).await?.remove(0).id;
    let used = UsedChunk {
        document_id: id.clone(),
        chunk_id: chunk.clone(),
    };
    let support = ambit.agent("SupportAgent")?;
    support.for_user_id("ann").respond("Hello").await?;
    let noting = base.clone();
    ambit.before::<IdentityRemoving>(move |_: &mut IdentityRemoving| {
        noting.note_hits(&ann, vec![used.clone()]);
        NOTED.fetch_add(1, Ordering::Relaxed);
        async { Ok(Verdict::Continue) }
    });
    ambit.erase_user("ann").await?;
    assert!(NOTED.load(Ordering::Relaxed) > 0);
    base.store_hits().await?;
    assert_eq!(base.hits(&bob, &id, &chunk).await?, []);
    ambit.close().await
}

#[tokio::test]
async fn scripts_of_a_users_turn_reach_that_users_data_alone() -> Result<()> {
    let script = "export function Next(ctx) { return { data: ctx.authorized.constraints }; }";
    let [app, package, prompts, connector] = APP;
    let hook = ("assistants/SupportAgent/src/index.ts", script);
    let ambit = Ambit::open([app, package, prompts, connector, hook]).await?;
    let agent = ambit.agent("SupportAgent")?.for_user_id("ann").await?;
    let response = agent.respond("Hello").await?;
    assert_eq!(response.next, json!({"owner_only": true}));
    ambit.close().await
}
