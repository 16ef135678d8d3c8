//! SQLite's own full-text search, plain: what Ambit's is set against.

use crate::Result;
use rusqlite::Connection;
use std::time::Instant;

const CREATE: &str = "pragma journal_mode = wal; pragma synchronous = full;
    create virtual table chunk using fts5(text, content='', detail=none)";
const ADD: &str = "insert into chunk(rowid, text) values (?1, ?2)";
const FIND: &str = "select rowid from chunk where chunk match ?1 order by bm25(chunk) limit 10";

/// A table of texts.
pub struct FullText {
    connection: Connection,
    rows: i64,
}

impl FullText {
    pub fn create(file: &str) -> Result<Self> {
        let connection = Connection::open(file)?;
        connection.execute_batch(CREATE)?;
        Ok(Self {
            connection,
            rows: 0,
        })
    }

    /// Adds texts in one commit; the seconds that it took.
    pub fn add(&mut self, texts: &[String]) -> Result<f64> {
        let start = Instant::now();
        let transaction = self.connection.transaction()?;
        for text in texts {
            self.rows += 1;
            let mut add = transaction.prepare_cached(ADD)?;
            add.execute((self.rows, text))?;
        }
        transaction.commit()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Finds ten by any word of a text; the milliseconds that it took.
    pub fn find(&self, text: &str) -> Result<f64> {
        let start = Instant::now();
        let words = text.replace(' ', " OR ");
        let mut find = self.connection.prepare_cached(FIND)?;
        let rows = find.query_map([words], |row| row.get::<_, i64>(0))?;
        let rows: Vec<i64> = rows.collect::<rusqlite::Result<_>>()?;
        std::hint::black_box(rows);
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}
