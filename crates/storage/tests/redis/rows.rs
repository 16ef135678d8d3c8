//! Index rows and their orders.

use super::{Outcomes, Store};
use ambit_storage::SessionIdentity;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::directory::{PageRequest, RowFilter, RowOrder, TrackRequest};
use std::collections::BTreeMap;
use std::time::Duration;

pub fn tracked(agent: &str, chat: &str) -> Outcomes<TrackRequest> {
    let identity = SessionIdentity::builder(agent)
        .user_id("secret-user")
        .chat_name(chat)
        .build()?;
    Ok(TrackRequest {
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
                .map(|track| BatchWrite::Track(Box::new(track))),
        ))
        .await?;
    let mut expected: Vec<String> = tracks.iter().rev().map(|track| track.id.clone()).collect();
    for at in [7_usize, 3, 50] {
        store.clock.advance(Duration::from_secs(2));
        let log = Space::of("t", &tracks[at].identity).log("items");
        driver
            .commit(Batch::of([BatchWrite::append(log, Vec::new())]))
            .await?;
        expected.retain(|id| *id != tracks[at].id);
        expected.insert(0, tracks[at].id.clone());
    }
    let filter = RowFilter {
        agent: Some("a".to_owned()),
        ..RowFilter::tenant("t")
    };
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = PageRequest {
            order: RowOrder::Recent,
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
