//! Values: what operations do to them. Their meaning is `Operation`'s; here is what must be loaded and what is stored.

use super::locks;
use super::log::{conflict, signed, text, unsigned};
use super::sql_value::bind;
use super::statement::QueuedStatement;
use super::transaction::{PostgresTransaction, TransactionError};
use crate::address::{Space, ValueKey};
use crate::batch::{ValueEntry, WriteOutcome};
use crate::clock::Millis;
use crate::driver::state;
use crate::json::{Json, StoredValue};
use crate::operation::{self, ListChange, ListWindow, Operation};
use crate::pattern::Pattern;
use crate::{Error, Result};
use tokio_postgres::Row;

/// Above every byte of UTF-8.
const ABOVE_ALL: u8 = 0xff;

/// What an operation sees of a value.
pub(super) struct LoadedValue {
    now: Millis,
    next: u64,
    id: Option<i64>,
    body: Option<String>,
    length: u64,
    expires_at: Option<Millis>,
    items: Vec<Json>,
}

impl LoadedValue {
    /// Reads the answer to `load`.
    pub(super) fn of(row: &Row) -> Self {
        let items: Option<Vec<String>> = row.get("o_items");
        Self {
            now: row.get("o_now"),
            next: unsigned(row.get("o_next")),
            id: row.get("o_id"),
            body: row.get("o_body"),
            length: unsigned(row.get::<_, Option<i64>>("o_length").unwrap_or(0)),
            expires_at: row.get("o_expires_at"),
            items: items
                .unwrap_or_default()
                .into_iter()
                .map(Json::stored)
                .collect(),
        }
    }

    fn is_live(&self) -> bool {
        self.id.is_some() && self.expires_at.is_none_or(|end| end > self.now)
    }
}

/// The condition that a value has this version.
pub(super) fn check_version(key: &ValueKey, version: Option<u64>) -> QueuedStatement {
    let values = bind![
        locks::space(&key.space),
        key.name.clone().into_bytes(),
        version.map(signed),
    ];
    let key = key.clone();
    QueuedStatement::check("check_version($1, $2, $3)", values)
        .refused(move |found| conflict(state::expect(&key, version, found.parse().ok())))
}

/// The condition that a lease is held under this epoch.
pub(super) fn check_lease(key: &ValueKey, epoch: u64) -> QueuedStatement {
    let values = bind![
        locks::space(&key.space),
        key.name.clone().into_bytes(),
        signed(epoch),
    ];
    let lease = key.to_string();
    QueuedStatement::check("check_lease($1, $2, $3)", values)
        .refused(move |_| Error::Fenced { lease, epoch })
}

/// One operation on one value.
pub(super) struct ValueWrite<'a> {
    pub(super) key: &'a ValueKey,
    pub(super) op: &'a Operation,
    pub(super) life: Option<Millis>,
}

impl ValueWrite<'_> {
    /// The statement that gives what the operation must see.
    pub(super) fn load(&self) -> QueuedStatement {
        load(self.key, self.op)
    }

    /// Does it on what was loaded: queues what is to be stored.
    pub(super) fn apply(
        &self,
        transaction: &mut PostgresTransaction,
        loaded: LoadedValue,
    ) -> Result<()> {
        let (key, op) = (self.key, self.op);
        let existing = loaded.is_live().then_some(loaded.expires_at);
        let expires_at = operation::end_of_life(op, existing, loaded.now, self.life);
        let version = loaded.next;
        let end = VersionStamp {
            version,
            expires_at,
        };
        let (output, is_kept) = match loaded.id.filter(|_| works_on_items(op, &loaded)) {
            Some(id) => {
                let (change, output) = op.apply_to_list(&key.name, loaded.length, loaded.items)?;
                transaction.queue(change_list(id, change, end));
                (output, true)
            }
            None => {
                let is_stored = loaded.id.is_some();
                let applied = op.apply(&key.name, current(loaded), version)?;
                let is_kept = applied.value.is_some();
                match applied.value {
                    Some(value) => transaction.queue(store(key, value, end)),
                    None if is_stored => transaction.queue(delete(key)),
                    None => {}
                }
                (applied.output, is_kept)
            }
        };
        transaction.done(WriteOutcome::applied(output, is_kept.then_some(version)));
        Ok(())
    }
}

fn works_on_items(op: &Operation, loaded: &LoadedValue) -> bool {
    op.is_list_op() && loaded.is_live() && loaded.body.is_none()
}

fn current(loaded: LoadedValue) -> Option<StoredValue> {
    if !loaded.is_live() {
        return None;
    }
    Some(match loaded.body {
        Some(body) => StoredValue::Plain(Json::stored(body)),
        None => StoredValue::List(loaded.items),
    })
}

