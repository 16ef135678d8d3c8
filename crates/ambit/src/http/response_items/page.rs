//! Lists of items, as OpenAI pages them: behind an item, in either order.

use super::stored_items::{ListedItem, StoredListedItem};
use crate::http::input::{Id, Whole};
use ambit_runtime::chats::EntryRange;
use ambit_runtime::{Error, Result};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Items of a page where nobody says.
const SIZE: u64 = 20;

/// Which items.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ItemListQuery {
    /// At most so many; 20 where nobody says.
    limit: Option<Whole<1, 100>>,
    /// `desc`, the newest first, or `asc`.
    #[param(value_type = Option<String>)]
    order: Option<ItemOrder>,
    /// Only what comes behind this item, in the order.
    after: Option<Id>,
}

/// In which order.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ItemOrder {
    Asc,
    #[default]
    Desc,
}

/// A page of items.
#[derive(Debug, Serialize, ToSchema)]
pub struct ItemList {
    /// `list`.
    object: &'static str,
    data: Vec<ListedItem>,
    /// The id of the first.
    first_id: Option<String>,
    /// The id of the last.
    last_id: Option<String>,
    /// Whether there are more behind the last.
    has_more: bool,
}

impl ItemListQuery {
    /// The messages that are read first: those at the end that the order begins with.
    pub fn first_range(&self) -> EntryRange {
        match self.order.unwrap_or_default() {
            ItemOrder::Asc => EntryRange::BEGINNING,
            ItemOrder::Desc => EntryRange::END,
        }
    }

    /// The page, of items that are given oldest first. `None` where they are not all, and too few are settled to tell.
    pub fn page(&self, mut items: Vec<StoredListedItem>, is_all: bool) -> Result<Option<ItemList>> {
        if self.order.unwrap_or_default() == ItemOrder::Desc {
            items.reverse();
        }
        let settled = items.into_iter().take_while(|stored| stored.is_settled);
        let mut items: Vec<ListedItem> = settled.map(|stored| stored.item).collect();
        if let Some(Id(after)) = &self.after {
            match items.iter().position(|item| item.id() == after) {
                Some(at) => drop(items.drain(..=at)),
                None if is_all => return Err(Error::not_found("item", after).with_param("after")),
                None => return Ok(None),
            }
        }
        let limit = self.limit.as_ref().map_or(SIZE, |limit| limit.0);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = items.len() > limit;
        if !has_more && !is_all {
            return Ok(None);
        }
        items.truncate(limit);
        Ok(Some(ItemList::of(items, has_more)))
    }
}

impl ItemList {
    /// These items as a page.
    pub fn of(data: Vec<ListedItem>, has_more: bool) -> Self {
        let id = |item: Option<&ListedItem>| item.map(|item| item.id().to_owned());
        Self {
            object: "list",
            first_id: id(data.first()),
            last_id: id(data.last()),
            has_more,
            data,
        }
    }
}
