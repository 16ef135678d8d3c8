//! Looking for damage.

use super::store::PostgresStore;
use crate::Result;

/// Each question gives one row for each finding: its place and what is wrong.
const QUESTIONS: &[&str] = &[
    "SELECT format('log %s/%s#%s', tenant, path, convert_from(name, 'UTF8')), \
     format('its head is %s, but it has %s entries up to %s', last, count(seq), coalesce(max(seq), 0)) \
     FROM log LEFT JOIN entry ON log_id = id GROUP BY id \
     HAVING count(seq) <> last OR coalesce(max(seq), 0) <> last OR coalesce(min(seq), 1) <> 1",
    "SELECT format('entries of log %s', log_id), format('%s entries belong to no log', count(*)) \
     FROM entry WHERE NOT EXISTS (SELECT FROM log WHERE id = log_id) GROUP BY log_id",
    "SELECT format('value %s/%s#%s', tenant, path, encode(name, 'escape')), \
     format('its length is %s, but it has %s items up to %s', length, count(pos), coalesce(max(pos) + 1, 0)) \
     FROM value LEFT JOIN item ON list_id = id WHERE value.body IS NULL GROUP BY id \
     HAVING count(pos) <> length OR coalesce(max(pos) + 1, 0) <> length OR coalesce(min(pos), 0) <> 0",
    "SELECT format('items of list %s', list_id), format('%s items belong to no list', count(*)) FROM item \
     WHERE NOT EXISTS (SELECT FROM value WHERE id = list_id AND value.body IS NULL) GROUP BY list_id",
    "SELECT format('log %s/%s#%s', tenant, path, convert_from(name, 'UTF8')), \
     format('its generation %s was never given out', generation) FROM log, counter WHERE generation > last_value",
    "SELECT format('value %s/%s#%s', tenant, path, encode(name, 'escape')), \
     format('its version %s was never given out', version) FROM value, counter WHERE version > last_value",
    "SELECT format('index row %s', id), 'nobody touched it' FROM identity i \
     WHERE NOT EXISTS (SELECT FROM touch t WHERE t.row_id = i.row_id)",
];

/// All findings.
pub(super) async fn findings(store: &PostgresStore) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for question in QUESTIONS {
        for row in store.rows(question, &[]).await? {
            let (place, wrong): (String, String) = (row.get(0), row.get(1));
            findings.push(format!("{place}: {wrong}"));
        }
    }
    Ok(findings)
}
