//! How long sessions that nobody uses are kept, by scope. Off unless set.

use crate::clock::{Millis, to_millis};
use crate::kind::{CHAT_HISTORY, StorageKind, USAGE};
use crate::{Error, Result, SessionIdentity, memory};
use std::collections::BTreeMap;
use std::time::Duration;

const DAY: Millis = 24 * 3600 * 1000;

/// The scopes that every installation has.
const SCOPES: [&str; 3] = [CHAT_HISTORY, memory::SCOPE, USAGE];

/// Idle time by scope; a storage that nobody has used for longer is removed by the patrol over the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    idle: BTreeMap<String, Millis>,
    /// Of histories of chats whose names begin like this.
    chats: BTreeMap<String, Millis>,
}

impl Retention {
    /// Removes storages of one of Ambit's own scopes after so many days without use. A history takes its memory along.
    pub fn idle_days(self, scope: &str, days: u32) -> Result<Self> {
        if !SCOPES.contains(&scope) {
            let reason = format!(
                "names the scope \"{scope}\", which is unknown; known are {}, and kinds of your own by `idle_days_of`",
                SCOPES.join(", ")
            );
            return Err(Error::invalid("retention", reason));
        }
        self.set(scope, days)
    }

    /// The same for a kind of storage.
    pub fn idle_days_of<K: StorageKind>(self, days: u32) -> Result<Self> {
        self.set(K::PREFIX, days)
    }

    /// The same, where histories go after this time without use unless they go sooner.
    pub fn histories_at_most(mut self, idle: Duration) -> Self {
        let scope = CHAT_HISTORY;
        let most = self.life(Some(scope)).unwrap_or(Millis::MAX);
        let idle = to_millis(idle).min(most);
        self.idle.insert(scope.to_owned(), idle);
        self
    }

    /// The same, where the history of a chat whose name begins like this goes after this time without use unless it goes sooner.
    pub fn chats_at_most(mut self, prefix: &str, idle: Duration) -> Self {
        self.chats.insert(prefix.to_owned(), to_millis(idle));
        self
    }

    /// How long a storage may be idle, if that is limited.
    pub(crate) fn life_of(&self, identity: &SessionIdentity) -> Option<Millis> {
        // A history takes its memory along; a memory by itself may be idle while its chat goes on.
        let is_history = identity.scope() == Some(CHAT_HISTORY);
        let chat = identity.chat_name().filter(|_| is_history);
        let chat = chat.unwrap_or_default();
        let mut of_chats = self.chats.iter();
        let of_chat = of_chats.find(|(prefix, _)| chat.starts_with(prefix.as_str()));
        let lives = [self.life(identity.scope()), of_chat.map(|(_, idle)| *idle)];
        lives.into_iter().flatten().min()
    }

    fn life(&self, scope: Option<&str>) -> Option<Millis> {
        self.idle.get(scope?).copied()
    }

    fn set(mut self, scope: &str, days: u32) -> Result<Self> {
        if days == 0 {
            let reason =
                format!("of {scope} is 0 days; give 1 or more, or leave it out to keep everything");
            return Err(Error::invalid("retention", reason));
        }
        let idle = Millis::from(days) * DAY;
        self.idle.insert(scope.to_owned(), idle);
        Ok(self)
    }
}
