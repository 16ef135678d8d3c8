//! Values: one row each; a list has a row per item, so that its ends cost the same at any length.

use super::ledger::{Ledger, erased};
use super::log::text;
use super::place::{Done, signed, unsigned};
use crate::Error;
use crate::address::{Key, Space};
use crate::batch::{Entry, Outcome};
use crate::clock::Millis;
use crate::driver::Part;
use crate::json::{Json, Value};
use crate::pattern::Pattern;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};

/// A value's row.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The text of anything but a list.
    pub body: Option<Json>,
    /// The number of items, 1 for anything but a list.
    pub length: u64,
    /// Given by the store at each change.
    pub version: u64,
    /// When it ends.
    pub expires_at: Option<Millis>,
}

impl Stored {
    /// From the columns body, length, version and expires_at, which begin at `first`.
    pub fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let is_list = row.get_ref(first)?.data_type() == Type::Null;
        Ok(Self {
            body: if is_list {
                None
            } else {
                Some(text(row, first)?)
            },
            length: unsigned(row.get(first + 1)?),
            version: unsigned(row.get(first + 2)?),
            expires_at: row.get(first + 3)?,
        })
    }

    pub(super) fn is_live(&self, now: Millis) -> bool {
        self.expires_at.is_none_or(|end| end > now)
    }

    /// The value with all its items.
    pub fn whole(&self, connection: &Connection, space: i64, name: &str) -> Done<Value> {
        match &self.body {
            Some(body) => Ok(Value::Plain(body.clone())),
            None => Ok(Value::List(self.items(
                connection,
                (space, name),
                0..self.length,
            )?)),
        }
    }

    /// The items at these positions; one that is missing is damage.
    pub(super) fn items(
        &self,
        connection: &Connection,
        (space, name): (i64, &str),
        range: std::ops::Range<u64>,
    ) -> Done<Vec<Json>> {
        let sql = "SELECT body FROM item WHERE space = ?1 AND name = ?2 AND pos >= ?3 AND pos < ?4 ORDER BY pos";
        let mut statement = connection.prepare_cached(sql)?;
        let which = (space, name, signed(range.start), signed(range.end));
        let items = statement.query_map(which, |row| text(row, 0))?;
        let items: Vec<Json> = items.collect::<rusqlite::Result<_>>()?;
        if items.len() as u64 != range.end - range.start {
            let reason = format!(
                "has {} of the items {} to {}",
                items.len(),
                range.start,
                range.end
            );
            return Err(
                Error::corrupt(format!("the list \"{name}\" of space {space}"), reason).into(),
            );
        }
        Ok(items)
    }

    /// The value as readers get it.
    pub fn entry(
        &self,
        connection: &Connection,
        (space, name): (i64, &str),
        part: Part,
    ) -> Done<Entry> {
        let (kind, value) = match &self.body {
            Some(body) if part == Part::Nothing => (body.kind(), Json::stored("null")),
            Some(body) => (body.kind(), body.clone()),
            None if part == Part::Nothing => ("list", Json::stored("null")),
            None => {
                let items = self.items(connection, (space, name), part.of(self.length))?;
                ("list", Value::List(items).json())
            }
        };
        Ok(Entry {
            kind,
            length: self.length,
            value,
            version: self.version,
            expires_at: self.expires_at,
            stale_possible: false,
        })
    }
}

/// Where a value is, and what is there, expired or not.
pub(super) struct Slot<'a> {
    /// The space's row.
    pub space: i64,
    /// The value's name.
    pub name: &'a str,
    /// What is there now.
    pub before: Option<Stored>,
}

/// When a value was changed and when it ends.
#[derive(Clone, Copy)]
pub(super) struct Stamp {
    /// Given by the store.
    pub version: u64,
    /// The end of its life.
    pub expires_at: Option<Millis>,
}

impl Ledger {
    /// A value that has not expired, and its space.
    pub(super) fn live(&mut self, key: &Key, now: Millis) -> Done<Option<(i64, Stored)>> {
        let Some(space) = self.space(&key.space)?.map(|known| known.id) else {
            return Ok(None);
        };
        let stored = self.stored(space, &key.name)?;
        Ok(stored
            .filter(|stored| stored.is_live(now))
            .map(|stored| (space, stored)))
    }

    pub(super) fn stored(&self, space: i64, name: &str) -> rusqlite::Result<Option<Stored>> {
        let sql =
            "SELECT body, length, version, expires_at FROM value WHERE space = ?1 AND name = ?2";
        self.connection
            .prepare_cached(sql)?
            .query_row((space, name), |row| Stored::from_row(row, 0))
            .optional()
    }

    /// Replaces what is there, expired or not, by this value.
    pub(super) fn put(
        &mut self,
        key: &Key,
        before: Option<Stored>,
        value: Option<&Value>,
        stamp: Stamp,
    ) -> Done<()> {
        let space = match value {
            Some(_) => self.space_or_new(&key.space)?,
            None => match self.space(&key.space)? {
                Some(known) => known.id,
                None => return Ok(()),
            },
        };
        let place = Slot {
            space,
            name: &key.name,
            before,
        };
        match value {
            Some(value) => self.replace(&place, value, stamp)?,
            None if place.before.is_some() => {
                self.erase_value(&place)?;
                self.forget_empty(&key.space, space)?;
            }
            None => {}
        }
        Ok(())
    }

