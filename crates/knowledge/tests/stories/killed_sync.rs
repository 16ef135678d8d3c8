//! A node that makes a collection equal to a folder is killed at each point of each write of that; this one goes on.

use crate::files::{Folder, handbook};
use crate::killed::{LATER, Order, is_killed};
use crate::person::Person;
use crate::world::World;
use ambit_knowledge::{DocumentFilter, DocumentStatus, KnowledgeQuery, SyncReport};
use ambit_storage::conformance::DriverFixture;
use std::collections::BTreeSet;
use std::time::Duration;

/// The files of a round.
const FILES: u64 = 3;

/// The documents that are found, with their texts.
async fn found(world: &World) -> Vec<(String, String)> {
    let mut query = KnowledgeQuery::new("heron stork crane", &["handbook"]);
    query.limit = 100;
    query.is_counted = false;
    let items = world.ask(&Person::named("bob"), &query).await.items;
    let mut found: Vec<_> = items
        .into_iter()
        .map(|item| (item.document_id, item.content))
        .collect();
    found.sort();
    found
}

/// What is found of a folder that is indexed as a whole.
fn whole(round: u64) -> Vec<(String, String)> {
    let files = Folder::of_round(round).files.into_iter();
    files
        .map(|(path, (_, text))| (format!("handbook:{path}"), text))
        .collect()
}

/// Each file is found once, as it was or as it is, or not at all where it came or went.
fn check_once(round: u64, found: &[(String, String)]) {
    let (old, new) = (whole(round - 1), whole(round));
    let ids: BTreeSet<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
    let is_right = found.iter().all(|it| old.contains(it) || new.contains(it));
    assert!(
        is_right && ids.len() == found.len(),
        "round {round}: {found:?}"
    );
    for id in ["handbook:stays.md", "handbook:changes.md"] {
        assert!(ids.contains(id), "round {round}: {found:?}");
    }
}

/// This node goes on, and then all files of the round are there once, and nothing is left to be done.
async fn settle(world: &World, round: u64) {
    let folder = Folder::of_round(round);
    let synced = world.base.sync(&handbook(), &folder).await.unwrap();
    let failed = synced.map(|report| report.failed);
    assert_eq!(failed, Some(Vec::new()), "round {round}");
    world.base.work().await.unwrap();
    assert_eq!(found(world).await, whole(round), "round {round}");
    let bob = Person::named("bob");
    let every = DocumentFilter::default();
    let documents = world.base.documents(&bob, &every).await.unwrap();
    let mut states = documents.iter().map(|it| it.status);
    assert!(
        states.all(|status| status == DocumentStatus::Ready),
        "round {round}: {documents:#?}"
    );
    let collection = world.base.collection(&bob, "handbook").await.unwrap();
    let sums = [collection.documents, collection.chunks, collection.failed];
    assert_eq!(sums, [FILES, FILES, 0], "round {round}");
    folder.take_read();
    let again = world.base.sync(&handbook(), &folder).await.unwrap();
    let unchanged = SyncReport {
        unchanged: FILES,
        ..SyncReport::default()
    };
    assert_eq!(again, Some(unchanged), "round {round}");
    assert_eq!(folder.take_read(), [""; 0], "round {round}");
}

pub async fn g201_of_a_folder_whose_node_is_killed_each_file_is_indexed_once_or_not_at_all(
    world: World,
) {
    settle(&world, 0).await;
    let (mut round, mut ahead) = (0, Duration::ZERO);
    for point in world.store.fault_points {
        let mut times = 0;
        loop {
            (round, times) = (round + 1, times + 1);
            let order = Order {
                url: world.fresh.place.url.clone(),
                ahead,
                point: (*point).to_owned(),
                times,
                embedder_file: None,
                folder_round: Some(round),
            };
            let has_died = is_killed(order).await;
            check_once(round, &found(&world).await);
            ahead += LATER;
            world.fresh.clock().advance(LATER);
            settle(&world, round).await;
            if !has_died {
                break;
            }
        }
        assert!(times > 8, "only {times} times at {point}");
    }
}
