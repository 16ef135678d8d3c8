//! One SQLite file in WAL mode: the default on one machine.
//!
//! One thread writes, with group commit: callers that wait at the same time share one sync. Readers have connections of
//! their own and are not held up. Other processes may use the file at the same time.
//!
//! The address is `path/to/file.db`, with `?busy_ms=…` for how long a lock is waited for (5000).
//! Fault points: `sqlite.migrate` (tables made, not committed), `sqlite.begin` (lock held, nothing written),
//! `sqlite.before_commit` (written, not committed), `sqlite.after_commit`.

pub(crate) mod backup;
pub(crate) mod backup_stamp;
mod contents;
mod database_file;
pub(crate) mod file_rights;
mod log;
mod network;
mod operations;
mod packed_body;
mod query;
mod reader_pool;
mod reclaim;
mod rows;
pub(crate) mod schema;
mod scrub;
mod sweep;
mod sync_mode;
mod value;
mod value_body;
mod write_connection;
mod writer;

use super::{
    DataKind, DataSize, Driver, DriverOptions, LogPage, LogRange, LogWatch, ValuePart, ValueScan,
    WatchHub,
};
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, ValueEntry, WriteOutcome};
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::{Error, Result};
use async_trait::async_trait;
use database_file::DatabaseFile;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use reader_pool::ReaderPool;
use reclaim::ReclaimSchedule;
use scrub::ScrubSchedule;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use sync_mode::SyncMode;
use tokio::sync::{Semaphore, oneshot};
use write_connection::WriteConnection;
use writer::{SqliteWriter, WriterJob, WriterMessage, WriterTask};

/// So many jobs may wait for the writer; further callers wait until there is room.
const QUEUE: usize = 1_024;

/// Opens `path/to/file.db`, and makes the file and its folder if need be.
pub fn open(
    address: String,
    options: DriverOptions,
) -> BoxFuture<'static, Result<Arc<dyn Driver>>> {
    Box::pin(async move {
        let driver: Arc<dyn Driver> = Arc::new(SqliteDriver::open(&address, options).await?);
        Ok(driver)
    })
}

/// The SQLite driver.
#[derive(Debug)]
pub struct SqliteDriver {
    place: DatabaseFile,
    options: DriverOptions,
    hub: WatchHub,
    readers: Arc<ReaderPool>,
    room: Arc<Semaphore>,
    queue: Mutex<Option<mpsc::Sender<WriterMessage>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl SqliteDriver {
    /// Opens the file, brings it to the present form and starts the writer.
    pub async fn open(address: &str, options: DriverOptions) -> Result<Self> {
        let mut place = DatabaseFile::parse(address)?;
        place.work = options.work.clone();
        blocking(move || Self::start(place, options)).await
    }

    fn start(place: DatabaseFile, options: DriverOptions) -> Result<Self> {
        schema::refuse_old_sqlite(rusqlite::version_number())?;
        let folder = place.path.parent().unwrap_or(&place.path);
        std::fs::create_dir_all(folder).map_err(|error| {
            Error::unavailable(format!("the folder {}", folder.display()), error)
        })?;
        network::refuse_network(&place, options.force)?;
        schema::refuse_lost_file(&place)?;
        schema::refuse_unfinished_restore(&place)?;
        let mut connection = place.create()?;
        schema::bring_up(&connection, &place, &options.fault_points)?;
        schema::prepare_writer(&mut connection, &place, options.durability)?;
        let files = place.files();
        let hub = WatchHub::default();
        let writer = SqliteWriter {
            ledger: WriteConnection::new(connection, options.clock.clone()),
            files,
            place: place.clone(),
            hub: hub.clone(),
            faults: options.fault_points.clone(),
            syncs: SyncMode::new(options.durability),
            scrub: ScrubSchedule::default(),
            reclaim: ReclaimSchedule::default(),
            held: Vec::new(),
            last: writer::CommitStats::default(),
            is_awake: false,
        };
        let (queue, jobs) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || writer.run(&jobs))
            .map_err(|error| Error::unavailable("the thread that writes to sqlite", error))?;
        Ok(Self {
            readers: Arc::new(ReaderPool::new(place.clone(), files)),
            place,
            options,
            hub,
            room: Arc::new(Semaphore::new(QUEUE)),
            queue: Mutex::new(Some(queue)),
            writer: Mutex::new(Some(thread)),
        })
    }

