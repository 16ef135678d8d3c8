//! Index rows: writing them, and reading them back.

use super::database_file::{SqliteResult, signed, unsigned};
use super::log::text;
use super::write_connection::{CachedTouch, WriteConnection, erased};
use crate::address::Space;
use crate::batch::WriteOutcome;
use crate::clock::Millis;
use crate::directory::{IndexRow, RowState, TrackRequest};
use crate::driver::state::rows::touched;
use crate::identity::{IdentityRecord, SessionIdentity};
use crate::json::Json;
use crate::{Error, Result};
use rusqlite::{Params, Row};
use serde::de::DeserializeOwned;

/// What `read_row` reads, in its order. The log of items says what the storage holds.
pub const COLUMNS: &str = "i.ordinal, i.id, i.tenant, i.agent_name, i.chat_name, i.user_id, i.group_name, i.scope,
    i.created_at, i.last_activity_at, i.placement, i.created_by, i.team, i.labels, i.touches, l.generation,
    (SELECT max(seq) FROM entry WHERE log = l.id)";

/// The way from a row to its log of items.
pub const ITEMS_LOG: &str = "LEFT JOIN space s ON s.tenant = i.tenant AND s.path = i.storage_key
    LEFT JOIN log l ON l.space = s.id AND l.name = 'items'";

/// A row from `COLUMNS`.
pub fn read_row(row: &Row<'_>) -> SqliteResult<IndexRow> {
    let ordinal = unsigned(row.get(0)?);
    let generation: Option<i64> = row.get(15)?;
    let items = row.get::<_, Option<i64>>(16)?.map_or(0, unsigned);
    let is_cleared = generation.is_some() && items == 0;
    Ok(IndexRow {
        id: row.get(1)?,
        ordinal,
        tenant: row.get(2)?,
        identity: read_identity(row, ordinal)?,
        state: if is_cleared {
            RowState::Cleared
        } else {
            RowState::Live
        },
        generation: generation.map_or(0, unsigned),
        items,
        created_at: row.get(8)?,
        last_activity_at: row.get(9)?,
        placement: parsed(&text(row, 10)?, ordinal)?,
        created_by: row.get(11)?,
        team: row.get(12)?,
        labels: parsed(&text(row, 13)?, ordinal)?,
        touches: parsed(&text(row, 14)?, ordinal)?,
    })
}

fn read_identity(row: &Row<'_>, ordinal: u64) -> SqliteResult<SessionIdentity> {
    let stored = IdentityRecord {
        agent_name: row.get(3)?,
        chat_name: row.get(4)?,
        user_id: row.get(5)?,
        group: row.get(6)?,
        scope: row.get(7)?,
        ..IdentityRecord::default()
    };
    Ok(SessionIdentity::try_from(stored).map_err(|error| damaged(ordinal, &error))?)
}

fn parsed<T: DeserializeOwned>(json: &Json, ordinal: u64) -> Result<T> {
    json.to().map_err(|error| damaged(ordinal, &error))
}

fn damaged(ordinal: u64, error: &Error) -> Error {
    Error::corrupt(format!("the index row {ordinal}"), error)
}

impl WriteConnection {
    pub(super) fn track(
        &mut self,
        track: &TrackRequest,
        now: Millis,
    ) -> SqliteResult<WriteOutcome> {
        let space = track.space();
        let known = self.space(&space)?.and_then(|known| known.touch.as_ref());
        if let Some(touch) = known.filter(|touch| touch.covers(track, now)) {
            let id = touch.id.clone();
            return Ok(WriteOutcome::Tracked { is_new: false, id });
        }
        let before = self.row_of(&space)?;
        let ordinal = match &before {
            Some(row) => row.ordinal,
            None => self.next_number(),
        };
        let row = touched(before.as_ref(), track, ordinal, now)?;
        match &before {
            None => {
                self.insert_row(&row)?;
                self.forget(&space);
            }
            Some(before) if before.touches != row.touches => {
                self.update_touches(&row)?;
                if before
                    .touches
                    .iter()
                    .all(|touch| touch.agent != track.agent)
                {
                    self.add_lookups(&row)?;
                }
            }
            Some(_) => {}
        }
        let touches = row.touches.iter();
        let at = touches.filter(|touch| touch.agent == track.agent);
        let at = at.map(|touch| touch.last_at).max().unwrap_or(now);
        if let Some(known) = self.space(&space)? {
            known.touch = Some(CachedTouch {
                id: row.id.clone(),
                placement: row.placement,
                agent: track.agent.clone(),
                at,
            });
        }
        Ok(WriteOutcome::tracked(row.id, before.is_none()))
    }

