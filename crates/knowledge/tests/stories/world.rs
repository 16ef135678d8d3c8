//! A store with a knowledge base over it, and what the stories do with them.

use crate::person::Person;
use crate::stores::{Fresh, Store};
use ambit_knowledge::{
    AcceptedDocument, Document, DocumentUpdate, KnowledgeAnswer, KnowledgeBase, KnowledgeQuery,
    KnowledgeReach, KnowledgeSettings, NewCollection, NewContent, NewDocument,
};
use ambit_storage::address::Space;
use ambit_storage::conformance::DriverFixture;
use ambit_storage::driver::{Driver, ValuePart};
use std::sync::Arc;

pub struct World {
    pub store: &'static Store,
    pub fresh: Fresh,
    pub driver: Arc<dyn Driver>,
    pub base: KnowledgeBase,
    pub ann: Person,
}

impl World {
    pub async fn new(store: &'static Store) -> Self {
        let fresh = store.fresh();
        let driver = fresh.open().await;
        let base = KnowledgeBase::open(settings(driver.clone()));
        Self {
            store,
            fresh,
            driver,
            base,
            ann: Person::named("ann"),
        }
    }

    /// Another node, which has nothing in memory.
    pub async fn other_node(&self) -> KnowledgeBase {
        KnowledgeBase::open(settings(self.fresh.open().await))
    }

    /// A collection of Ann's.
    pub async fn collection(&self, id: &str) {
        let new = NewCollection {
            id: id.to_owned(),
            ..NewCollection::default()
        };
        self.base.create_collection(&self.ann, new).await.unwrap();
    }

    /// Adds a text as Ann does, and waits until it is read.
    pub async fn add(&self, collection: &str, id: &str, text: &str) -> AcceptedDocument {
        let new = NewDocument {
            id: Some(id.to_owned()),
            ..NewDocument::text(format!("{id}.md"), text)
        };
        let accepted = self
            .base
            .add_document(&self.ann, collection, new)
            .await
            .unwrap();
        self.base.work().await.unwrap();
        accepted
    }

    /// Puts another text into a document of Ann's.
    pub async fn replace(&self, id: &str, text: &str) -> AcceptedDocument {
        let update = DocumentUpdate {
            content: Some(file(&format!("{id}.md"), text.as_bytes())),
            ..DocumentUpdate::default()
        };
        let accepted = self.base.update_document(&self.ann, id, update).await;
        accepted.unwrap()
    }

    pub async fn document(&self, id: &str) -> Document {
        self.base.document(&self.ann, id).await.unwrap()
    }

    pub async fn ask(&self, who: &dyn KnowledgeReach, query: &KnowledgeQuery) -> KnowledgeAnswer {
        self.base.search(who, query).await.unwrap()
    }

    /// The documents and texts that Ann finds.
    pub async fn found(&self, collection: &str, words: &str) -> Vec<(String, String)> {
        let query = KnowledgeQuery::new(words, &[collection]);
        let items = self.ask(&self.ann, &query).await.items.into_iter();
        items.map(|item| (item.document_id, item.content)).collect()
    }
}

pub fn settings(driver: Arc<dyn Driver>) -> KnowledgeSettings {
    KnowledgeSettings {
        extract_program: Some(std::env::current_exe().unwrap()),
        ..KnowledgeSettings::new(driver)
    }
}

/// A file with nothing said of it.
pub fn file(name: &str, bytes: &[u8]) -> NewContent {
    NewContent::File {
        name: name.to_owned(),
        media_type: None,
        content: bytes.to_vec().into(),
    }
}

/// By what a collection's space is named.
pub async fn key_of(driver: &dyn Driver, id: &str) -> String {
    let key = Space::collections(Some("t")).key(format!("collection/{id}"));
    let entry = driver.get(&key, ValuePart::Whole).await.unwrap().unwrap();
    let record: serde_json::Value = entry.value.to().unwrap();
    record["place"]["key"].as_str().unwrap().to_owned()
}