    fn replace(&self, place: &Slot<'_>, value: &Value, stamp: Stamp) -> rusqlite::Result<()> {
        self.erase_items(place, 0)?;
        let (body, length) = match value {
            Value::Plain(json) => (Some(json.as_str()), 1),
            Value::List(items) => (None, items.len()),
        };
        let sql = "INSERT INTO value (space, name, body, length, version, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (space, name) DO UPDATE SET body = ?3, length = ?4, version = ?5, expires_at = ?6";
        let values = (
            place.space,
            place.name,
            body,
            signed(length as u64),
            signed(stamp.version),
            stamp.expires_at,
        );
        self.run(sql, values)?;
        if let Value::List(items) = value {
            for (position, item) in (0..).zip(items) {
                self.put_item(place, position, item)?;
            }
        }
        Ok(())
    }

    fn erase_value(&self, place: &Slot<'_>) -> rusqlite::Result<()> {
        self.erase_items(place, 0)?;
        let sql = "DELETE FROM value WHERE space = ?1 AND name = ?2";
        self.run(sql, (place.space, place.name))?;
        Ok(())
    }

    /// Cuts a list to this length.
    pub(super) fn erase_items(&self, place: &Slot<'_>, keep: u64) -> rusqlite::Result<()> {
        let is_longer = |stored: &Stored| stored.body.is_none() && stored.length > keep;
        if place.before.as_ref().is_some_and(is_longer) {
            let sql = "DELETE FROM item WHERE space = ?1 AND name = ?2 AND pos >= ?3";
            self.run(sql, (place.space, place.name, signed(keep)))?;
        }
        Ok(())
    }

    pub(super) fn put_item(
        &self,
        place: &Slot<'_>,
        position: u64,
        item: &Json,
    ) -> rusqlite::Result<()> {
        let sql =
            "INSERT INTO item (space, name, pos, fingerprint, body) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (space, name, pos) DO UPDATE SET fingerprint = ?4, body = ?5";
        let (at, fingerprint) = (signed(position), item.fingerprint());
        self.run(
            sql,
            (place.space, place.name, at, fingerprint, item.as_str()),
        )?;
        Ok(())
    }

    pub(super) fn wipe(&mut self, space: &Space, pattern: &Pattern, now: Millis) -> Done<Outcome> {
        let Some(id) = self.space(space)?.map(|known| known.id) else {
            return Ok(erased(0));
        };
        let doomed = self.matching(id, pattern)?;
        let live = doomed
            .iter()
            .filter(|(_, stored)| stored.is_live(now))
            .count();
        for (name, stored) in doomed {
            self.erase_value(&Slot {
                space: id,
                name: &name,
                before: Some(stored),
            })?;
        }
        self.forget_empty(space, id)?;
        Ok(erased(live))
    }

    fn matching(&self, space: i64, pattern: &Pattern) -> rusqlite::Result<Vec<(String, Stored)>> {
        let sql = "SELECT name, substr(body, 1, 1), length, version, expires_at FROM value
            WHERE space = ?1 AND name >= ?2 ORDER BY name";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((space, pattern.prefix()))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            if !name.starts_with(pattern.prefix()) {
                break;
            }
            if pattern.matches(&name) {
                found.push((name, Stored::from_row(row, 1)?));
            }
        }
        Ok(found)
    }

    /// Erases expired values, and says how many.
    pub(super) fn sweep(&mut self, limit: usize) -> Done<Outcome> {
        let now = self.clock.now();
        let sql = "SELECT v.space, v.name, substr(v.body, 1, 1), v.length, v.version, v.expires_at, s.tenant, s.path
            FROM value v JOIN space s ON s.id = v.space WHERE v.expires_at <= ?1 LIMIT ?2";
        let mut dead = Vec::new();
        {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query((now, signed(limit as u64)))?;
            while let Some(row) = rows.next()? {
                let space = Space {
                    tenant: row.get(6)?,
                    path: row.get(7)?,
                };
                let name: String = row.get(1)?;
                dead.push((space.key(name), Stored::from_row(row, 2)?));
            }
        }
        let count = dead.len();
        let stamp = Stamp {
            version: 0,
            expires_at: None,
        };
        for (key, stored) in dead {
            self.put(&key, Some(stored), None, stamp)?;
        }
        Ok(erased(count))
    }

    pub(super) fn mirror_value(&mut self, key: &Key, entry: Option<&Entry>) -> Done<Outcome> {
        let version = entry.map_or(0, |entry| entry.version);
        self.pass(version);
        let space = self.space(&key.space)?.map(|known| known.id);
        let before = match space {
            Some(space) => self.stored(space, &key.name)?,
            None => None,
        };
        let value = entry.map(|entry| Value::from(entry.value.clone()));
        let stamp = Stamp {
            version,
            expires_at: entry.and_then(|entry| entry.expires_at),
        };
        self.put(key, before, value.as_ref(), stamp)?;
        Ok(Outcome::Done)
    }
}
