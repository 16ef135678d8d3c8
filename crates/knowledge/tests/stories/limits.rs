//! What there is no room for is refused before anything is stored.

use crate::world::{World, file, settings};
use ambit_knowledge::{
    DocumentFilter, KnowledgeBase, KnowledgeError, KnowledgeLimits, KnowledgeQuery,
    KnowledgeSettings, NewCollection, NewDocument,
};
use futures::future::join_all;

fn limited(world: &World, limits: KnowledgeLimits) -> KnowledgeBase {
    KnowledgeBase::open(KnowledgeSettings {
        limits,
        ..settings(world.driver.clone())
    })
}

pub async fn g212_of_sixteen_uploads_at_the_last_free_place_one_gets_in(world: World) {
    world.collection("c").await;
    let limits = KnowledgeLimits {
        documents: 3,
        ..KnowledgeLimits::default()
    };
    world.add("c", "a", "one").await;
    world.add("c", "b", "two").await;
    // Four nodes, each asked four times at once.
    let nodes: Vec<KnowledgeBase> = (0..4).map(|_| limited(&world, limits)).collect();
    let uploads = (0..16).map(|at| {
        let new = NewDocument::text(format!("n{at}.txt"), format!("heron {at}"));
        nodes[at % 4].add_document(&world.ann, "c", new)
    });
    let done = join_all(uploads).await;
    assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1);
    for refused in done.into_iter().filter_map(Result::err) {
        let expected = "documents of collection \"c\": the limit of 3 is reached (ambit.search.limits.documents)";
        assert_eq!(refused.to_string(), expected);
    }
    world.base.work().await.unwrap();
    let all = world
        .base
        .documents(&world.ann, &DocumentFilter::default())
        .await
        .unwrap();
    assert_eq!(all.len(), 3);
}

pub async fn g212_sizes_and_sums_are_refused_by_name(world: World) {
    let limits = KnowledgeLimits {
        collections: 1,
        bytes: 100,
        file: 80,
        queries: 2,
        ..KnowledgeLimits::default()
    };
    let base = limited(&world, limits);
    let new = |id: &str| NewCollection {
        id: id.to_owned(),
        ..NewCollection::default()
    };
    base.create_collection(&world.ann, new("c")).await.unwrap();
    let refused = base
        .create_collection(&world.ann, new("d"))
        .await
        .unwrap_err();
    assert!(matches!(
        refused,
        KnowledgeError::LimitExceeded {
            setting: "collections",
            ..
        }
    ));
    let large = NewDocument::of(file("large.txt", &[b'a'; 81]));
    let refused = base.add_document(&world.ann, "c", large).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "file \"large.txt\" has 81 bytes, at most 80 bytes are accepted"
    );
    let add = |byte| {
        let new = NewDocument::of(file("f.txt", &[byte; 60]));
        base.add_document(&world.ann, "c", new)
    };
    add(b'a').await.unwrap();
    let refused = add(b'b').await.unwrap_err();
    assert!(matches!(
        refused,
        KnowledgeError::LimitExceeded {
            setting: "bytes",
            ..
        }
    ));
    let query = KnowledgeQuery::new("heron", &["c"]);
    for _ in 0..2 {
        base.search(&world.ann, &query).await.unwrap();
    }
    let refused = base.search(&world.ann, &query).await.unwrap_err();
    assert!(matches!(
        refused,
        KnowledgeError::LimitExceeded {
            setting: "queries",
            ..
        }
    ));
}
