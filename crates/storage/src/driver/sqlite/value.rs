//! Values: one row each, and one for a long body; a list has a row per item, so that its ends cost the same at any length.

use super::database_file::{SqliteResult, signed, unsigned};
use super::log::{body, text};
use super::value_body::{INLINE, head, whole_body};
use super::write_connection::{WriteConnection, erased};
use crate::Error;
use crate::address::{Space, ValueKey};
use crate::batch::{ValueEntry, WriteOutcome};
use crate::clock::Millis;
use crate::driver::ValuePart;
use crate::json::{Json, StoredValue};
use crate::pattern::Pattern;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};

#[derive(Clone, Debug)]
pub struct ValueRow {
    /// The text of anything but a list.
    pub body: Option<Json>,
    /// The row of a long body, of which no more than the beginning may have been read.
    pub body_id: Option<i64>,
    /// The number of items, 1 for anything but a list.
    pub length: u64,
    /// Given by the store at each change.
    pub version: u64,
    pub expires_at: Option<Millis>,
}

impl ValueRow {
    /// From the columns body, body_id, length, version and expires_at, which begin at `first`.
    pub fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let body_id: Option<i64> = row.get(first + 1)?;
        let is_list = body_id.is_none() && row.get_ref(first)?.data_type() == Type::Null;
        Ok(Self {
            body: if is_list {
                None
            } else {
                Some(body(row, first)?)
            },
            body_id,
            length: unsigned(row.get(first + 2)?),
            version: unsigned(row.get(first + 3)?),
            expires_at: row.get(first + 4)?,
        })
    }

    /// One whose body is not long.
    fn plain(json: &Json, stamp: ValueStamp) -> Self {
        Self {
            body: Some(json.clone()),
            body_id: None,
            length: 1,
            version: stamp.version,
            expires_at: stamp.expires_at,
        }
    }

    pub(super) fn is_live(&self, now: Millis) -> bool {
        self.expires_at.is_none_or(|end| end > now)
    }

    pub fn whole(
        &self,
        connection: &Connection,
        space: i64,
        name: &str,
    ) -> SqliteResult<StoredValue> {
        match &self.body {
            Some(body) => Ok(StoredValue::Plain(body.clone())),
            None => Ok(StoredValue::List(self.items(
                connection,
                space,
                name,
                0..self.length,
            )?)),
        }
    }

    /// The items at these positions; one that is missing is damage.
    pub(super) fn items(
        &self,
        connection: &Connection,
        space: i64,
        name: &str,
        range: std::ops::Range<u64>,
    ) -> SqliteResult<Vec<Json>> {
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

    pub fn entry(
        &self,
        connection: &Connection,
        space: i64,
        name: &str,
        part: ValuePart,
    ) -> SqliteResult<ValueEntry> {
        let (kind, value) = match &self.body {
            Some(body) => (body.kind(), part.of_text(body)),
            None if part.prefix().is_some() => ("list", Json::stored("null")),
            None => {
                let items = self.items(connection, space, name, part.of(self.length))?;
                ("list", part.of_items(items))
            }
        };
        Ok(ValueEntry {
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
pub(super) struct ValueSlot<'a> {
    /// The space's row.
    pub space: i64,
    pub name: &'a str,
    pub before: Option<ValueRow>,
}

/// When a value was changed and when it ends.
#[derive(Clone, Copy)]
pub(super) struct ValueStamp {
    /// Given by the store.
    pub version: u64,
    /// The end of its life.
    pub expires_at: Option<Millis>,
}

impl WriteConnection {
    /// A value that has not expired, and its space.
    pub(super) fn live(
        &mut self,
        key: &ValueKey,
        now: Millis,
    ) -> SqliteResult<Option<(i64, ValueRow)>> {
        let Some(space) = self.space(&key.space)?.map(|known| known.id) else {
            return Ok(None);
        };
        let stored = self.stored(key)?;
        Ok(stored
            .filter(|stored| stored.is_live(now))
            .map(|stored| (space, stored)))
    }

    /// What is stored under this name, expired or not.
    pub(super) fn stored(&mut self, key: &ValueKey) -> rusqlite::Result<Option<ValueRow>> {
        let sql = concat!(
            "SELECT ",
            whole_body!(),
            ", v.body_id, v.length, v.version, v.expires_at FROM value v WHERE v.space = ?1 AND v.name = ?2"
        );
        self.find(key, sql)
    }

    /// The same for who does not look inside: of a long body no more than its beginning.
    pub(super) fn stored_head(&mut self, key: &ValueKey) -> rusqlite::Result<Option<ValueRow>> {
        let sql = "SELECT head, body_id, length, version, expires_at FROM value WHERE space = ?1 AND name = ?2";
        self.find(key, sql)
    }

    fn find(&mut self, key: &ValueKey, sql: &'static str) -> rusqlite::Result<Option<ValueRow>> {
        let Some(known) = self.space(&key.space)? else {
            return Ok(None);
        };
        if let Some(remembered) = known.values.get(&key.name) {
            return Ok(remembered.clone());
        }
        let id = known.id;
        let stored = self
            .connection
            .prepare_cached(sql)?
            .query_row((id, &key.name), |row| ValueRow::from_row(row, 0))
            .optional()?;
        self.remember_value(key, stored.as_ref());
        Ok(stored)
    }

    /// Stores a small value where nothing is stored under its name yet; false where something is. New names need no look so.
    pub(super) fn put_new(
        &mut self,
        key: &ValueKey,
        value: &StoredValue,
        stamp: ValueStamp,
    ) -> SqliteResult<bool> {
        let StoredValue::Plain(json) = value else {
            return Ok(false);
        };
        if json.as_str().len() > INLINE || self.is_value_remembered(key) {
            return Ok(false);
        }
        let space = self.space_or_new(&key.space)?;
        let sql = "INSERT INTO value (space, name, head, length, version, expires_at) VALUES (?1, ?2, ?3, 1, ?4, ?5)
            ON CONFLICT DO NOTHING";
        let version = signed(stamp.version);
        let values = (space, &key.name, json.as_str(), version, stamp.expires_at);
        if self.run(sql, values)? == 0 {
            return Ok(false);
        }
        self.remember_value(key, Some(&ValueRow::plain(json, stamp)));
        Ok(true)
    }

    /// Replaces what is there, expired or not, by this value.
    pub(super) fn put(
        &mut self,
        key: &ValueKey,
        before: Option<ValueRow>,
        value: Option<&StoredValue>,
        stamp: ValueStamp,
    ) -> SqliteResult<()> {
        if value.is_none() && before.is_none() {
            return Ok(());
        }
        let space = self.space_or_new(&key.space)?;
        let place = ValueSlot {
            space,
            name: &key.name,
            before,
        };
        match value {
            Some(value) => {
                self.replace(&place, value, stamp)?;
                match value {
                    StoredValue::Plain(json) => {
                        self.remember_value(key, Some(&ValueRow::plain(json, stamp)));
                    }
                    StoredValue::List(_) => self.forget_value(key),
                }
            }
            None => {
                self.erase_value(&place)?;
                self.remember_value(key, None);
                self.forget_empty(&key.space, space)?;
            }
        }
        Ok(())
    }

    fn replace(
        &self,
        place: &ValueSlot<'_>,
        value: &StoredValue,
        stamp: ValueStamp,
    ) -> rusqlite::Result<()> {
        self.erase_items(place, 0)?;
        let (body, length) = match value {
            StoredValue::Plain(json) => (Some(json.as_str()), 1),
            StoredValue::List(items) => (None, items.len()),
        };
        let before = place.before.as_ref().and_then(|stored| stored.body_id);
        let body_id = self.put_body(before, body)?;
        let sql = "INSERT INTO value (space, name, head, length, version, expires_at, body_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (space, name) DO UPDATE SET head = ?3, length = ?4, version = ?5, expires_at = ?6, body_id = ?7";
        let values = (
            place.space,
            place.name,
            if body_id.is_some() {
                body.map(head)
            } else {
                body
            },
            signed(length as u64),
            signed(stamp.version),
            stamp.expires_at,
            body_id,
        );
        self.run(sql, values)?;
        if let StoredValue::List(items) = value {
            for (position, item) in (0..).zip(items) {
                self.put_item(place, position, item)?;
            }
        }
        Ok(())
    }

    fn erase_value(&self, place: &ValueSlot<'_>) -> rusqlite::Result<()> {
        self.erase_items(place, 0)?;
        if let Some(id) = place.before.as_ref().and_then(|stored| stored.body_id) {
            self.erase_body(id)?;
        }
        let sql = "DELETE FROM value WHERE space = ?1 AND name = ?2";
        self.run(sql, (place.space, place.name))?;
        Ok(())
    }

    /// Cuts a list to this length.
    pub(super) fn erase_items(&self, place: &ValueSlot<'_>, keep: u64) -> rusqlite::Result<()> {
        let is_longer = |stored: &ValueRow| stored.body.is_none() && stored.length > keep;
        if place.before.as_ref().is_some_and(is_longer) {
            let sql = "DELETE FROM item WHERE space = ?1 AND name = ?2 AND pos >= ?3";
            self.run(sql, (place.space, place.name, signed(keep)))?;
        }
        Ok(())
    }

    pub(super) fn put_item(
        &self,
        place: &ValueSlot<'_>,
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

    pub(super) fn wipe(
        &mut self,
        space: &Space,
        pattern: &Pattern,
        now: Millis,
    ) -> SqliteResult<WriteOutcome> {
        let Some(id) = self.space(space)?.map(|known| known.id) else {
            return Ok(erased(0));
        };
        let doomed = self.matching(id, pattern)?;
        let live = doomed
            .iter()
            .filter(|(_, stored)| stored.is_live(now))
            .count();
        for (name, stored) in doomed {
            self.erase_value(&ValueSlot {
                space: id,
                name: &name,
                before: Some(stored),
            })?;
        }
        if let Some(known) = self.space(space)? {
            known.values.clear();
        }
        self.forget_empty(space, id)?;
        Ok(erased(live))
    }

    fn matching(&self, space: i64, pattern: &Pattern) -> rusqlite::Result<Vec<(String, ValueRow)>> {
        let sql = "SELECT name, substr(head, 1, 1), body_id, length, version, expires_at FROM value
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
                found.push((name, ValueRow::from_row(row, 1)?));
            }
        }
        Ok(found)
    }

    pub(super) fn mirror_value(
        &mut self,
        key: &ValueKey,
        entry: Option<&ValueEntry>,
    ) -> SqliteResult<WriteOutcome> {
        let version = entry.map_or(0, |entry| entry.version);
        self.skip_numbers_to(version);
        let before = self.stored_head(key)?;
        let value = entry.map(|entry| StoredValue::from(entry.value.clone()));
        let stamp = ValueStamp {
            version,
            expires_at: entry.and_then(|entry| entry.expires_at),
        };
        self.put(key, before, value.as_ref(), stamp)?;
        Ok(WriteOutcome::Done)
    }
}