    /// Copies the store, as it is at one point in time, to a new file while writes go on.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        let (place, to) = (self.place.clone(), to.to_owned());
        if self.room.is_closed() {
            return Err(place.closed());
        }
        blocking(move || backup::copy(&place, &to)).await
    }

    async fn ask(&self, work: WriterTask) -> Result<Vec<WriteOutcome>> {
        let room = Arc::clone(&self.room).acquire_owned().await;
        let place = room.map_err(|_| self.place.closed())?;
        let (answer, answered) = oneshot::channel();
        self.send(WriterMessage::Job(WriterJob {
            work,
            answer,
            _place: place,
        }))?;
        answered.await.map_err(|_| self.writer_died())?
    }

    fn send(&self, message: WriterMessage) -> Result<()> {
        let queue = self.queue.lock();
        let queue = queue.as_ref().ok_or_else(|| self.place.closed())?;
        queue.send(message).map_err(|_| self.writer_died())
    }

    fn writer_died(&self) -> Error {
        Error::Unavailable {
            what: format!(
                "the sqlite store {} (its writer has ended; open it again)",
                self.place.path.display()
            ),
            source: None,
        }
    }

    /// Lets the writer finish what waits, and takes its thread.
    fn stop(&self) -> Option<JoinHandle<()>> {
        self.room.close();
        self.hub.close();
        self.readers.close();
        self.queue.lock().take();
        self.writer.lock().take()
    }
}

impl Drop for SqliteDriver {
    fn drop(&mut self) {
        if let Some(writer) = self.stop() {
            // A writer that panicked has said so itself, and no caller is left.
            let _ = writer.join();
        }
    }
}

/// Work that may wait for locks or the disk, away from the tasks.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Error::unavailable("a thread for sqlite", error)))
}

#[async_trait]
impl Driver for SqliteDriver {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        batch.validate(&self.options.limits)?;
        self.ask(WriterTask::Commit(batch)).await
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        self.readers.read("reading a log", |connection| {
            Ok(log::page(connection, log, range)?)
        })
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        let now = self.options.clock.now();
        self.readers.read("reading a value", |connection| {
            reader_pool::get(connection, key, part, now)
        })
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        let now = self.options.clock.now();
        self.readers.read("reading values", |connection| {
            reader_pool::scan(connection, space, scan, now)
        })
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.readers.read("listing logs", |connection| {
            Ok(log::names(connection, space)?)
        })
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        self.readers.read("listing identities", |connection| {
            query::identities(connection, filter, page)
        })
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        self.readers.read("counting identities", |connection| {
            query::count(connection, filter)
        })
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        // While somebody else follows a log, the writer looks already.
        let mut begun = Ok(());
        let begin = || begun = self.send(WriterMessage::Look);
        let watch = self.hub.watch_or_begin(log, begin);
        begun.map(|()| watch)
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        match self.ask(WriterTask::Sweep(limit)).await?.first() {
            Some(WriteOutcome::Erased(count)) => Ok(*count),
            _ => Ok(0),
        }
    }

    async fn check(&self) -> Result<Vec<String>> {
        let readers = Arc::clone(&self.readers);
        blocking(move || readers.read("checking it", reader_pool::check)).await
    }

    fn kind(&self) -> &'static str {
        "sqlite"
    }

    async fn size(&self) -> Result<Option<u64>> {
        if self.room.is_closed() {
            return Err(self.place.closed());
        }
        let place = self.place.clone();
        blocking(move || Ok(Some(place.size("") + place.size("-wal")))).await
    }

    async fn contents(&self, kinds: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        let (readers, kinds) = (Arc::clone(&self.readers), kinds.to_vec());
        let read = move |connection: &rusqlite::Connection| contents::contents(connection, &kinds);
        let sizes = blocking(move || readers.read("adding up what it holds", read)).await;
        sizes.map(Some)
    }

    async fn close(&self) -> Result<()> {
        let Some(writer) = self.stop() else {
            return Ok(());
        };
        blocking(move || writer.join().map_err(|_| panicked())).await
    }
}

fn panicked() -> Error {
    Error::internal("the thread that writes to sqlite has panicked")
}
