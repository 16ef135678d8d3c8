//! Index rows and their orders.

use super::{Outcomes, Store};
use ambit_storage::SessionIdentity;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, Write};
use ambit_storage::directory::{Filter, Order, PageRequest, Track};
use std::collections::BTreeMap;
use std::time::Duration;

pub fn tracked(agent: &str, chat: &str) -> Outcomes<Track> {
    let identity = SessionIdentity::builder(agent)
        .user_id("secret-user")
        .chat_name(chat)
        .build()?;
    Ok(Track {
        id: format!("{agent}-{chat}"),
        tenant: "t".to_owned(),
        agent: agent.to_owned(),
        base: identity.base(),
        identity,
        placement: Vec::new(),
        created_by: None,
        team: None,
        labels: BTreeMap::new(),
    })
}

pub async fn recent(store: &Store) -> Outcomes {
    let driver = store.open().await?;
    // All made in one batch, hence active in the same millisecond: more than one step of a walk holds.
    let tracks = (0..60)
        .map(|at| tracked("a", &format!("c{at:02}")))
        .collect::<Outcomes<Vec<_>>>()?;
    driver
        .commit(Batch::of(
            tracks
                .iter()
                .cloned()
                .map(|track| Write::Track(Box::new(track))),
        ))
        .await?;
    let mut expected: Vec<String> = tracks.iter().rev().map(|track| track.id.clone()).collect();
    for at in [7_usize, 3, 50] {
        store.clock.advance(Duration::from_secs(2));
        let log = Space::of("t", &tracks[at].identity).log("items");
        driver
            .commit(Batch::of([Write::Append {
                log,
                entries: Vec::new(),
            }]))
            .await?;
        expected.retain(|id| *id != tracks[at].id);
        expected.insert(0, tracks[at].id.clone());
    }
    let filter = Filter {
        agent: Some("a".to_owned()),
        ..Filter::tenant("t")
    };
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = PageRequest {
            order: Order::Recent,
            after,
            limit: 7,
        };
        let rows = driver.identities(&filter, &page).await?;
        let Some(last) = rows.last() else { break };
        after = Some(last.position());
        found.extend(rows.into_iter().map(|row| row.id));
    }
    assert_eq!(found, expected);
    Ok(())
}
