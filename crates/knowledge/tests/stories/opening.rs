//! A search over many collections, some of which change while it opens them.

use crate::person::Person;
use crate::world::World;
use ambit_knowledge::{
    Collection, CollectionUpdate, Document, KnowledgeBase, KnowledgeError, KnowledgeQuery,
    KnowledgeReach,
};
use ambit_storage::Error;
use std::collections::BTreeMap;
use std::sync::Mutex;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

/// How often a search looks at a collection: for its vectors, and to open it.
const LOOKS: usize = 2;
/// How often a search opens a collection that is changed each time.
const OPENINGS: usize = 65;

/// Ann, who is asked for her rights between the moments at which a collection is looked at and read: there one of them is changed,
/// one is changed each time, and one removed.
struct ChangingReach {
    ann: Person,
    base: KnowledgeBase,
    /// How often each was looked at.
    looks: Mutex<BTreeMap<String, usize>>,
}

impl ChangingReach {
    fn of(world: &World) -> Self {
        Self {
            ann: world.ann.clone(),
            base: world.base.clone(),
            looks: Mutex::default(),
        }
    }

    async fn change(&self, collection: &str, looks: usize) {
        match collection {
            "changes" | "never-rests" => {
                let update = CollectionUpdate {
                    description: Some(format!("changed {looks}")),
                    ..CollectionUpdate::default()
                };
                let changed = self.base.update_collection(&self.ann, collection, &update);
                changed.await.unwrap();
            }
            "goes" => {
                let removed = self.base.remove_collection(&self.ann, collection);
                removed.await.unwrap();
            }
            _ => {}
        }
    }
}

impl KnowledgeReach for ChangingReach {
    fn tenant(&self) -> &str {
        self.ann.tenant()
    }

    fn user(&self) -> Option<&str> {
        self.ann.user()
    }

    fn team(&self) -> Option<&str> {
        self.ann.team()
    }

    fn may_use(&self, collection: &Collection) -> bool {
        let id = &collection.collection_id;
        let looks = {
            let mut all = self.looks.lock().unwrap();
            let looks = all.entry(id.clone()).or_default();
            *looks += 1;
            *looks
        };
        if looks == LOOKS || (id == "never-rests" && looks > LOOKS) {
            block_in_place(|| Handle::current().block_on(self.change(id, looks)));
        }
        self.ann.may_use(collection)
    }

    fn may_change(&self, collection: &Collection) -> bool {
        self.ann.may_change(collection)
    }

    fn may_read(&self, document: &Document) -> bool {
        self.ann.may_read(document)
    }
}

pub async fn g205_a_collection_that_changes_meanwhile_is_opened_again_and_no_other(world: World) {
    let ids = ["a", "changes", "goes", "z"];
    for id in ids {
        world.collection(id).await;
        world.add(id, &format!("{id}-d"), "A heron.").await;
    }
    let reach = ChangingReach::of(&world);
    let query = KnowledgeQuery {
        leaves_out_gone: true,
        ..KnowledgeQuery::new("heron", &ids)
    };
    let answer = world.ask(&reach, &query).await;
    assert_eq!((answer.notes, answer.error), (Vec::new(), None));
    let found = answer.items.iter().map(|item| item.collection.as_str());
    assert_eq!(found.collect::<Vec<_>>(), ["a", "changes", "z"]);
    let looks = ids.map(|id| reach.looks.lock().unwrap()[id]);
    assert_eq!(looks, [LOOKS, LOOKS + 1, LOOKS, LOOKS]);
    // Who has named it is told.
    let named = KnowledgeQuery::new("heron", &ids);
    let answer = world.ask(&world.ann, &named).await;
    assert_eq!(answer.notes, ["collection \"goes\" not found"]);
}

pub async fn a_collection_that_changes_each_time_is_not_opened_without_end(world: World) {
    let ids = ["a", "never-rests"];
    for id in ids {
        world.collection(id).await;
        world.add(id, &format!("{id}-d"), "A heron.").await;
    }
    let reach = ChangingReach::of(&world);
    let query = KnowledgeQuery::new("heron", &ids);
    let answer = world.base.search(&reach, &query).await;
    assert!(matches!(
        answer,
        Err(KnowledgeError::Store(Error::Conflict { .. }))
    ));
    // The first look is for the vectors.
    let looks = ids.map(|id| reach.looks.lock().unwrap()[id] - 1);
    assert_eq!(looks, [1, OPENINGS]);
}
