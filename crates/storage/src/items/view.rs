//! The view of a log: its archive as it is, or as the newest overlay shows it, and what was added since.

use super::hidden::{EntryRange, HiddenRange, shown, visible, without};
use crate::address::{BLOBS, ITEMS, OVERLAYS, Space};
use crate::batch::{Head, LogEntry};
use crate::clock::Millis;
use crate::driver::{Driver, LogPage, LogRange, ValuePart};
use crate::json::Json;
use crate::{Error, Result};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Entries read from a store in one go.
pub(crate) const CHUNK: usize = 1_000;

/// What stands in the place of the archive's entries up to `to`. The archive itself is never changed by it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Overlay {
    /// The last sequence it covers; later entries follow as they are.
    pub(crate) to: u64,
    /// What is shown instead.
    pub(crate) parts: Vec<ViewPiece>,
    pub(crate) reason: String,
    /// The overlay that was shown before, for restoring it.
    pub(crate) previous: Option<u64>,
    /// What is left out otherwise than by truncation; nothing is said in those of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hidden: Option<Vec<HiddenRange>>,
}

impl Overlay {
    /// One that changes nothing.
    pub(crate) fn nothing() -> Self {
        Self {
            hidden: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// What it leaves out for good: in those of earlier versions, all that it does not show.
    fn hidden(&mut self) -> Vec<HiddenRange> {
        let to = self.to;
        let all = (to > 0).then_some(EntryRange { from: 1, to });
        let missing = || without(all.as_slice(), &shown(&self.parts));
        let hide = |range| HiddenRange { range, by: None };
        let unsaid = || missing().into_iter().map(hide).collect();
        self.hidden.take().unwrap_or_else(unsaid)
    }
}

/// A piece of a view. Tagged, since JSON that is passed through as text can be read from a tagged enum only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ViewPiece {
    /// Archived entries from … to, both included.
    Kept(u64, u64),
    /// Something that is not in the archive: a summary.
    Made {
        id: String,
        body: Json,
        /// The archived entries it was made from.
        from: Vec<(u64, u64)>,
    },
}

impl ViewPiece {
    fn length(&self) -> u64 {
        match self {
            Self::Kept(from, to) => to + 1 - from,
            Self::Made { .. } => 1,
        }
    }
}

/// Shows the archived entry behind what is shown already.
pub(crate) fn keep(parts: &mut Vec<ViewPiece>, seq: u64) {
    match parts.last_mut() {
        Some(ViewPiece::Kept(_, to)) if *to + 1 == seq => *to = seq,
        _ => parts.push(ViewPiece::Kept(seq, seq)),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ViewItem {
    pub(crate) id: String,
    /// Its sequence in the archive, if it is there.
    pub(crate) seq: Option<u64>,
    pub(crate) at: Millis,
    pub(crate) body: Json,
    /// The archived entries that a made item stands for.
    pub(crate) from: Vec<(u64, u64)>,
}

/// Where a log and its overlays stood, and what the view is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LogView {
    pub(crate) items: Option<Head>,
    pub(crate) overlays: Option<Head>,
    pub(crate) overlay: Option<LogEntry>,
    pub(crate) pieces: Vec<ViewPiece>,
    /// What it leaves out otherwise than by truncation.
    pub(crate) hidden: Vec<HiddenRange>,
    pub(crate) stale_possible: bool,
}

impl LogView {
    /// Reads the heads and the newest overlay; no items.
    pub(crate) async fn open(driver: &dyn Driver, space: &Space) -> Result<Self> {
        let (overlays, items) = (space.log(OVERLAYS), space.log(ITEMS));
        let (overlays, items) = futures::try_join!(
            driver.read(&overlays, LogRange::last(1)),
            driver.read(&items, LogRange::head())
        )?;
        Self::of(&items, overlays)
    }

    /// The view and its last items, at most so many, in order: without an overlay in one read of the archive.
    pub(crate) async fn tail(
        driver: &dyn Driver,
        space: &Space,
        limit: usize,
    ) -> Result<(Self, Vec<ViewItem>)> {
        let overlays = driver.read(&space.log(OVERLAYS), LogRange::last(1)).await?;
        let is_whole = overlays.entries.is_empty() && limit <= CHUNK;
        let range = match is_whole {
            true => LogRange::last(limit),
            false => LogRange::head(),
        };
        let mut end = driver.read(&space.log(ITEMS), range).await?;
        let entries = std::mem::take(&mut end.entries);
        let view = Self::of(&end, overlays)?;
        if !is_whole {
            let from = view.count().saturating_sub(limit as u64);
            let items = view.read(driver, space, from, limit).await?;
            return Ok((view, items));
        }
        let mut items = Vec::new();
        for entry in entries.into_iter().rev() {
            items.push(item(driver, space, entry).await?);
        }
        Ok((view, items))
    }

    fn of(items: &LogPage, overlays: LogPage) -> Result<Self> {
        let newest = overlays.entries.into_iter().next();
        let mut overlay = newest
            .as_ref()
            .map(|entry| entry.body.to::<Overlay>())
            .transpose()?
            .unwrap_or_default();
        let hidden = overlay.hidden();
        let mut pieces = overlay.parts;
        let last = items.head.map_or(0, |head| head.last);
        if last > overlay.to {
            pieces.push(ViewPiece::Kept(overlay.to + 1, last));
        }
        let stale_possible = items.stale_possible || overlays.stale_possible;
        Ok(Self {
            items: items.head,
            overlays: overlays.head,
            overlay: newest,
            pieces,
            hidden,
            stale_possible,
        })
    }

    pub(crate) fn count(&self) -> u64 {
        self.pieces.iter().map(ViewPiece::length).sum()
    }

    /// How many entries it leaves out because others have taken their place.
    pub(crate) fn superseded(&self) -> u64 {
        let hidden = self.hidden.iter().filter(|hidden| hidden.by.is_some());
        hidden.map(|hidden| hidden.range.length()).sum()
    }

    /// How many entries it leaves out because it was made shorter.
    pub(crate) fn truncated(&self) -> u64 {
        let last = self.items.map_or(0, |head| head.last);
        let left_out = without(&visible(last, &self.hidden), &shown(&self.pieces));
        left_out.iter().map(EntryRange::length).sum()
    }

    /// Items `from` … (counted from 0), at most `limit`, in order.
    pub(crate) fn read<'a>(
        &'a self,
        driver: &'a dyn Driver,
        space: &'a Space,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ViewItem>>> {
        Box::pin(async move {
            let mut items = Vec::new();
            let mut skip = from;
            for piece in &self.pieces {
                let wanted = limit - items.len();
                if wanted == 0 {
                    break;
                }
                if skip >= piece.length() {
                    skip -= piece.length();
                    continue;
                }
                match piece {
                    ViewPiece::Kept(first, last) => {
                        let range = first + skip..=*last;
                        items.extend(read_kept(driver, space, range, wanted).await?);
                    }
                    ViewPiece::Made { id, body, from } => {
                        items.push(ViewItem {
                            id: id.clone(),
                            seq: None,
                            at: 0,
                            body: body.clone(),
                            from: from.clone(),
                        });
                    }
                }
                skip = 0;
            }
            Ok(items)
        })
    }
}

async fn read_kept(
    driver: &dyn Driver,
    space: &Space,
    range: RangeInclusive<u64>,
    limit: usize,
) -> Result<Vec<ViewItem>> {
    let (mut next, last) = range.into_inner();
    let mut items = Vec::new();
    while next <= last && items.len() < limit {
        let wanted = usize::try_from(last + 1 - next)
            .unwrap_or(CHUNK)
            .min(limit - items.len())
            .min(CHUNK);
        let page = driver
            .read(&space.log(ITEMS), LogRange::from(next, wanted))
            .await?;
        if page.entries.is_empty() {
            return Err(Error::Conflict {
                what: space.log(ITEMS).to_string(),
                expected: format!("entry {next}"),
                found: "a log that was cleared while it was read; read again".to_owned(),
            });
        }
        for entry in page.entries {
            next = entry.seq + 1;
            items.push(item(driver, space, entry).await?);
        }
    }
    Ok(items)
}

/// The archived entry with its off-loaded body, if it has one.
pub(crate) async fn item(driver: &dyn Driver, space: &Space, entry: LogEntry) -> Result<ViewItem> {
    let body = match blob_name(&entry.body) {
        None => entry.body,
        Some(name) => {
            let stored = driver
                .get(&space.key(name.as_str()), ValuePart::Whole)
                .await?;
            stored.map(|stored| stored.value).ok_or_else(|| {
                Error::corrupt(
                    format!("{}#{}", space.log(ITEMS), entry.seq),
                    format!("its content {name} is missing"),
                )
            })?
        }
    };
    Ok(ViewItem {
        id: entry.id,
        seq: Some(entry.seq),
        at: entry.at,
        body,
        from: Vec::new(),
    })
}

const BLOB_MARK: &str = "{\"$blob\":";

#[derive(Serialize, Deserialize)]
struct BlobReference {
    #[serde(rename = "$blob")]
    name: String,
    bytes: usize,
}

/// What stands in the log for a body that is kept as a value of its own, and that value's name.
pub(crate) fn off_loaded(id: &str, body: &Json) -> Result<(Json, String)> {
    let name = format!("{BLOBS}/{id}");
    let mark = BlobReference {
        name: name.clone(),
        bytes: body.as_str().len(),
    };
    Ok((Json::of(&mark)?, name))
}

/// The name of the value that holds this entry's body, if it is not in the entry.
pub(crate) fn blob_name(body: &Json) -> Option<String> {
    body.as_str()
        .starts_with(BLOB_MARK)
        .then(|| body.to::<BlobReference>().ok())
        .flatten()
        .map(|blob| blob.name)
}
