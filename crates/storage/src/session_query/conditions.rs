//! Narrowing a query. Every condition is added to those before; what contradicts them is told when the query is used.

use super::SessionQuery;
use crate::clock::Millis;
use crate::directory::{IndexRow, RowFilter, RowOrder, RowState};
use crate::identity::check;
use crate::kind::{StorageKind, check_scope};
use crate::{Error, Result};
use std::sync::Arc;

impl SessionQuery {
    /// Only storages of this kind.
    pub fn for_storage<K: StorageKind>(&self) -> Self {
        self.only("scope", |filter| &mut filter.scope, K::PREFIX)
    }

    /// Only storages of this scope.
    pub fn for_scope(&self, scope: &str) -> Self {
        let query = self.only("scope", |filter| &mut filter.scope, scope);
        query.checked(check_scope(scope))
    }

    /// Only this user's.
    pub fn for_user(&self, user_id: &str) -> Self {
        self.only("user", |filter| &mut filter.user, user_id)
    }

    /// Only of this chat.
    pub fn for_chat(&self, chat_name: &str) -> Self {
        self.only("chat", |filter| &mut filter.chat, chat_name)
    }

    /// Only of this group.
    pub fn for_group(&self, group: &str) -> Self {
        self.only("group", |filter| &mut filter.group, group)
    }

    /// Only the row with this id.
    pub fn with_id(&self, id: &str) -> Self {
        self.one("id", |filter| &mut filter.id, id)
    }

    /// Only identities that render to this key; there may be several.
    pub fn find_by_key(&self, key: &str) -> Self {
        self.one("key", |filter| &mut filter.key, key)
    }

    /// Only those last active before.
    pub fn active_before(&self, at: Millis) -> Self {
        self.narrowed(|filter| earlier(&mut filter.active_before, at))
    }

    /// Only those last active at or after.
    pub fn active_after(&self, at: Millis) -> Self {
        self.narrowed(|filter| later(&mut filter.active_after, at))
    }

    /// Only those made before.
    pub fn created_before(&self, at: Millis) -> Self {
        self.narrowed(|filter| earlier(&mut filter.created_before, at))
    }

    /// Only those made at or after.
    pub fn created_after(&self, at: Millis) -> Self {
        self.narrowed(|filter| later(&mut filter.created_after, at))
    }

    /// Only those with this label.
    pub fn labelled(&self, name: &str, value: &str) -> Self {
        let mut query = self.clone();
        let before = query
            .filter
            .labels
            .insert(name.to_owned(), value.to_owned());
        let field = format!("label {name}");
        query.checked(same(&field, before.as_deref(), value))
    }

    /// Only those in this state, applied page by page.
    pub fn in_state(&self, state: RowState) -> Self {
        Self {
            state: Some(state),
            ..self.filter(move |row| row.state == state)
        }
    }

    /// Only those that pass this test, applied page by page.
    pub fn filter(&self, test: impl Fn(&IndexRow) -> bool + Send + Sync + 'static) -> Self {
        let mut query = self.clone();
        query.tests.push(Arc::new(test));
        query
    }

    /// Pages come in this order.
    pub fn in_order(&self, order: RowOrder) -> Self {
        Self {
            order,
            ..self.clone()
        }
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

    /// Only this value of a field of identities.
    pub(super) fn only(
        &self,
        field: &str,
        place: impl FnOnce(&mut RowFilter) -> &mut Option<String>,
        value: &str,
    ) -> Self {
        self.one(field, place, value).checked(check(field, value))
    }

    fn one(
        &self,
        field: &str,
        place: impl FnOnce(&mut RowFilter) -> &mut Option<String>,
        value: &str,
    ) -> Self {
        let mut query = self.clone();
        let before = place(&mut query.filter).replace(value.to_owned());
        query.checked(same(field, before.as_deref(), value))
    }

    fn narrowed(&self, change: impl FnOnce(&mut RowFilter)) -> Self {
        let mut query = self.clone();
        change(&mut query.filter);
        query
    }

    /// Keeps the first thing that is wrong, for when the query is used.
    fn checked(mut self, check: Result<()>) -> Self {
        self.refused = self.refused.or(check.err());
        self
    }
}

fn earlier(limit: &mut Option<Millis>, at: Millis) {
    *limit = Some(limit.map_or(at, |limit| limit.min(at)));
}

fn later(limit: &mut Option<Millis>, at: Millis) {
    *limit = Some(limit.map_or(at, |limit| limit.max(at)));
}

/// A session has one value of each field.
fn same(field: &str, before: Option<&str>, value: &str) -> Result<()> {
    match before {
        Some(before) if before != value => {
            let reason = format!("cannot be both \"{before}\" and \"{value}\"");
            Err(Error::invalid(field, reason))
        }
        _ => Ok(()),
    }
}

/// Refuses a time that ends before it begins.
pub(super) fn check_times(filter: &RowFilter) -> Result<()> {
    let spans = [
        ("active", filter.active_after, filter.active_before),
        ("created", filter.created_after, filter.created_before),
    ];
    for (name, after, before) in spans {
        if let (Some(after), Some(before)) = (after, before)
            && before <= after
        {
            let reason = format!("is {before}, which leaves no time behind {name}_after, {after}");
            return Err(Error::invalid(format!("{name}_before"), reason));
        }
    }
    Ok(())
}
