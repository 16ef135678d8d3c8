//! What is known of a chat besides its index row. What persons change, what turns leave and what a chat is called at first
//! are values of their own, so that no write undoes another's.

use crate::error::{Error, ErrorCode, Result};
use ambit_storage::Json;
use ambit_storage::address::{CHAT, ERASURES, ITEMS, Space};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, ValueEntry};
use ambit_storage::clock::Millis;
use ambit_storage::driver::{Driver, LogRange, ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::ToSchema;

/// A title has at most so many letters where nobody gave one.
const TITLE: usize = 50;
/// And so many where an agent has written it.
const WRITTEN: usize = 100;
/// How often a title is written while turns write at the same time.
const TRIES: usize = 8;

/// Whether a chat is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatStatus {
    /// It is.
    #[default]
    Active,
    /// It was put aside.
    Archived,
}

/// Who else may use a chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatShare {
    /// Nobody.
    #[default]
    Private,
    /// The members of the team that it was begun in.
    Team,
}

/// What persons changed of a chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ChatEdits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub status: ChatStatus,
    pub share: ChatShare,
    pub sort: i64,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// When the last change was.
    pub at: Millis,
}

/// What a turn leaves of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastTurn {
    /// The agent that was asked.
    pub assistant_id: String,
    /// The connector that answered.
    pub connector: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: Millis,
}

/// Everything that is kept of a chat besides its row.
#[derive(Clone, Debug, Default)]
pub(super) struct ChatDetails {
    pub own: ChatEdits,
    /// The version of `own`, to change it as it was seen.
    pub version: Option<u64>,
    pub last: Option<LastTurn>,
    pub title: Option<String>,
}

fn part(name: &str) -> String {
    format!("{CHAT}/{name}")
}

/// The write that a turn adds to its batch: what the chat shows of its last turn.
pub fn note(space: &Space, last: &LastTurn) -> Result<BatchWrite> {
    set(space, part("last"), Json::of(last)?)
}

/// Where the title is that nobody gave.
pub(super) const TITLE_KEY: &str = "chat/title";

/// Whether a title is the beginning of this text.
pub(super) fn is_title(title: Option<&str>, text: &str) -> bool {
    title.is_some_and(|title| !title.is_empty() && title == one_line(text, TITLE))
}

/// The write that gives a chat its first title: the beginning of this text. A title that a person gave stays.
pub fn first_title(space: &Space, text: &str) -> Result<BatchWrite> {
    set(space, part("title"), Json::of(&one_line(text, TITLE))?)
}

/// A chat as it was when a title began to be written for it.
pub(crate) struct UntitledChat {
    driver: Arc<dyn Driver>,
    space: Space,
    /// The version of what counts how often something of it was erased.
    erasures: Option<u64>,
    /// The generation of its messages: one that was cleared, or removed and begun anew, has another.
    generation: Option<u64>,
}

impl UntitledChat {
    /// The chat of this space, before anything of it is read for a title.
    pub async fn read(driver: Arc<dyn Driver>, space: Space) -> Result<Self> {
        let counted = driver.get(&space.key(ERASURES), ValuePart::Nothing).await?;
        let head = driver.read(&space.log(ITEMS), LogRange::head()).await?.head;
        Ok(Self {
            driver,
            space,
            erasures: counted.map(|entry| entry.version),
            generation: head.map(|head| head.generation),
        })
    }

    /// Gives it the title that an agent has written, in the place of its first one, if there is one, and stores with it what was
    /// noted of the agent's calls. A chat that was removed meanwhile is not made anew, and one of which something was erased gets
    /// neither, as they may say it.
    pub async fn retitle(&self, title: Option<&str>, noted: Option<BatchWrite>) -> Result<()> {
        let log = self.space.log(ITEMS);
        let mut writes = Vec::from_iter(noted);
        if let Some(title) = title {
            let title = Json::of(&one_line(title, WRITTEN))?;
            writes.push(set(&self.space, part("title"), title)?);
        }
        if writes.is_empty() {
            return Ok(());
        }
        for _ in 0..TRIES {
            let head = self.driver.read(&log, LogRange::head()).await?.head;
            if head.as_ref().is_none_or(|head| head.last == 0) {
                return Ok(());
            }
            let now = Self::read(self.driver.clone(), self.space.clone()).await?;
            let is_same = head.as_ref().map(|head| head.generation) == self.generation;
            if !is_same || now.erasures != self.erasures {
                return Ok(());
            }
            let head = BatchCheck::Head {
                log: log.clone(),
                head,
            };
            let erasures = BatchCheck::version(self.space.key(ERASURES), self.erasures);
            let batch = Batch {
                checks: vec![head, erasures],
                writes: writes.clone(),
            };
            match self.driver.commit(batch).await {
                Err(ambit_storage::Error::Conflict { .. }) => {}
                committed => return Ok(committed.map(drop)?),
            }
        }
        let what = "a chat's title was not written: the chat went on all the time";
        Err(Error::new(ErrorCode::Conflict, what))
    }
}

/// The beginning of a text, in one line.
fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(most).collect()
}

/// The write of what a person changed.
pub(super) fn keep(space: &Space, own: &ChatEdits) -> Result<BatchWrite> {
    set(space, CHAT.to_owned(), Json::of(own)?)
}

fn set(space: &Space, name: String, value: Json) -> Result<BatchWrite> {
    Ok(BatchWrite::Apply {
        key: space.key(name),
        op: Operation::Set(value.into()),
        life: None,
    })
}

/// Reads all of it in one go.
pub(super) async fn read(driver: &dyn Driver, space: &Space) -> Result<ChatDetails> {
    let scan = ValueScan::first(Pattern::parse(&format!("{CHAT}*")), 8, ValuePart::Whole);
    let mut about = ChatDetails::default();
    for (name, entry) in driver.scan(space, &scan).await? {
        take(&mut about, &name, &entry)?;
    }
    Ok(about)
}

fn take(about: &mut ChatDetails, name: &str, entry: &ValueEntry) -> Result<()> {
    let value = &entry.value;
    match name.strip_prefix(CHAT).unwrap_or_default() {
        "" => {
            about.own = value.to()?;
            about.version = Some(entry.version);
        }
        "/last" => about.last = Some(value.to()?),
        "/title" => about.title = Some(value.to()?),
        _ => {}
    }
    Ok(())
}

impl ChatStatus {
    /// The status with this name.
    pub fn parse(name: &str) -> Result<Self> {
        choose(
            "status",
            name,
            &[("active", Self::Active), ("archived", Self::Archived)],
        )
    }
}

impl ChatShare {
    /// The share with this name.
    pub fn parse(name: &str) -> Result<Self> {
        choose(
            "share",
            name,
            &[("private", Self::Private), ("team", Self::Team)],
        )
    }
}

/// The value with this name, or a refusal that names the nearest.
pub(crate) fn choose<T: Copy>(field: &str, name: &str, known: &[(&str, T)]) -> Result<T> {
    if let Some((_, value)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(*value);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let hint = ambit_storage::suggestion::hint(name, names.iter().copied());
    let message = format!(
        "{field} \"{name}\" is unknown; known are {}{hint}",
        names.join(", ")
    );
    Err(Error::invalid(field, message))
}
