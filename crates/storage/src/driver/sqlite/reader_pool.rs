//! Reading beside the writer: connections that are taken and given back. A read takes microseconds, so it runs where it
//! is called; a hop to another thread costs twenty times as much.

use super::database_file::{DatabaseFile, DatabaseFileIds, SqliteResult};
use super::schema;
use super::value::ValueRow;
use super::value_body::whole_body;
use crate::Result;
use crate::address::{Space, ValueKey};
use crate::batch::ValueEntry;
use crate::clock::Millis;
use crate::driver::value_scan::ScanPage;
use crate::driver::{Direction, ValuePart, ValueScan};
use parking_lot::Mutex;
use rusqlite::Connection;

/// More idle connections than this are closed.
const IDLE: usize = 8;

/// The connections that read; `None` after the store was closed.
#[derive(Debug)]
pub struct ReaderPool {
    place: DatabaseFile,
    files: DatabaseFileIds,
    idle: Mutex<Option<Vec<Connection>>>,
}

impl ReaderPool {
    /// No connection yet; the first read opens one.
    pub fn new(place: DatabaseFile, files: DatabaseFileIds) -> Self {
        Self {
            place,
            files,
            idle: Mutex::new(Some(Vec::new())),
        }
    }

    /// Reads within one snapshot: `work` keeps the rows of its first statement until its last one is done. Without a transaction
    /// SQLite keeps a snapshot for as long as any statement is being read.
    pub fn read<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&Connection) -> SqliteResult<T>,
    ) -> Result<T> {
        let connection = self.take()?;
        let found = work(&connection);
        self.give_back(connection);
        found.map_err(|stop| self.place.error(doing, stop))
    }

    /// Closes the idle connections; those at work are closed when they are done.
    pub fn close(&self) {
        self.lock().take();
    }

    fn take(&self) -> Result<Connection> {
        let idle = match self.lock().as_mut() {
            Some(idle) => idle.pop(),
            None => return Err(self.place.closed()),
        };
        idle.map_or_else(|| self.connect(), Ok)
    }

    fn connect(&self) -> Result<Connection> {
        let connection = self.place.connect();
        // A file that is not the writer's answers for other data, or fails in words that say nothing.
        self.place.ensure_same(self.files)?;
        let connection = connection?;
        connection
            .pragma_update(None, "query_only", "ON")
            .map_err(|error| self.place.failed("opening it for reading", error))?;
        Ok(connection)
    }

    fn give_back(&self, connection: Connection) {
        if let Some(idle) = self.lock().as_mut().filter(|idle| idle.len() < IDLE) {
            idle.push(connection);
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Option<Vec<Connection>>> {
        self.idle.lock()
    }
}

/// A value, or part of it, if it is live.
pub fn get(
    connection: &Connection,
    key: &ValueKey,
    part: ValuePart,
    now: Millis,
) -> SqliteResult<Option<ValueEntry>> {
    let sql = concat!(
        "SELECT v.space, iif(?5 IS NULL, ",
        whole_body!(),
        ", substr(v.head, 1, ?5)), v.body_id, v.length, v.version, v.expires_at
        FROM space s JOIN value v ON v.space = s.id AND v.name = ?3
        WHERE s.tenant = ?1 AND s.path = ?2 AND (v.expires_at IS NULL OR v.expires_at > ?4)"
    );
    let space = &key.space;
    let which = (&space.tenant, &space.path, &key.name, now, part.prefix());
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(which)?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let stored = ValueRow::from_row(row, 1)?;
    stored
        .entry(connection, row.get(0)?, &key.name, part)
        .map(Some)
}

macro_rules! scan_sql {
    ($from:literal $order:literal) => {
        concat!(
            "SELECT v.space, iif(?6 IS NULL, ",
            whole_body!(),
            ", substr(v.head, 1, ?6)), v.body_id, v.length, v.version, v.expires_at, v.name \
             FROM space s JOIN value v ON v.space = s.id WHERE s.tenant = ?1 AND s.path = ?2 AND ",
            $from,
            " AND (v.expires_at IS NULL OR v.expires_at > ?5) ORDER BY v.name ",
            $order
        )
    };
}

const FORWARD: &str = scan_sql!("v.name >= ?3 AND (?4 IS NULL OR v.name > ?4)" "ASC");
/// No text is behind the byte 255.
const BACKWARD: &str =
    scan_sql!("v.name < coalesce(?3, CAST(x'ff' AS TEXT)) AND (?4 IS NULL OR v.name < ?4)" "DESC");

/// The live values of a space whose name matches, by name.
pub fn scan(
    connection: &Connection,
    space: &Space,
    scan: &ValueScan,
    now: Millis,
) -> SqliteResult<Vec<(String, ValueEntry)>> {
    let (prefix, after, end) = (
        scan.pattern.prefix(),
        scan.after.as_deref(),
        scan.pattern.end(),
    );
    let (sql, bound) = match scan.direction {
        Direction::Forward => (
            FORWARD,
            Some(after.map_or(prefix, |after| after.max(prefix))),
        ),
        Direction::Backward => (BACKWARD, after.into_iter().chain(end.as_deref()).min()),
    };
    let prefix_length = scan.part.prefix();
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((
        &space.tenant,
        &space.path,
        bound,
        &scan.after,
        now,
        prefix_length,
    ))?;
    let mut page = ScanPage::of(scan);
    while !page.is_full()
        && let Some(row) = rows.next()?
    {
        let name: String = row.get(6)?;
        if !name.starts_with(prefix) {
            break;
        }
        if scan.pattern.matches(&name) {
            let stored = ValueRow::from_row(row, 1)?;
            let entry = stored.entry(connection, row.get(0)?, &name, scan.part)?;
            page.add(name, entry);
        }
    }
    Ok(page.found)
}

/// What is wrong with the file, and what is wrong with what it holds.
pub fn check(connection: &Connection) -> SqliteResult<Vec<String>> {
    let snapshot = connection.unchecked_transaction()?;
    let mut findings = schema::quick_check(connection)?;
    for sql in [
        "SELECT 'the log ' || s.tenant || '/' || s.path || '#' || l.name || ' holds ' || count(e.seq) || ' entries, the last is '
           || max(e.seq) FROM log l JOIN space s ON s.id = l.space JOIN entry e ON e.log = l.id
         GROUP BY l.id HAVING count(e.seq) <> max(e.seq) OR min(e.seq) <> 1",
        "SELECT 'the list ' || s.tenant || '/' || s.path || '#' || v.name || ' has length ' || v.length || ' and '
           || (SELECT count(*) FROM item i WHERE i.space = v.space AND i.name = v.name) || ' items'
         FROM value v JOIN space s ON s.id = v.space WHERE v.head IS NULL
         AND v.length <> (SELECT count(*) FROM item i WHERE i.space = v.space AND i.name = v.name AND i.pos < v.length)",
        "SELECT 'the entry ' || e.id || ' belongs to no log' FROM entry e WHERE e.log NOT IN (SELECT id FROM log)",
        "SELECT 'the log ' || l.id || ' belongs to no space' FROM log l WHERE l.space <> 0 AND l.space NOT IN (SELECT id FROM space)",
        "SELECT 'the tally of ' || tenant || ' ' || person || ' ' || scope || ' is wrong by ' || sum(rows) FROM (
           SELECT tenant, person, scope, rows FROM tally
           UNION ALL SELECT tenant, '*', scope, -count(*) FROM identity WHERE scope IS NOT NULL GROUP BY tenant, scope
           UNION ALL SELECT tenant, '=' || user_id, scope, -count(*) FROM identity
             WHERE scope IS NOT NULL AND user_id IS NOT NULL GROUP BY tenant, user_id, scope)
         GROUP BY tenant, person, scope HAVING sum(rows) <> 0",
        "SELECT 'the value ' || v.name || ' belongs to no space' FROM value v WHERE v.space NOT IN (SELECT id FROM space)",
        "SELECT 'the value ' || s.tenant || '/' || s.path || '#' || v.name || ' has lost its body'
         FROM value v JOIN space s ON s.id = v.space WHERE v.body_id IS NOT NULL AND v.body_id NOT IN (SELECT id FROM body)",
        "SELECT 'the body ' || b.id || ' belongs to no value' FROM body b
         WHERE b.id NOT IN (SELECT body_id FROM value WHERE body_id IS NOT NULL)",
        "SELECT 'the body ' || v.body_id || ' belongs to ' || count(*) || ' values' FROM value v
         WHERE v.body_id IS NOT NULL GROUP BY v.body_id HAVING count(*) > 1",
    ] {
        let mut statement = connection.prepare(sql)?;
        let more = statement.query_map([], |row| row.get::<_, String>(0))?;
        for finding in more {
            findings.push(finding?);
        }
    }
    snapshot.commit()?;
    Ok(findings)
}
