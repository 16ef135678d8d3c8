//! Erasing the values whose time is over.

use super::database_file::{SqliteResult, signed};
use super::value::{ValueRow, ValueStamp};
use super::write_connection::{WriteConnection, erased};
use crate::address::Space;
use crate::batch::WriteOutcome;

/// What is read of a value and its space.
macro_rules! columns {
    () => {
        "v.name, substr(v.head, 1, 1), v.body_id, v.length, v.version, v.expires_at, s.tenant, s.path"
    };
}

/// Expired values: leases are looked through, as no more of them are there than are held; the others are found by their end.
const EXPIRED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM value v INDEXED BY value_expiry CROSS JOIN space s ON s.id = v.space WHERE v.expires_at <= ?1 AND v.space > 0
    UNION ALL SELECT ",
    columns!(),
    " FROM value v CROSS JOIN space s ON s.id = v.space WHERE v.expires_at <= ?1 AND v.space < 0
    LIMIT ?2"
);

impl WriteConnection {
    /// Erases expired values, and says how many.
    pub(super) fn sweep(&mut self, limit: usize) -> SqliteResult<WriteOutcome> {
        let now = self.clock.now();
        let mut dead = Vec::new();
        {
            let mut statement = self.connection.prepare_cached(EXPIRED)?;
            let mut rows = statement.query((now, signed(limit as u64)))?;
            while let Some(row) = rows.next()? {
                let space = Space::new(row.get::<_, String>(6)?, row.get::<_, String>(7)?);
                let name: String = row.get(0)?;
                dead.push((space.key(name), ValueRow::from_row(row, 1)?));
            }
        }
        let count = dead.len();
        let stamp = ValueStamp {
            version: 0,
            expires_at: None,
        };
        for (key, stored) in dead {
            self.put(&key, Some(stored), None, stamp)?;
        }
        Ok(erased(count))
    }
}
