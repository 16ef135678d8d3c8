//! Narrowing a query.

use super::Query;
use crate::clock::Millis;
use crate::directory::{Filter, Tracked};
use crate::storage::StorageKind;
use std::sync::Arc;

impl Query {
    /// Only storages of this kind.
    pub fn for_storage<K: StorageKind>(&self) -> Self {
        self.for_scope(K::PREFIX)
    }

    /// Only storages of this scope.
    pub fn for_scope(&self, scope: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.scope = Some(scope.to_owned()))
    }

    /// Only this user's.
    pub fn for_user(&self, user_id: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.user = Some(user_id.to_owned()))
    }

    /// Only of this chat.
    pub fn for_chat(&self, chat_name: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.chat = Some(chat_name.to_owned()))
    }

    /// Only of this group.
    pub fn for_group(&self, group: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.group = Some(group.to_owned()))
    }

    /// Only the row with this id.
    pub fn with_id(&self, id: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.id = Some(id.to_owned()))
    }

    /// Only identities that render to this key; there may be several.
    pub fn find_by_key(&self, key: &str) -> Self {
        self.clone()
            .narrowed(|filter| filter.key = Some(key.to_owned()))
    }

    /// Only those last active before.
    pub fn active_before(&self, at: Millis) -> Self {
        self.clone()
            .narrowed(|filter| filter.active_before = Some(at))
    }

    /// Only those last active at or after.
    pub fn active_after(&self, at: Millis) -> Self {
        self.clone()
            .narrowed(|filter| filter.active_after = Some(at))
    }

    /// Only those made before.
    pub fn created_before(&self, at: Millis) -> Self {
        self.clone()
            .narrowed(|filter| filter.created_before = Some(at))
    }

    /// Only those made at or after.
    pub fn created_after(&self, at: Millis) -> Self {
        self.clone()
            .narrowed(|filter| filter.created_after = Some(at))
    }

    /// Only those with this label.
    pub fn labelled(&self, name: &str, value: &str) -> Self {
        self.clone().narrowed(|filter| {
            filter.labels.insert(name.to_owned(), value.to_owned());
        })
    }

    /// Only those that pass this test, applied page by page.
    pub fn filter(&self, test: impl Fn(&Tracked) -> bool + Send + Sync + 'static) -> Self {
        let mut query = self.clone();
        query.tests.push(Arc::new(test));
        query
    }

    /// Reads the index in these drivers; data is still cleared and removed where it is on record.
    pub fn with_drivers(&self, names: &[&str]) -> Self {
        Self {
            index: Some(names.iter().map(|name| (*name).to_owned()).collect()),
            ..self.clone()
        }
    }

    /// `clear` and `remove` report what they would do and change nothing.
    pub fn dry_run(&self) -> Self {
        Self {
            is_dry: true,
            ..self.clone()
        }
    }

    pub(super) fn narrowed(mut self, change: impl FnOnce(&mut Filter)) -> Self {
        change(&mut self.filter);
        self
    }
}
