//! Values: what operations do to them. Their meaning is `Op`'s; here is what must be loaded and what is stored.

use super::log::{conflict, one, signed, text, unsigned};
use super::place;
use super::transaction::{Call, Stop, Transaction, bind};
use crate::address::{Key, Space};
use crate::batch::{Entry, Outcome};
use crate::clock::Millis;
use crate::driver::state;
use crate::json::{Json, Value};
use crate::op::{self, ListChange, Op, Window};
use crate::pattern::Pattern;
use crate::{Error, Result};
use tokio_postgres::Row;

/// Above every byte of UTF-8.
const ABOVE_ALL: u8 = 0xff;

/// A value as loaded for an operation.
struct Loaded {
    now: Millis,
    next: u64,
    id: Option<i64>,
    body: Option<String>,
    length: u64,
    version: u64,
    expires_at: Option<Millis>,
    items: Vec<Json>,
}

impl Loaded {
    fn of(row: &Row) -> Self {
        let items: Option<Vec<String>> = row.get("o_items");
        Self {
            now: row.get("o_now"),
            next: unsigned(row.get("o_next")),
            id: row.get("o_id"),
            body: row.get("o_body"),
            length: unsigned(row.get::<_, Option<i64>>("o_length").unwrap_or(0)),
            version: unsigned(row.get::<_, Option<i64>>("o_version").unwrap_or(0)),
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
pub(super) fn check_version(key: &Key, version: Option<u64>) -> Call {
    let values = bind![
        place::space(&key.space),
        key.name.clone().into_bytes(),
        version.map(signed),
    ];
    let key = key.clone();
    Call::new("SELECT check_version($1, $2, $3)", values)
        .refused(move |found| conflict(state::expect(&key, version, found.parse().ok())))
}

/// The condition that a lease is held under this epoch.
pub(super) fn check_lease(key: &Key, epoch: u64) -> Call {
    let values = bind![
        place::space(&key.space),
        key.name.clone().into_bytes(),
        signed(epoch),
    ];
    let lease = key.to_string();
    Call::new("SELECT check_lease($1, $2, $3)", values)
        .refused(move |_| Error::Fenced { lease, epoch })
}

/// Does one operation: loads what it must see, queues what it stores.
pub(super) async fn apply(
    transaction: &mut Transaction,
    key: &Key,
    op: &Op,
    life: Option<Millis>,
) -> Result<(), Stop> {
    let rows = transaction.ask(load(key, op)).await?;
    let loaded = Loaded::of(one(&rows)?);
    let existing = loaded.is_live().then_some(loaded.expires_at);
    let expires_at = op::end_of_life(op, existing, loaded.now, life);
    let version = match op {
        Op::Renew { .. } if loaded.is_live() => loaded.version,
        _ => loaded.next,
    };
    let end = End {
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
    transaction.done(Outcome::Applied {
        output,
        version: is_kept.then_some(version),
    });
    Ok(())
}

fn works_on_items(op: &Op, loaded: &Loaded) -> bool {
    op.is_list_op() && loaded.is_live() && loaded.body.is_none()
}

fn current(loaded: Loaded) -> Option<Value> {
    if !loaded.is_live() {
        return None;
    }
    Some(match loaded.body {
        Some(body) => Value::Plain(Json::stored(body)),
        None => Value::List(loaded.items),
    })
}

fn load(key: &Key, op: &Op) -> Call {
    let mut alike: Option<Vec<i64>> = None;
    let last = match op {
        // These do not look at the items of a list.
        Op::Set(_) | Op::Del | Op::Incr(_) => 0,
        list if list.is_list_op() => match list.window() {
            Window::Nothing => 0,
            Window::Last(count) => signed(count),
            Window::All => i64::MAX,
            Window::Alike(prints) => {
                alike = Some(prints);
                0
            }
        },
        _ => i64::MAX,
    };
    let values = bind![
        place::space(&key.space),
        key.name.clone().into_bytes(),
        last,
        alike,
    ];
    Call::new("SELECT * FROM load_value($1, $2, $3, $4)", values)
}

/// How a stored value ends.
#[derive(Clone, Copy)]
struct End {
    version: u64,
    expires_at: Option<Millis>,
}

fn store(key: &Key, value: Value, end: End) -> Call {
    let (body, items, epoch) = match value {
        Value::Plain(json) => {
            let epoch = op::epoch_of(&Value::Plain(json.clone())).map(signed);
            (Some(json.as_str().to_owned()), Vec::new(), epoch)
        }
        Value::List(items) => (None, items, None),
    };
    let (texts, prints) = rows_of(&items);
    let values = bind![
        place::space(&key.space),
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
    Call::new(
        "SELECT store_value($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        values,
    )
}

fn rows_of<'a>(items: impl IntoIterator<Item = &'a Json>) -> (Vec<String>, Vec<i64>) {
    items
        .into_iter()
        .map(|item| (item.as_str().to_owned(), item.fingerprint()))
        .unzip()
}

fn change_list(id: i64, change: ListChange, end: End) -> Call {
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
    Call::new("SELECT change_list($1, $2, $3, $4, $5, $6, $7)", values)
}

fn delete(key: &Key) -> Call {
    let values = bind![place::space(&key.space), key.name.clone().into_bytes()];
    Call::new("SELECT drop_value($1, $2)", values)
}

/// Makes a value equal to another store's.
pub(super) fn mirror(key: &Key, entry: Option<&Entry>) -> Call {
    let call = match entry {
        Some(entry) => store(
            key,
            entry.value.clone().into(),
            End {
                version: entry.version,
                expires_at: entry.expires_at,
            },
        ),
        None => delete(key),
    };
    call.reading(|_| Ok(Outcome::Done))
}

/// Deletes the values whose name matches.
pub(super) async fn wipe(
    transaction: &mut Transaction,
    space: &Space,
    pattern: &Pattern,
) -> Result<(), Stop> {
    let (first, end) = bounds(pattern);
    let sql = "SELECT name FROM value WHERE space = $1 AND name >= $2 AND name < $3";
    let values = bind![place::space(space), first, end];
    let rows = transaction.ask(Call::new(sql, values)).await?;
    let mut names: Vec<Vec<u8>> = Vec::with_capacity(rows.len());
    for row in &rows {
        let name = text(row.get(0), || format!("a value's name in {space}"))?;
        if pattern.matches(&name) {
            names.push(name.into_bytes());
        }
    }
    let values = bind![place::space(space), names];
    transaction.queue(
        Call::new("SELECT wipe($1, $2)", values)
            .reading(|rows| Ok(Outcome::Erased(unsigned(one(rows)?.get(0))))),
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
