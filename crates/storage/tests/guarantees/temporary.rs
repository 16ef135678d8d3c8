//! Temporary sessions leave nothing: G71.

use crate::agents::{Durable, Plain};
use crate::bed::{Bed, Case, Notes, contents, heard, rows, say, spend};
use crate::dump::{forgets, keeps};
use crate::order::listen;
use ambit_storage::address::Space;
use ambit_storage::driver::{Driver, ValuePart, ValueScan};
use ambit_storage::memory::Ttl;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Ambit, LiveAgent, SessionIdentity};
use std::collections::BTreeMap;
use std::time::Duration;

pub const CASES: &[Case] = cases![
    g071_a_temporary_session_leaves_no_byte_whatever_its_overrides_say,
    g071_a_temporary_session_never_reads_the_real_storages,
    g071_a_temporary_session_is_gone_after_its_time,
    g071_a_temporary_session_in_a_durable_driver_is_untracked_and_expires,
    g071_a_removed_temporary_session_is_gone_soon,
    g071_only_the_chat_name_makes_a_session_temporary,
    g071_a_temporary_session_fires_no_identity_events,
];

const NAMES: [&str; 4] = ["_temp", "_temp_1", "_temporary", "_template"];

fn ambit(bed: &Bed) -> Ambit {
    let builder = Ambit::builder(bed.stores().build().unwrap());
    builder.agent(Durable).agent(Plain("Support")).build()
}

async fn fill(agent: &LiveAgent) {
    spend(agent, 5);
    let notes = agent.context().storage::<Notes>().await.unwrap();
    notes.add("secretive note".to_owned()).unwrap();
    say(agent, &["secretive text", "secretive more"]).await;
    let memory = agent.context().memory().unwrap();
    for (name, life) in [("secretive key", None), ("secretive too", Some(Ttl::Never))] {
        memory.set(name, &"secretive value", life).await.unwrap();
    }
    let view = agent.history().tail(1).await.unwrap();
    agent.history().replace_messages(view).await.unwrap();
    agent.context().save().await.unwrap();
    agent.context().read().await.unwrap();
}

/// What the driver has of this session.
async fn held(driver: &dyn Driver, identity: &SessionIdentity) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for scope in ["chatHistory", "usage", "memory", "notes"] {
        let identity = identity.with_scope(scope).unwrap();
        let space = Space::of("default/temporary", &identity);
        contents(driver, &space, &mut found).await;
    }
    found
}

async fn g071_a_temporary_session_leaves_no_byte_whatever_its_overrides_say(bed: Bed) {
    let ambit = ambit(&bed);
    for agent in ["Durable", "Support"] {
        let definition = ambit.agent(agent).unwrap();
        for name in NAMES {
            fill(&definition.for_chat(name).await.unwrap()).await;
            let of_user = definition.for_user_id("secretive-user").chat(name);
            fill(&of_user.await.unwrap()).await;
        }
    }
    assert!(!keeps(&bed, "secretive").await);
    assert!(!keeps(&bed, "_temp").await && !keeps(&bed, "~5ftemp").await);
    assert_eq!(rows(bed.driver.as_ref()).await, []);
    let keys = ambit
        .agent("Durable")
        .unwrap()
        .for_chat("_temp")
        .await
        .unwrap();
    assert_eq!(keys.storage_keys().await.unwrap().items, [""; 0]);
}

async fn g071_a_temporary_session_never_reads_the_real_storages(bed: Bed) {
    let ambit = ambit(&bed);
    let durable = ambit.agent("Durable").unwrap();
    say(&durable.for_chat("c").await.unwrap(), &["real"]).await;
    let temporary = durable.for_chat("_temp").await.unwrap();
    assert_eq!(heard(&temporary).await, [""; 0]);
    temporary.context().clear().await.unwrap();
    temporary.context().save().await.unwrap();
    temporary.context().remove().await.unwrap();
    assert_eq!(
        heard(&durable.for_chat("c2").await.unwrap()).await,
        ["real"]
    );
    // Nor does a real session meet the temporary one under the same tuple.
    let again = durable.for_chat("_temp").await.unwrap();
    say(&again, &["temporary"]).await;
    assert_eq!(
        heard(&durable.for_chat("_temp").await.unwrap()).await,
        ["temporary"]
    );
}

