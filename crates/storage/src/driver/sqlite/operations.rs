//! Operations on values: what the operation must see is loaded, what it changes is written.

use super::database_file::{SqliteResult, signed};
use super::log::text;
use super::value::{ValueRow, ValueSlot, ValueStamp};
use super::write_connection::WriteConnection;
use crate::address::ValueKey;
use crate::batch::WriteOutcome;
use crate::clock::Millis;
use crate::json::Json;
use crate::operation::{self, ListWindow, Operation, OperationResult};

impl WriteConnection {
    pub(super) fn operate(
        &mut self,
        key: &ValueKey,
        op: &Operation,
        life: Option<Millis>,
        now: Millis,
    ) -> SqliteResult<WriteOutcome> {
        let version = self.next_number();
        if let Operation::Set(_) = op {
            let OperationResult { value, output } = op.apply(&key.name, None, version)?;
            let stamp = ValueStamp {
                version,
                expires_at: operation::end_of_life(op, None, now, life),
            };
            if let Some(value) = &value
                && self.put_new(key, value, stamp)?
            {
                return Ok(WriteOutcome::applied(output, Some(version)));
            }
        }
        let space = self.space(&key.space)?.map(|known| known.id);
        let is_blind = matches!(op, Operation::Set(_) | Operation::Del);
        let before = match space {
            Some(_) if is_blind => self.stored_head(key)?,
            Some(_) => self.stored(key)?,
            None => None,
        };
        let live = before.clone().filter(|stored| stored.is_live(now));
        let end = live.as_ref().map(|stored| stored.expires_at);
        let expires_at = operation::end_of_life(op, end, now, life);
        let version = match (op, &live) {
            (Operation::Renew { .. }, Some(stored)) => stored.version,
            _ => version,
        };
        let stamp = ValueStamp {
            version,
            expires_at,
        };
        if let (Some(list), Some(space), true) = (&live, space, op.is_list_op())
            && list.body.is_none()
        {
            let (name, before) = (key.name.as_str(), live.clone());
            let place = ValueSlot {
                space,
                name,
                before,
            };
            return self.operate_on_list(&place, list, op, stamp);
        }
        let current = match (&live, space) {
            (Some(stored), Some(space)) if !is_blind => {
                Some(stored.whole(&self.connection, space, &key.name)?)
            }
            _ => None,
        };
        let OperationResult { value, output } = op.apply(&key.name, current, version)?;
        let version = value.as_ref().map(|_| version);
        self.put(key, before, value.as_ref(), stamp)?;
        Ok(WriteOutcome::Applied { output, version })
    }

    /// A list operation that sees no more of the list than it must.
    fn operate_on_list(
        &self,
        place: &ValueSlot<'_>,
        list: &ValueRow,
        op: &Operation,
        stamp: ValueStamp,
    ) -> SqliteResult<WriteOutcome> {
        let (space, name, length) = (place.space, place.name, list.length);
        let within = |from: u64| list.items(&self.connection, space, name, from..length);
        let seen = match op.window() {
            ListWindow::Nothing => Vec::new(),
            ListWindow::All => within(0)?,
            ListWindow::Last(count) => within(length.saturating_sub(count))?,
            ListWindow::Alike(fingerprints) => self.alike(space, name, &fingerprints)?,
        };
        let (change, output) = op.apply_to_list(name, length, seen)?;
        self.erase_items(place, change.keep)?;
        let mut length = change.keep;
        for (position, item) in &change.put {
            self.put_item(place, *position, item)?;
            length = length.max(position + 1);
        }
        let sql = "UPDATE value SET length = ?3, version = ?4, expires_at = ?5 WHERE space = ?1 AND name = ?2";
        let version = signed(stamp.version);
        self.run(
            sql,
            (space, name, signed(length), version, stamp.expires_at),
        )?;
        Ok(WriteOutcome::applied(output, Some(stamp.version)))
    }

    fn alike(&self, space: i64, name: &str, fingerprints: &[i64]) -> rusqlite::Result<Vec<Json>> {
        let sql = "SELECT body FROM item INDEXED BY item_fingerprint WHERE space = ?1 AND name = ?2 AND fingerprint = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut found = Vec::new();
        for fingerprint in fingerprints {
            let items = statement.query_map((space, name, fingerprint), |row| text(row, 0))?;
            for item in items {
                found.push(item?);
            }
        }
        Ok(found)
    }
}
