//! The references of a turn, for whoever may read its conversation.

use super::Runtime;
use crate::access::Authorized;
use crate::error::{Error, ErrorCode, Result};
use crate::journal::TurnKeys;
use crate::loaded_app::LoadedApp;
use crate::model::database::AccessMode;
use crate::model::query::{QueryParam, ReadContext};
use crate::search::SearchItem;
use crate::search::db::record;
use crate::search::item::RecordFields;
use crate::search::stored::{ReferenceList, ReferenceView, StoredReferences};
use crate::turn_location;
use ambit_storage::driver::ValuePart;
use futures::future::BoxFuture;
use serde_json::{Value, json};

impl Runtime {
    /// What the searches of a turn have found. What lies in a table is shown as it is now, as far as the caller may see it.
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
            let loaded = self.0.loaded();
            let mut references = Vec::with_capacity(stored.items.len());
            for item in &stored.items {
                references.push(view(&loaded, who, item).await?);
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

/// An item as the caller may see it now. What can no longer be read, whatever has changed, is gone; a store that is away is not.
async fn view(loaded: &LoadedApp, who: &Authorized, item: &SearchItem) -> Result<ReferenceView> {
    if !item.is_pointer() {
        return Ok(ReferenceView::of(item, false));
    }
    let row = match &item.record {
        Some(record) => row(loaded, who, record).await,
        None => Ok(None),
    };
    let row = match row {
        Err(error) if error.code == ErrorCode::Unavailable => return Err(error),
        row => row.unwrap_or_default(),
    };
    Ok(match row {
        Some(row) => {
            let now = SearchItem {
                citation_id: item.citation_id.clone(),
                source: item.source,
                weight: item.weight,
                score: item.score,
                ..row
            };
            ReferenceView::of(&now, false)
        }
        None => ReferenceView::of(item, true),
    })
}

/// The row of a pointer, with the columns that were found then.
async fn row(
    loaded: &LoadedApp,
    who: &Authorized,
    pointer: &RecordFields,
) -> Result<Option<SearchItem>> {
    let models = &loaded.processes.models;
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
    let mut reading = ReadContext::new(models, who);
    let mut transaction = models.begin(&model, AccessMode::Read).await?;
    let rows = param.load(&mut *transaction, &mut reading).await?;
    transaction.commit().await?;
    let row = rows.into_iter().next();
    Ok(match row {
        Some(Value::Object(row)) => Some(record::item(&model, row, 0.0)),
        _ => None,
    })
}