async fn g071_a_temporary_session_is_gone_after_its_time(bed: Bed) {
    let ambit = ambit(&bed);
    let support = ambit.agent("Support").unwrap();
    let (early, late) = (
        support.for_chat("_temp_1").await.unwrap(),
        support.for_chat("_temp_2").await.unwrap(),
    );
    let memory = ambit.stores().temporary().unwrap().driver().clone();
    fill(&early).await;
    bed.clock().advance(Duration::from_secs(1_800));
    fill(&late).await;
    assert_eq!(ambit.sweep_temporary().await.unwrap(), 0);
    bed.clock().advance(Duration::from_secs(1_801));
    // Also before a sweep nobody reads it any more.
    let again = support.for_chat("_temp_1").await.unwrap();
    assert_eq!(heard(&again).await, [""; 0]);
    assert_ne!(
        held(memory.as_ref(), late.context().identity()).await.len(),
        0
    );
    say(&late, &["still here"]).await;
    bed.clock().advance(Duration::from_secs(3_601));
    ambit.sweep_temporary().await.unwrap();
    for agent in [&early, &late] {
        let left = held(memory.as_ref(), agent.context().identity()).await;
        assert_eq!(left, BTreeMap::new());
    }
    assert_eq!(heard(&late).await, [""; 0]);
}

async fn g071_a_temporary_session_in_a_durable_driver_is_untracked_and_expires(bed: Bed) {
    let stores = bed.stores().temporary_drivers(&["main"]).build().unwrap();
    let ambit = Ambit::builder(stores).agent(Durable).build();
    let agent = ambit
        .agent("Durable")
        .unwrap()
        .for_chat("_temp")
        .await
        .unwrap();
    fill(&agent).await;
    let kept = held(bed.driver.as_ref(), agent.context().identity()).await;
    assert!(format!("{kept:?}").contains("secretive"));
    assert_eq!(rows(bed.driver.as_ref()).await, []);
    bed.clock().advance(Duration::from_secs(3_601));
    assert_ne!(ambit.sweep_temporary().await.unwrap(), 0);
    while bed.driver.sweep(1_000).await.unwrap() > 0 {}
    assert!(forgets(&bed, "secretive").await);
    assert!(forgets(&bed, "_temp").await && forgets(&bed, "~5ftemp").await);
}

async fn g071_a_removed_temporary_session_is_gone_soon(bed: Bed) {
    let stores = bed.stores().temporary_drivers(&["main"]).build().unwrap();
    let ambit = Ambit::builder(stores).agent(Plain("Support")).build();
    let agent = ambit
        .agent("Support")
        .unwrap()
        .for_chat("_temp")
        .await
        .unwrap();
    fill(&agent).await;
    agent.context().clear().await.unwrap();
    agent.context().save().await.unwrap();
    assert!(forgets(&bed, "secretive").await);
    fill(&agent).await;
    agent.context().remove().await.unwrap();
    assert!(forgets(&bed, "secretive").await);
    assert_eq!(
        held(bed.driver.as_ref(), agent.context().identity()).await,
        BTreeMap::new()
    );
    let scan = ValueScan::first(Pattern::all(), 10, ValuePart::Nothing);
    let sums = Space::usage_sums("default/temporary");
    assert_eq!(bed.driver.scan(&sums, &scan).await.unwrap(), []);
}

async fn g071_only_the_chat_name_makes_a_session_temporary(bed: Bed) {
    let ambit = ambit(&bed);
    let support = ambit.agent("Support").unwrap();
    for (number, agent) in [
        support.for_user_id("_temp").await.unwrap(),
        support.for_user_id("_temp").chat("x_temp").await.unwrap(),
        support.for_chat("temp").await.unwrap(),
        support.for_chat("_Temp").await.unwrap(),
    ]
    .into_iter()
    .enumerate()
    {
        say(&agent, &["kept"]).await;
        assert!(!agent.context().is_temporary());
        assert_eq!(rows(bed.driver.as_ref()).await.len(), number + 1);
    }
}

async fn g071_a_temporary_session_fires_no_identity_events(bed: Bed) {
    let ambit = ambit(&bed);
    let told = listen(&ambit);
    let agent = ambit
        .agent("Durable")
        .unwrap()
        .for_chat("_temp")
        .await
        .unwrap();
    fill(&agent).await;
    agent.context().remove().await.unwrap();
    let names = told.take();
    let of_identities: Vec<_> = names
        .iter()
        .filter(|name| name.starts_with("Identity"))
        .collect();
    assert!(of_identities.is_empty(), "{of_identities:?}");
    for name in [
        "ContextCreated",
        "MessageAdding",
        "MessageAdded",
        "ContextSaved",
        "ContextRemoved",
    ] {
        assert!(names.contains(&name), "{name}");
    }
}
