//! The reading end of a log. It holds a place and nothing else, so that a slow reader delays nobody.

use super::StreamEntry;
use super::row::{self, RowCursor, StreamPage};
use super::shared::SharedStream;
use super::state::ReadOutcome;
use crate::error::{Error, ErrorCode, Result};
use ambit_storage::address::LogKey;
use ambit_storage::driver::{Driver, LogWatch};
use std::any::Any;
use std::sync::Arc;
use tokio::sync::watch;

/// Follows a log from some place on.
pub struct StreamReader {
    driver: Arc<dyn Driver>,
    log: LogKey,
    /// The last number that was given out.
    after: u64,
    cursor: RowCursor,
    source: StreamSource,
    /// What is dropped with it.
    _hold: Option<Arc<dyn Any + Send + Sync>>,
}

enum StreamSource {
    /// The process that writes is this one.
    Live(LiveSource),
    /// Another process writes, or nobody any more.
    Store {
        watch: Option<LogWatch>,
        /// Whether the log must be there: it has been seen.
        was_there: bool,
    },
    Over,
}

struct LiveSource {
    shared: Arc<SharedStream>,
    grown: watch::Receiver<()>,
}

impl StreamReader {
    pub(super) fn live(shared: Arc<SharedStream>, after: u64) -> Result<Self> {
        let grown = shared.grown.subscribe();
        check(after, shared.state().last())?;
        Ok(Self {
            driver: shared.place.driver.clone(),
            log: shared.place.log.clone(),
            after,
            cursor: RowCursor::default(),
            source: StreamSource::Live(LiveSource { shared, grown }),
            _hold: None,
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
            cursor: RowCursor::default(),
            source: StreamSource::Store {
                watch: None,
                was_there: true,
            },
            _hold: None,
        }))
    }

    /// Follows a log of which nothing may be stored yet, from its beginning.
    pub fn awaited(driver: Arc<dyn Driver>, log: LogKey) -> Self {
        Self {
            driver,
            log,
            after: 0,
            cursor: RowCursor::start(),
            source: StreamSource::Store {
                watch: None,
                was_there: false,
            },
            _hold: None,
        }
    }

    /// The same reader, with something that lives as long as it does.
    pub fn holding(self, hold: Arc<dyn Any + Send + Sync>) -> Self {
        Self {
            _hold: Some(hold),
            ..self
        }
    }

    /// The next entries, at least one; waits for them. `None` behind the last entry of an ended turn. After an error the same
    /// entries can be asked for again. A call that is dropped loses nothing.
    pub async fn next(&mut self) -> Result<Option<Vec<StreamEntry>>> {
        loop {
            let found = match &mut self.source {
                StreamSource::Over => return Ok(None),
                StreamSource::Live(live) => live.next(self.after).await?,
                StreamSource::Store { .. } => self.read_on().await?,
            };
            match found {
                ReadOutcome::Entries(entries) => return Ok(Some(self.give(entries))),
                ReadOutcome::Over => self.source = StreamSource::Over,
                ReadOutcome::Elsewhere => match self.read().await? {
                    Some(read) if !read.entries.is_empty() => {
                        return Ok(Some(self.give(read.entries)));
                    }
                    _ => return Err(expired()),
                },
                ReadOutcome::Abandoned(_) => {
                    self.source = StreamSource::Store {
                        watch: None,
                        was_there: self.after > 0,
                    }
                }
                ReadOutcome::NothingYet => {}
            }
        }
    }

    fn give(&mut self, entries: Vec<StreamEntry>) -> Vec<StreamEntry> {
        if let Some(last) = entries.last() {
            self.after = last.number;
        }
        entries
    }

    async fn read(&mut self) -> Result<Option<StreamPage>> {
        let driver = self.driver.as_ref();
        self.cursor.read(driver, &self.log, self.after).await
    }

    /// The next entries from the store, or what a change of the log has to be waited for.
    async fn read_on(&mut self) -> Result<ReadOutcome> {
        let StreamSource::Store { watch, was_there } = &mut self.source else {
            return Ok(ReadOutcome::NothingYet);
        };
        let is_new = watch.is_none();
        if is_new {
            *watch = Some(self.driver.watch(&self.log).await?);
        }
        let was_there = *was_there;
        let read = self.read().await?;
        let StreamSource::Store {
            watch: Some(watch),
            was_there: is_there,
        } = &mut self.source
        else {
            return Ok(ReadOutcome::NothingYet);
        };
        *is_there |= read.is_some();
        match read {
            Some(read) if !read.entries.is_empty() => {
                return Ok(ReadOutcome::Entries(read.entries));
            }
            Some(read) if read.is_end => return Ok(ReadOutcome::Over),
            None if was_there => return Err(expired()),
            _ => {}
        }
        if !watch.changed().await {
            return Err(Error::new(
                ErrorCode::Unavailable,
                "the store has been closed",
            ));
        }
        Ok(ReadOutcome::NothingYet)
    }
}

impl LiveSource {
    async fn next(&mut self, after: u64) -> Result<ReadOutcome> {
        self.grown.borrow_and_update();
        let (found, is_persistent) = {
            let state = self.shared.state();
            (state.after(after), state.options.is_persistent)
        };
        match found {
            ReadOutcome::NothingYet if self.grown.changed().await.is_ok() => {
                Ok(ReadOutcome::NothingYet)
            }
            ReadOutcome::Abandoned(error) if !is_persistent => Err(error),
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
    Error::new(ErrorCode::StreamExpired, "the stream is no longer kept")
}
