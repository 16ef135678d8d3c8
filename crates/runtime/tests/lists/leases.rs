//! Turns under way, as operators list them.

use crate::bed::{Bed, ann};
use ambit_runtime::inspect::leases;
use ambit_storage::address::Space;
use ambit_storage::batch::BatchWrite;
use ambit_storage::operation::Operation;
use ambit_storage::{Ambit, Json, Stores, driver};
use futures::FutureExt;
use serde_json::{Value, json};

pub const CASES: &[(&str, crate::Run)] = &[(
    "a_store_that_is_away_and_a_damaged_note_hide_no_other_turn",
    |bed| spared(bed).boxed(),
)];

/// A value among the notes of open turns.
fn note(name: &str, value: &Value) -> BatchWrite {
    let set = Operation::Set(Json::of(value).unwrap().into());
    BatchWrite::apply(Space::turns().key(name), set, None)
}

async fn listed(ambit: &Ambit) -> Vec<String> {
    let page = leases::list(ambit, None, 10).await.unwrap();
    let turns = page.items.into_iter();
    turns.map(|turn| turn.request_id).collect()
}

async fn spared(bed: Bed) {
    let live = bed.talk(&ann(), "support", "c", "one").await;
    let (space, _) = live.context().place();
    let open = json!({"tenant": "t1", "agent": "support", "base": live.context().identity(),
        "space": space, "request_id": "r-open"});
    let notes = [note("a/damaged", &json!(7)), note("b/r-open", &open)];
    bed.commit(notes).await;
    assert_eq!(listed(&bed.ambit).await, ["r-open"]);
    let away = driver::open("memory:", bed.options.clone()).await.unwrap();
    away.close().await.unwrap();
    let stores = Stores::builder(bed.options.clone());
    let stores = stores
        .driver("main", bed.driver.clone())
        .driver("away", away);
    let ambit = Ambit::builder(stores.build().unwrap()).build();
    assert_eq!(listed(&ambit).await, ["r-open"]);
}
