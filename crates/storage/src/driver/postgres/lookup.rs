//! Reading values.

use super::locks;
use super::log::{signed, text, unsigned};
use super::sql_value::{SqlValue, bind};
use super::store::PostgresStore;
use super::value::bounds;
use crate::Result;
use crate::address::{Space, ValueKey};
use crate::batch::ValueEntry;
use crate::driver::value_scan::ScanPage;
use crate::driver::{Direction, ValuePart, ValueScan};
use crate::json::Json;
use std::ops::Range;
use tokio_postgres::Row;

/// Values of a space by name, from $2 to below $3, with the items from … to … ($4, $5, negative ones from the end) of
/// a list. $6 says how many characters of a text are wanted, all where it is absent; the first one tells the type.
macro_rules! select {
    ($from:expr, $where:expr, $order:literal) => {
        concat!("SELECT v.name, CASE WHEN $6::bigint IS NULL THEN v.body ELSE left(v.body, $6::int) END, v.length, v.version, \
     v.expires_at, l.items FROM ", $from, " v LEFT JOIN LATERAL (SELECT array_agg(body ORDER BY pos) AS items FROM item \
     WHERE $6::bigint IS NULL AND list_id = v.id AND v.body IS NULL \
     AND pos >= CASE WHEN $4::bigint < 0 THEN v.length + $4 ELSE $4 END \
     AND pos <= CASE WHEN $5::bigint < 0 THEN v.length + $5 ELSE $5 END) l ON true \
     WHERE ", $where, " ORDER BY v.name ", $order, " LIMIT $8")
    };
}

macro_rules! wanted {
    () => {
        "v.space = $1 AND v.name >= $2 AND v.name < $3 AND (v.expires_at IS NULL OR v.expires_at > \
     floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + $7)"
    };
}

/// The same, and no value behind those that have $9 bytes. Sizes are known without reading the texts.
macro_rules! bounded {
    ($order:literal) => {
        select!(
            concat!("(SELECT v.*, sum(CASE WHEN v.body IS NULL THEN (SELECT sum(octet_length(i.body)) FROM item i \
     WHERE i.list_id = v.id) ELSE octet_length(v.body) END) OVER (ORDER BY v.name ", $order, " ROWS BETWEEN \
     UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before FROM value v WHERE ", wanted!(), " ORDER BY v.name ", $order,
     " LIMIT $8)"),
            "coalesce(v.bytes_before, 0) < $9::bigint",
            $order
        )
    };
}

const FORWARD: &str = select!("value", wanted!(), "ASC");
const BACKWARD: &str = select!("value", wanted!(), "DESC");
const BOUNDED_FORWARD: &str = bounded!("ASC");
const BOUNDED_BACKWARD: &str = bounded!("DESC");

/// Rows of one round trip where a pattern may refuse some of them.
const STEP: usize = 256;

pub(super) async fn get(
    store: &PostgresStore,
    key: &ValueKey,
    part: ValuePart,
) -> Result<Option<ValueEntry>> {
    let names = key.name.clone().into_bytes()..behind(&key.name);
    let which = ValueRange {
        names,
        part,
        direction: Direction::Forward,
        bytes: usize::MAX,
    };
    let rows = store.values(&key.space, which, 1).await?;
    Ok(rows.first().map(|row| entry(row, part)))
}

pub(super) async fn scan(
    store: &PostgresStore,
    space: &Space,
    scan: &ValueScan,
) -> Result<Vec<(String, ValueEntry)>> {
    let (from, end) = bounds(&scan.pattern);
    let mut names = from..end;
    let go_on = |names: &mut Range<Vec<u8>>, after: &str| match scan.direction {
        Direction::Forward => names.start = behind(after).max(std::mem::take(&mut names.start)),
        Direction::Backward => {
            let after = after.as_bytes().to_vec();
            names.end = after.min(std::mem::take(&mut names.end));
        }
    };
    if let Some(after) = &scan.after {
        go_on(&mut names, after);
    }
    let mut page = ScanPage::of(scan);
    while !page.is_full() && names.start < names.end {
        let step = STEP.min(scan.limit);
        let which = ValueRange {
            names: names.clone(),
            part: scan.part,
            direction: scan.direction,
            bytes: page.bytes_left(),
        };
        let is_bounded = which.is_bounded();
        let rows = store.values(space, which, step).await?;
        // Fewer rows may be all that the bytes allow; there is at least one then.
        let is_last = rows.is_empty() || !is_bounded && rows.len() < step;
        for row in rows {
            let name = text(row.get(0), || format!("a value's name in {space}"))?;
            go_on(&mut names, &name);
            if !page.is_full() && scan.pattern.matches(&name) {
                page.add(name, entry(&row, scan.part));
            }
        }
        if is_last {
            break;
        }
    }
    Ok(page.found)
}

/// The next name in byte order.
fn behind(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// Which values, and in which order.
struct ValueRange {
    names: Range<Vec<u8>>,
    part: ValuePart,
    direction: Direction,
    /// No more once the values have so many bytes.
    bytes: usize,
}

impl ValueRange {
    /// Whether bytes are counted: the beginnings of texts are short enough.
    fn is_bounded(&self) -> bool {
        self.bytes < usize::MAX && self.part.prefix().is_none()
    }
}

impl PostgresStore {
    async fn values(&self, space: &Space, which: ValueRange, limit: usize) -> Result<Vec<Row>> {
        let is_bounded = which.is_bounded();
        let ValueRange {
            names,
            part,
            direction,
            bytes,
        } = which;
        let (first, last) = match part {
            ValuePart::Items(first, last) => (first, last),
            ValuePart::Whole | ValuePart::Dates | ValuePart::Nothing => (0, -1),
        };
        let mut values = bind![
            locks::space(space),
            names.start,
            names.end,
            first,
            last,
            part.prefix(),
            self.options.clock.offset(),
            signed(limit as u64),
        ];
        if is_bounded {
            values.push(SqlValue::of(signed(bytes as u64)));
        }
        let select = match (direction, is_bounded) {
            (Direction::Forward, false) => FORWARD,
            (Direction::Backward, false) => BACKWARD,
            (Direction::Forward, true) => BOUNDED_FORWARD,
            (Direction::Backward, true) => BOUNDED_BACKWARD,
        };
        self.rows(select, &values).await
    }
}

fn entry(row: &Row, part: ValuePart) -> ValueEntry {
    let (body, items): (Option<String>, Option<Vec<String>>) = (row.get(1), row.get(5));
    let (kind, value) = match body.map(Json::stored) {
        Some(body) => (body.kind(), part.of_text(&body)),
        None => {
            let items = items.unwrap_or_default().into_iter();
            ("list", part.of_items(items.map(Json::stored).collect()))
        }
    };
    ValueEntry {
        kind,
        length: unsigned(row.get(2)),
        value,
        version: unsigned(row.get(3)),
        expires_at: row.get(4),
        stale_possible: false,
    }
}
