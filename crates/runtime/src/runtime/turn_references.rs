//! The references of a turn, for whoever may read its conversation.

use super::Runtime;
use crate::access::{Authorized, CallerReach};
use crate::error::{Error, ErrorCode, Result};
use crate::journal::TurnKeys;
use crate::loaded_app::LoadedApp;
use crate::model::database::AccessMode;
use crate::model::query::{QueryParam, ReadContext};
use crate::search::db::record;
use crate::search::item::{KnowledgeFields, RecordFields};
use crate::search::stored::{ReferenceList, ReferenceView, StoredReferences};
use crate::search::{SearchItem, SearchKind};
use crate::turn_location;
use ambit_knowledge::KnowledgeBase;
use ambit_storage::driver::ValuePart;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;

impl Runtime {
    /// What the searches of a turn have found. What lies in a table or a collection is shown
    /// as it is now, as far as the caller may see it.
    pub fn references<'a>(
        &'a self,
        who: &'a Authorized,
        request_id: &'a str,
    ) -> BoxFuture<'a, Result<ReferenceList>> {
        Box::pin(async move {
            let found = turn_location::find(&self.contexts(who), who, request_id).await?;
            let key = TurnKeys::new(found.space, request_id).references();
            let entry = found.driver.get(&key, ValuePart::Whole).await?;
            let stored: StoredReferences = match entry {
                Some(entry) => entry.value.to()?,
                None => StoredReferences::default(),
            };
            let reader = ReferenceReader {
                loaded: self.0.loaded(),
                knowledge: self.0.knowledge.get().cloned(),
                who,
            };
            let mut references = Vec::with_capacity(stored.items.len());
            for item in &stored.items {
                references.push(reader.view(item).await?);
            }
            Ok(ReferenceList {
                request_id: request_id.to_owned(),
                query: stored.query,
                types: stored.types,
                references,
            })
        })
    }

    /// One of them, by its citation id.
    pub fn reference<'a>(
        &'a self,
        who: &'a Authorized,
        request_id: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ReferenceView>> {
        Box::pin(async move {
            let list = self.references(who, request_id).await?;
            let mut references = list.references.into_iter();
            let found = references.find(|reference| reference.id == id);
            found.ok_or_else(|| Error::not_found("reference", id))
        })
    }
}

/// Reads what references lead to, as somebody may see it.
struct ReferenceReader<'a> {
    loaded: Arc<LoadedApp>,
    knowledge: Option<KnowledgeBase>,
    who: &'a Authorized,
}

impl ReferenceReader<'_> {
    /// An item as it is now. What can no longer be read, whatever has changed, is gone; a store that is away is not.
    async fn view(&self, item: &SearchItem) -> Result<ReferenceView> {
        if !item.is_pointer() {
            return Ok(ReferenceView::of(item, false));
        }
        let found = match (&item.knowledge, &item.record) {
            (Some(place), _) => self.chunk(place).await,
            (None, Some(record)) => self.row(record).await,
            (None, None) => Ok(None),
        };
        let found = match found {
            Err(error) if error.code == ErrorCode::Unavailable => return Err(error),
            found => found.unwrap_or_default(),
        };
        Ok(match found {
            Some(found) => {
                let now = SearchItem {
                    citation_id: item.citation_id.clone(),
                    source: item.source,
                    weight: item.weight,
                    score: item.score,
                    ..found
                };
                ReferenceView::of(&now, false)
            }
            None => ReferenceView::of(item, true),
        })
    }

    /// The chunk of a pointer. That it is looked at counts no hit.
    async fn chunk(&self, pointer: &KnowledgeFields) -> Result<Option<SearchItem>> {
        let Some(base) = &self.knowledge else {
            return Ok(None);
        };
        let reach = CallerReach::of(self.who);
        let id = pointer.document_id.as_str();
        let document = base.document(&reach, id).await?;
        let chunk = base.document_chunk(&reach, id, &pointer.chunk_id).await?;
        Ok(Some(SearchItem {
            kind: SearchKind::Kb,
            title: chunk.title,
            content: chunk.text,
            url: document.url.unwrap_or_default(),
            metadata: chunk.metadata,
            knowledge: Some(KnowledgeFields {
                document_id: chunk.document_id,
                collection: chunk.collection_id,
                chunk_id: chunk.id,
                heading: chunk.heading,
                page: chunk.page.map(u64::from),
                range: chunk.range,
            }),
            ..SearchItem::default()
        }))
    }

    /// The row of a pointer, with the columns that were found then.
    async fn row(&self, pointer: &RecordFields) -> Result<Option<SearchItem>> {
        let models = &self.loaded.processes.models;
        let Ok(model) = models.find(&pointer.model, "") else {
            return Ok(None);
        };
        let (Some(key), Some(id)) = (model.key(), &pointer.record_id) else {
            return Ok(None);
        };
        let is_shown = |name: &&String| {
            let column = model.column(name);
            column.is_some_and(|column| column.crypt.is_none())
        };
        let columns: Vec<&String> = pointer.data.keys().filter(is_shown).collect();
        if columns.is_empty() {
            // No column would mean all of them.
            return Ok(None);
        }
        let wheres = [json!({"column": key.name, "value": id})];
        let param = json!({"select": columns, "wheres": wheres, "limit": 1});
        let param = QueryParam::parse(models, &model, &param)?;
        let mut reading = ReadContext::new(models, self.who);
        let mut transaction = models.begin(&model, AccessMode::Read).await?;
        let rows = param.load(&mut *transaction, &mut reading).await?;
        transaction.commit().await?;
        let row = rows.into_iter().next();
        Ok(match row {
            Some(Value::Object(row)) => Some(record::item(&model, row, 0.0)),
            _ => None,
        })
    }
}