fn load(key: &ValueKey, op: &Operation) -> QueuedStatement {
    let mut alike: Option<Vec<i64>> = None;
    let last = match op {
        // It does not look at the items of a list.
        Operation::Incr(_) => 0,
        list if list.is_list_op() => match list.window() {
            ListWindow::Nothing => 0,
            ListWindow::Last(count) => signed(count),
            ListWindow::All => i64::MAX,
            ListWindow::Alike(prints) => {
                alike = Some(prints);
                0
            }
        },
        _ => i64::MAX,
    };
    let values = bind![
        locks::space(&key.space),
        key.name.clone().into_bytes(),
        last,
        alike,
    ];
    QueuedStatement::query("SELECT * FROM load_value($1, $2, $3, $4)", values)
}

/// How a stored value ends.
#[derive(Clone, Copy)]
struct VersionStamp {
    version: u64,
    expires_at: Option<Millis>,
}

fn store(key: &ValueKey, value: StoredValue, end: VersionStamp) -> QueuedStatement {
    let (body, items, epoch) = columns(value);
    let (texts, prints) = rows_of(&items);
    let values = bind![
        locks::space(&key.space),
        key.name.clone().into_bytes(),
        key.space.tenant.clone(),
        key.space.path.clone(),
        body,
        texts,
        prints,
        signed(end.version),
        end.expires_at,
        epoch,
    ];
    QueuedStatement::write(
        "store_value($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        values,
    )
}

/// Body, items and epoch of a lease, as they are stored.
pub(super) fn columns(value: StoredValue) -> (Option<String>, Vec<Json>, Option<i64>) {
    match value {
        StoredValue::Plain(json) => {
            let epoch = operation::epoch_of(&StoredValue::Plain(json.clone())).map(signed);
            (Some(json.as_str().to_owned()), Vec::new(), epoch)
        }
        StoredValue::List(items) => (None, items, None),
    }
}

pub(super) fn rows_of<'a>(items: impl IntoIterator<Item = &'a Json>) -> (Vec<String>, Vec<i64>) {
    items
        .into_iter()
        .map(|item| (item.as_str().to_owned(), item.fingerprint()))
        .unzip()
}

fn change_list(id: i64, change: ListChange, end: VersionStamp) -> QueuedStatement {
    let (places, items): (Vec<u64>, Vec<Json>) = change.put.into_iter().unzip();
    let (texts, prints) = rows_of(&items);
    let places: Vec<i64> = places.into_iter().map(signed).collect();
    let values = bind![
        id,
        signed(change.keep),
        places,
        texts,
        prints,
        signed(end.version),
        end.expires_at,
    ];
    QueuedStatement::write("change_list($1, $2, $3, $4, $5, $6, $7)", values)
}

pub(super) fn delete(key: &ValueKey) -> QueuedStatement {
    let values = bind![locks::space(&key.space), key.name.clone().into_bytes()];
    QueuedStatement::write("drop_value($1, $2)", values)
}

/// Makes a value equal to another store's.
pub(super) fn mirror(key: &ValueKey, entry: Option<&ValueEntry>) -> QueuedStatement {
    let call = match entry {
        Some(entry) => store(
            key,
            entry.value.clone().into(),
            VersionStamp {
                version: entry.version,
                expires_at: entry.expires_at,
            },
        ),
        None => delete(key),
    };
    call.reading(|_| Ok(WriteOutcome::Done))
}

pub(super) async fn wipe(
    transaction: &mut PostgresTransaction,
    space: &Space,
    pattern: &Pattern,
) -> Result<(), TransactionError> {
    let (first, end) = bounds(pattern);
    let sql = "SELECT name FROM value WHERE space = $1 AND name >= $2 AND name < $3";
    let values = bind![locks::space(space), first, end];
    let rows = transaction.ask(QueuedStatement::query(sql, values)).await?;
    let mut names: Vec<Vec<u8>> = Vec::with_capacity(rows.len());
    for row in &rows {
        let name = text(row.get(0), || format!("a value's name in {space}"))?;
        if pattern.matches(&name) {
            names.push(name.into_bytes());
        }
    }
    let values = bind![locks::space(space), names];
    transaction.queue(
        QueuedStatement::write("wipe($1, $2)", values)
            .reading(|answer| Ok(WriteOutcome::Erased(unsigned(answer.value()?)))),
    );
    Ok(())
}

/// The range of names, from … to below …, outside of which none matches.
pub(super) fn bounds(pattern: &Pattern) -> (Vec<u8>, Vec<u8>) {
    let first = pattern.prefix().as_bytes().to_vec();
    let mut end = first.clone();
    end.push(if pattern.is_open() { ABOVE_ALL } else { 0 });
    (first, end)
}
