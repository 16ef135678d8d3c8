//! Copies of messages with which a history begins. Beside them is noted from which rows they come, in the store that has them: what
//! is erased there is found here, whatever has become of the histories in between.

use crate::Result;
use crate::address::{COPY_SOURCES, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite};
use crate::clock::Millis;
use crate::driver::{Driver, ValuePages, ValuePart};
use crate::json::Json;
use crate::message::Message;
use crate::operation::Operation;
use crate::pattern::Pattern;

/// The field of a copied message that names the row of the history it was said in.
pub const COPIED_FROM: &str = "copied_from";

/// How long the end of an erasure stays noted, in milliseconds: no copy takes longer from its first read to its commit.
const LONGEST_COPYING: Millis = 60 * 60 * 1_000;
/// How long an erasure may take, in milliseconds. Behind that it is refused, and what is left may be copied again.
const LONGEST_ERASURE: Millis = 5 * 60 * 1_000;

/// The row of the history that a copied message was said in.
pub fn origin(message: &Message) -> Option<&str> {
    message.extras.get(COPIED_FROM)?.as_str()
}

/// Makes a message of the history of this row a copy, if it is none yet.
pub fn mark(message: &mut Message, row: &str) {
    let origin = message.extras.entry(COPIED_FROM);
    origin.or_insert_with(|| row.into());
}

/// The rows from which the messages come that the history of this space has copied, the next one first.
pub async fn source_rows(driver: &dyn Driver, space: &Space) -> Result<Vec<String>> {
    let key = space.key(COPY_SOURCES);
    match driver.get(&key, ValuePart::Whole).await? {
        Some(entry) => entry.value.to(),
        None => Ok(Vec::new()),
    }
}

/// The writes that go with the copies into the history of this space: they note from which rows those come.
pub fn note_writes(space: &Space, sources: &[String]) -> Result<Vec<BatchWrite>> {
    let set = |key, value: Json| BatchWrite::apply(key, Operation::Set(value.into()), None);
    let place = Json::of(space)?;
    let mut writes = vec![set(space.key(COPY_SOURCES), Json::of(sources)?)];
    let keys = note_keys(space, sources).into_iter();
    writes.extend(keys.map(|key| set(key, place.clone())));
    Ok(writes)
}

/// The notes of the history of this space, which go when it goes.
pub(crate) async fn note_keys_of(driver: &dyn Driver, space: &Space) -> Result<Vec<ValueKey>> {
    let sources = source_rows(driver, space).await?;
    Ok(note_keys(space, &sources))
}

fn note_keys(space: &Space, sources: &[String]) -> Vec<ValueKey> {
    let (notes, name) = (Space::copies(&space.tenant), space.digest());
    let keys = sources.iter();
    keys.map(|row| notes.key(format!("{row}/{name}"))).collect()
}

/// The spaces of the histories in this store that have copies of messages of this row's.
pub async fn copies_of_row(driver: &dyn Driver, tenant: &str, row: &str) -> Result<Vec<Space>> {
    let notes = Space::copies(tenant);
    let pattern = Pattern::starting_with(format!("{row}/"));
    let mut pages = ValuePages::of(driver, &notes, pattern, ValuePart::Whole);
    let mut spaces = Vec::new();
    while let Some(page) = pages.next().await? {
        for (_, entry) in page {
            spaces.push(entry.value.to()?);
        }
    }
    Ok(spaces)
}

/// What a store notes of erasures of a row's history.
pub struct ErasureNote {
    /// Something is being erased.
    pub is_running: bool,
    /// Holds until the next note, or until this one's life is over.
    pub check: BatchCheck,
}

/// Notes in this store whether something of this row's history is being erased. Whoever copies looks for that before they read, and has
/// its check made with the commit of the copies: meanwhile no copies begin, and those that have begun are refused. Where the process
/// dies in between, nothing of the row is copied until the life of the note is over, or the erasure is repeated.
pub async fn note_erasure(
    driver: &dyn Driver,
    tenant: &str,
    row: &str,
    is_running: bool,
) -> Result<()> {
    let life = match is_running {
        true => LONGEST_ERASURE,
        false => LONGEST_COPYING,
    };
    let set = Operation::Set(Json::of(&is_running)?.into());
    let note = BatchWrite::apply(erasure_key(tenant, row), set, Some(life));
    driver.commit(Batch::of([note])).await.map(drop)
}

/// What is noted in this store of erasures of this row's history.
pub async fn erasure_note(driver: &dyn Driver, tenant: &str, row: &str) -> Result<ErasureNote> {
    let key = erasure_key(tenant, row);
    let found = driver.get(&key, ValuePart::Whole).await?;
    let is_running = found.as_ref().map(|entry| entry.value.to::<bool>());
    Ok(ErasureNote {
        is_running: is_running.transpose()?.unwrap_or(false),
        check: BatchCheck::version(key, found.map(|entry| entry.version)),
    })
}

fn erasure_key(tenant: &str, row: &str) -> ValueKey {
    Space::copies(tenant).key(row)
}

#[cfg(test)]
mod tests {
    use super::{
        copies_of_row, erasure_note, mark, note_erasure, note_keys_of, note_writes, origin,
        source_rows,
    };
    use crate::address::Space;
    use crate::batch::Batch;
    use crate::driver::memory::MemoryDriver;
    use crate::driver::{Driver, DriverOptions};
    use crate::storage::Message;

    #[tokio::test]
    async fn a_copy_is_found_by_each_row_that_it_comes_from() {
        let driver = MemoryDriver::new(DriverOptions::default());
        let space = Space::user_memory("t", "ann");
        let rows = ["near".to_owned(), "far".to_owned()];
        let noted = Batch::of(note_writes(&space, &rows).unwrap());
        driver.commit(noted).await.unwrap();
        for row in &rows {
            let found = copies_of_row(&driver, "t", row).await.unwrap();
            assert_eq!(found, std::slice::from_ref(&space), "{row}");
            assert!(copies_of_row(&driver, "u", row).await.unwrap().is_empty());
        }
        assert!(copies_of_row(&driver, "t", "nea").await.unwrap().is_empty());
        assert_eq!(source_rows(&driver, &space).await.unwrap(), rows);
        assert_eq!(note_keys_of(&driver, &space).await.unwrap().len(), 2);
    }

    #[test]
    fn a_copy_of_a_copy_is_of_the_row_that_it_was_said_in() {
        let mut message = Message::user("hi");
        assert_eq!(origin(&message), None);
        mark(&mut message, "first");
        mark(&mut message, "second");
        assert_eq!(origin(&message), Some("first"));
    }

    #[tokio::test]
    async fn what_was_read_before_an_erasure_is_not_copied_behind_it() {
        let driver = MemoryDriver::new(DriverOptions::default());
        let before = erasure_note(&driver, "t", "row").await.unwrap();
        assert!(!before.is_running);
        for is_running in [true, false] {
            let noted = note_erasure(&driver, "t", "row", is_running).await;
            noted.unwrap();
            let now = erasure_note(&driver, "t", "row").await.unwrap();
            assert_eq!(now.is_running, is_running);
            assert_ne!(now.check, before.check);
        }
        let copy = Batch::default().checking(before.check);
        assert!(driver.commit(copy).await.is_err());
    }
}
