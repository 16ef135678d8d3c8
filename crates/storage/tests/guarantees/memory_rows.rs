//! The index row of a memory, and the events of it: G123.

use crate::bed::{Bed, Case, chat, with_agents};
use crate::order::listen;
use ambit_storage::event::IdentityAdded;
use ambit_storage::{Ambit, Context};
use futures::FutureExt;
use std::sync::Arc;

pub const CASES: &[Case] = cases![g123_a_new_memory, g123_a_new_memory_whose_writer_leaves];

async fn g123_a_new_memory(bed: Bed) {
    // The index is in the store of the data, and in another one.
    let stores = bed.stores().default_drivers(&["memory"]);
    let stores = stores.scope_drivers("chatHistory", &["main"]);
    for ambit in [bed.ambit(), with_agents(stores).build()] {
        let agent = chat(&ambit, "c", &[]).await;
        let heard = listen(&ambit);
        let memory = agent.context().memory().unwrap();
        memory.get("k").await.unwrap();
        assert_eq!(heard.take(), [""; 0]);
        memory.set("k", &1, None).await.unwrap();
        assert_eq!(heard.take(), ["IdentityAdding", "IdentityAdded"]);
        let again = agent.context().memory().unwrap();
        again.set("k", &2, None).await.unwrap();
        assert_eq!(heard.take(), [""; 0]);
        let before = row_ids(&ambit).await;
        agent.context().remove().await.unwrap();
        heard.take();
        memory.set("k", &3, None).await.unwrap();
        assert_eq!(heard.take(), ["IdentityAdding", "IdentityAdded"]);
        assert_ne!(row_ids(&ambit).await, before);
        agent.context().remove().await.unwrap();
    }
}

async fn row_ids(ambit: &Ambit) -> Vec<String> {
    let rows = Context::named(ambit, "Support").page(None, 10).await;
    rows.unwrap().items.into_iter().map(|row| row.id).collect()
}

async fn g123_a_new_memory_whose_writer_leaves(bed: Bed) {
    let ambit = bed.ambit();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    ambit.after(move |event: Arc<IdentityAdded>| {
        let tell = tell.clone();
        Box::pin(async move {
            tokio::task::yield_now().await;
            tell.send(event.identity.key()).unwrap();
            Ok(())
        })
    });
    let memory = chat(&ambit, "c", &[]).await.context().memory().unwrap();
    assert!(memory.set("k", &1, None).now_or_never().is_none());
    assert_eq!(told.recv().await.as_deref(), Some("memory_Support_c"));
}