    pub(super) fn untrack(&mut self, tenant: &str, id: &str) -> SqliteResult<WriteOutcome> {
        let Some(row) = self.row("i.id = ?1 AND i.tenant = ?2", (id, tenant))? else {
            return Ok(erased(0));
        };
        self.delete_row(&row)?;
        Ok(erased(1))
    }

    pub(super) fn mirror_row(&mut self, row: &IndexRow) -> SqliteResult<WriteOutcome> {
        self.skip_numbers_to(row.ordinal);
        let space = row.space();
        let twin = self.row_of(&space)?;
        let holder = self.row("i.ordinal = ?1", [signed(row.ordinal)])?;
        let is_taken = holder.is_some_and(|holder| !holder.is_twin_of(row));
        let ordinal = match &twin {
            _ if !is_taken => row.ordinal,
            Some(twin) => twin.ordinal,
            None => self.next_number(),
        };
        if let Some(twin) = &twin {
            self.delete_row(twin)?;
        }
        self.insert_row(&IndexRow {
            ordinal,
            ..row.clone()
        })?;
        self.forget(&space);
        Ok(WriteOutcome::Done)
    }

    pub(super) fn row_of(&self, space: &Space) -> SqliteResult<Option<IndexRow>> {
        let key = (&space.tenant, &space.path);
        self.row("i.tenant = ?1 AND i.storage_key = ?2", key)
    }

    fn row(&self, condition: &'static str, values: impl Params) -> SqliteResult<Option<IndexRow>> {
        let sql = format!("SELECT {COLUMNS} FROM identity i {ITEMS_LOG} WHERE {condition}");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(values)?;
        rows.next()?.map(read_row).transpose()
    }

    fn insert_row(&self, row: &IndexRow) -> SqliteResult<()> {
        let sql = "INSERT INTO identity (ordinal, id, tenant, storage_key, key, agent_name, chat_name, user_id, group_name,
            scope, created_at, last_activity_at, placement, created_by, team, labels, touches)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
        let identity = &row.identity;
        let placement = Json::of(&row.placement)?;
        let labels = Json::of(&row.labels)?;
        let touches = Json::of(&row.touches)?;
        let values = rusqlite::params![
            signed(row.ordinal),
            row.id,
            row.tenant,
            identity.storage_key(),
            identity.key(),
            identity.agent_name(),
            identity.chat_name(),
            identity.user_id(),
            identity.group(),
            identity.scope(),
            row.created_at,
            row.last_activity_at,
            placement.as_str(),
            row.created_by,
            row.team,
            labels.as_str(),
            touches.as_str(),
        ];
        self.run(sql, values)?;
        self.add_lookups(row)
    }

    fn update_touches(&self, row: &IndexRow) -> SqliteResult<()> {
        let touches = Json::of(&row.touches)?;
        let sql = "UPDATE identity SET touches = ?2 WHERE ordinal = ?1";
        self.run(sql, (signed(row.ordinal), touches.as_str()))?;
        Ok(())
    }

    fn add_lookups(&self, row: &IndexRow) -> SqliteResult<()> {
        let sql =
            "INSERT INTO touch (tenant, agent, ordinal) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        for touch in &row.touches {
            self.run(sql, (&row.tenant, &touch.agent, signed(row.ordinal)))?;
        }
        Ok(())
    }

    fn delete_row(&mut self, row: &IndexRow) -> SqliteResult<()> {
        let ordinal = signed(row.ordinal);
        let sql = "DELETE FROM touch WHERE tenant = ?1 AND agent = ?2 AND ordinal = ?3";
        for touch in &row.touches {
            self.run(sql, (&row.tenant, &touch.agent, ordinal))?;
        }
        self.run("DELETE FROM identity WHERE ordinal = ?1", [ordinal])?;
        self.forget(&row.space());
        Ok(())
    }
}
