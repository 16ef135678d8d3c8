//! What takes the room of the database.

use super::store::PostgresStore;
use crate::Result;
use crate::driver::contents::{data_size, kind_choice};
use crate::driver::{DataKind, DataSize};

/// The bytes of what logs and values hold, by kind.
pub(super) async fn contents(
    store: &PostgresStore,
    kinds: &[DataKind],
) -> Result<Option<Vec<DataSize>>> {
    let of_log = kind_choice(kinds, "l.path", "encode(l.name, 'escape')");
    let of_value = kind_choice(kinds, "v.path", "encode(v.name, 'escape')");
    let sql = format!(
        "SELECT kind::bigint, sum(number)::bigint, sum(bytes)::bigint FROM ( \
           SELECT {of_log} AS kind, count(*) AS number, sum(octet_length(e.body)) AS bytes \
           FROM entry e JOIN log l ON l.id = e.log_id GROUP BY l.id \
           UNION ALL \
           SELECT {of_value}, 1, coalesce(octet_length(v.body), 0) + coalesce( \
             (SELECT sum(octet_length(i.body)) FROM item i WHERE i.list_id = v.id), 0) \
           FROM value v) AS part \
         GROUP BY kind ORDER BY kind"
    );
    let rows = store.rows(&sql, &[]).await?;
    let sizes = rows.iter().map(|row| {
        let row: [i64; 3] = [row.get(0), row.get(1), row.get(2)];
        data_size(kinds, row)
    });
    Ok(Some(sizes.collect()))
}
