//! The reading end of a log. It holds a place and nothing else, so that a slow reader delays nobody.

use super::Entry;
use super::row::{self, Cursor, Read};
use super::shared::Shared;
use super::state::Found;
use crate::error::{Code, Error, Result};
use ambit_storage::address::LogKey;
use ambit_storage::driver::{Driver, Watch};
use std::sync::Arc;
use tokio::sync::watch;

/// Follows a log from some place on.
pub struct Reader {
    driver: Arc<dyn Driver>,
    log: LogKey,
    /// The last number that was given out.
    after: u64,
    cursor: Cursor,
    source: Source,
}

enum Source {
    /// The process that writes is this one.
    Live(Live),
    /// Another process writes, or nobody any more.
    Store {
        watch: Option<Watch>,
        /// Whether the log must be there: it has been seen.
        was_there: bool,
    },
    Over,
}

struct Live {
    shared: Arc<Shared>,
    grown: watch::Receiver<()>,
}

impl Reader {
    pub(super) fn live(shared: Arc<Shared>, after: u64) -> Result<Self> {
        let grown = shared.grown.subscribe();
        check(after, shared.state().last())?;
        Ok(Self {
            driver: shared.place.driver.clone(),
            log: shared.place.log.clone(),
            after,
            cursor: Cursor::default(),
            source: Source::Live(Live { shared, grown }),
        })
    }

    /// Follows a stored log behind this number, wherever it is written; `None` where it is absent.
    pub async fn stored(driver: Arc<dyn Driver>, log: LogKey, after: u64) -> Result<Option<Self>> {
        let Some(last) = row::last_number(driver.as_ref(), &log).await? else {
            return Ok(None);
        };
        check(after, last)?;
        Ok(Some(Self {
            driver,
            log,
            after,
            cursor: Cursor::default(),
            source: Source::Store {
                watch: None,
                was_there: true,
            },
        }))
    }

    /// Follows a log of which nothing may be stored yet, from its beginning.
    pub fn awaited(driver: Arc<dyn Driver>, log: LogKey) -> Self {
        Self {
            driver,
            log,
            after: 0,
            cursor: Cursor::start(),
            source: Source::Store {
                watch: None,
                was_there: false,
            },
        }
    }

    /// The next entries, at least one; waits for them. `None` behind the last entry of an ended turn. After an error the same
    /// entries can be asked for again. A call that is dropped loses nothing.
    pub async fn next(&mut self) -> Result<Option<Vec<Entry>>> {
        loop {
            let found = match &mut self.source {
                Source::Over => return Ok(None),
                Source::Live(live) => live.next(self.after).await?,
                Source::Store { .. } => self.read_on().await?,
            };
            match found {
                Found::Entries(entries) => return Ok(Some(self.give(entries))),
                Found::Over => self.source = Source::Over,
                Found::Elsewhere => match self.read().await? {
                    Some(read) if !read.entries.is_empty() => {
                        return Ok(Some(self.give(read.entries)));
                    }
                    _ => return Err(expired()),
                },
                Found::Left(_) => {
                    self.source = Source::Store {
                        watch: None,
                        was_there: self.after > 0,
                    }
                }
                Found::NothingYet => {}
            }
        }
    }

    fn give(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        if let Some(last) = entries.last() {
            self.after = last.number;
        }
        entries
    }

    async fn read(&mut self) -> Result<Option<Read>> {
        let driver = self.driver.as_ref();
        self.cursor.read(driver, &self.log, self.after).await
    }

    /// The next entries from the store, or what a change of the log has to be waited for.
    async fn read_on(&mut self) -> Result<Found> {
        let Source::Store { watch, was_there } = &mut self.source else {
            return Ok(Found::NothingYet);
        };
        let is_new = watch.is_none();
        if is_new {
            *watch = Some(self.driver.watch(&self.log).await?);
        }
        let was_there = *was_there;
        let read = self.read().await?;
        let Source::Store {
            watch: Some(watch),
            was_there: is_there,
        } = &mut self.source
        else {
            return Ok(Found::NothingYet);
        };
        *is_there |= read.is_some();
        match read {
            Some(read) if !read.entries.is_empty() => return Ok(Found::Entries(read.entries)),
            Some(read) if read.is_end => return Ok(Found::Over),
            None if was_there => return Err(expired()),
            _ => {}
        }
        if !watch.changed().await {
            return Err(Error::new(Code::Unavailable, "the store has been closed"));
        }
        Ok(Found::NothingYet)
    }
}

impl Live {
    async fn next(&mut self, after: u64) -> Result<Found> {
        self.grown.borrow_and_update();
        let (found, is_persistent) = {
            let state = self.shared.state();
            (state.after(after), state.options.is_persistent)
        };
        match found {
            Found::NothingYet if self.grown.changed().await.is_ok() => Ok(Found::NothingYet),
            Found::Left(error) if !is_persistent => Err(error),
            found => Ok(found),
        }
    }
}

fn check(after: u64, last: u64) -> Result<()> {
    if after > last {
        let what =
            format!("the stream has {last} events so far; there is none with number {after}");
        return Err(Error::invalid("after", what));
    }
    Ok(())
}

fn expired() -> Error {
    Error::new(Code::StreamExpired, "the stream is no longer kept")
}
