//! What takes the room of the file.

use super::database_file::SqliteResult;
use super::value_body::whole_body;
use crate::driver::contents::{data_size, kind_choice};
use crate::driver::{DataKind, DataSize};
use rusqlite::Connection;

/// The bytes of what logs and values hold, by kind. What is packed counts as it is in the file.
pub fn contents(connection: &Connection, kinds: &[DataKind]) -> SqliteResult<Vec<DataSize>> {
    let of_log = kind_choice(kinds, "s.path", "l.name");
    let of_value = kind_choice(kinds, "s.path", "v.name");
    let body = whole_body!();
    let sql = format!(
        "SELECT kind, sum(number), sum(bytes) FROM (
           SELECT {of_log} AS kind, count(*) AS number, sum(length(CAST(e.body AS BLOB))) AS bytes
           FROM entry e JOIN log l ON l.id = e.log JOIN space s ON s.id = l.space GROUP BY l.id
           UNION ALL
           SELECT {of_value}, 1, coalesce(length(CAST({body} AS BLOB)), 0) + coalesce(
             (SELECT sum(length(CAST(i.body AS BLOB))) FROM item i WHERE i.space = v.space AND i.name = v.name), 0)
           FROM value v JOIN space s ON s.id = v.space)
         GROUP BY kind ORDER BY kind"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| -> rusqlite::Result<[i64; 3]> {
        Ok([row.get(0)?, row.get(1)?, row.get(2)?])
    })?;
    let mut sizes = Vec::new();
    for row in rows {
        sizes.push(data_size(kinds, row?));
    }
    Ok(sizes)
}
