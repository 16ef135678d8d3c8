//! Long bodies of values: each has a row in `body`, which goes with its value.

use super::packed_body::StoredBody;
use super::write_connection::WriteConnection;
use crate::operation::DatedContent;

/// Longer bodies stand beside their values.
pub(super) const INLINE: usize = 512;

/// The whole body of the value `v`, as an expression of SQL. NULL for a list, and where the body is lost.
macro_rules! whole_body {
    () => {
        "iif(v.body_id IS NULL, v.head, (SELECT b.body FROM body b WHERE b.id = v.body_id))"
    };
}
pub(super) use whole_body;

/// What stands in the row of a value whose body is long: as much as those need who read a part alone.
pub(super) fn head(text: &str) -> &str {
    let end = DatedContent::dates(text).map_or(1, |dates| dates.as_str().len());
    text.get(..end).unwrap_or(text)
}

impl WriteConnection {
    /// Stores the body of a value where it is long, in the row that the one before had. Where it is not, that row goes.
    /// The answer is the number of the row.
    pub(super) fn put_body(
        &self,
        before: Option<i64>,
        text: Option<&str>,
    ) -> rusqlite::Result<Option<i64>> {
        let Some(text) = text.filter(|text| text.len() > INLINE) else {
            if let Some(id) = before {
                self.erase_body(id)?;
            }
            return Ok(None);
        };
        let sql =
            "INSERT INTO body (id, body) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET body = ?2";
        self.run(sql, (before, StoredBody::of_value(text)))?;
        Ok(before.or_else(|| Some(self.connection.last_insert_rowid())))
    }

    pub(super) fn erase_body(&self, id: i64) -> rusqlite::Result<()> {
        self.run("DELETE FROM body WHERE id = ?1", [id])?;
        Ok(())
    }
}
