//! Narrowing a question about usage. What is asked for twice in different ways cannot be.

use super::Usage;
use super::period::UsagePeriod;
use crate::clock::Millis;
use crate::identity::SessionIdentity;
use crate::kind::StorageKind;
use crate::session::UsageStorage;
use crate::{Error, Result};

impl Usage {
    /// Only this user's.
    pub fn for_user(self, user_id: &str) -> Self {
        self.want("user", Some(user_id.to_owned()))
    }

    /// Only this group's.
    pub fn for_group(self, group: &str) -> Self {
        self.want("group", Some(group.to_owned()))
    }

    /// Only of this chat.
    pub fn for_chat(self, chat_name: &str) -> Self {
        self.want("chat", Some(chat_name.to_owned()))
    }

    /// Only what is booked under this identity.
    pub fn for_identity(self, identity: &SessionIdentity) -> Result<Self> {
        let scoped = identity.with_scope(UsageStorage::PREFIX)?;
        Ok(self.want("identity", Some(scoped.storage_key())))
    }

    /// Only of this model.
    pub fn for_model(self, model: &str) -> Self {
        self.want("model", Some(model.to_owned()))
    }

    /// Only of this agent.
    pub fn for_agent(self, agent: &str) -> Self {
        self.want("agent", Some(agent.to_owned()))
    }

    /// Only of this provider.
    pub fn for_provider(self, provider: &str) -> Self {
        self.want("provider", Some(provider.to_owned()))
    }

    /// Only of this day, `2026-11-21`.
    pub fn date(self, date: &str) -> Self {
        self.within_period("date", |period| &mut period.date, date.to_owned())
    }

    /// Only from this day on, the day included.
    pub fn date_from(self, date: &str) -> Self {
        self.within_period("date_from", |period| &mut period.date_from, date.to_owned())
    }

    /// Only up to this day, the day included.
    pub fn date_to(self, date: &str) -> Self {
        self.within_period("date_to", |period| &mut period.date_to, date.to_owned())
    }

    /// The zone that days are meant in, `Europe/Berlin`; UTC if not said.
    pub fn time_zone(self, name: &str) -> Self {
        self.within_period("time_zone", |period| &mut period.zone, name.to_owned())
    }

    /// Only from this instant on.
    pub fn from_instant(self, at: Millis) -> Self {
        self.within_period("from_instant", |period| &mut period.from_instant, at)
    }

    /// Only before this instant.
    pub fn to_instant(self, at: Millis) -> Self {
        self.within_period("to_instant", |period| &mut period.to_instant, at)
    }

    pub(super) fn want(mut self, field: &'static str, value: Option<String>) -> Self {
        match self.wanted.get(field) {
            Some(before) if *before != value => {
                let text = |value: &Option<String>| match value {
                    Some(value) => format!("\"{value}\""),
                    None => "absent".to_owned(),
                };
                let reason = format!("cannot be both {} and {}", text(before), text(&value));
                self.refused = Some(Error::invalid(field, reason));
            }
            _ => {
                self.wanted.insert(field, value);
            }
        }
        self
    }

    fn within_period<T: PartialEq + std::fmt::Display>(
        mut self,
        field: &'static str,
        place: impl FnOnce(&mut UsagePeriod) -> &mut Option<T>,
        value: T,
    ) -> Self {
        match place(&mut self.period) {
            Some(before) if *before != value => {
                let reason = format!("cannot be both {before} and {value}; ask once for each");
                self.refused = Some(Error::invalid(field, reason));
            }
            wanted => *wanted = Some(value),
        }
        self
    }
}
