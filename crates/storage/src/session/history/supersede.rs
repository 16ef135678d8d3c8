//! Superseding: the tail of a view gives way to what a turn says in its place. The archive keeps all of it.

use super::ChatHistoryStorage;
use crate::address::{ERASURES, ITEMS, OVERLAYS};
use crate::batch::{BatchCheck, BatchWrite, Head};
use crate::driver::ValuePart;
use crate::items::{
    EntryRange, HiddenRange, LogView, Overlay, ViewItem, ViewPiece, archive, behind, cut, shown,
    visible,
};
use crate::message::Message;
use crate::{Result, ids};

/// Messages read in one go.
const PAGE: usize = 200;
/// As many messages as may come between a request and its turn.
const SINCE: usize = 10_000;

/// How far a history had come, to tell later what came since.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPosition {
    items: Option<Head>,
    hidden: Vec<HiddenRange>,
}

/// A history as it stands, apart from truncation: any message that it has can be superseded, with all behind it.
#[derive(Debug)]
pub struct SupersedableHistory {
    history: ChatHistoryStorage,
    view: LogView,
    /// All that is visible if nothing is truncated.
    whole: LogView,
    erasures: Option<u64>,
}

/// A message and its place in the archive.
#[derive(Clone, Debug, PartialEq)]
pub struct SequencedMessage {
    /// Its sequence, from 1.
    pub sequence: u64,
    /// The message.
    pub message: Message,
}

/// What a history is to show when its tail is superseded.
#[derive(Debug)]
pub struct SupersededHistory {
    pub(super) history: ChatHistoryStorage,
    pub(super) view: LogView,
    write: Option<BatchWrite>,
    checks: Vec<BatchCheck>,
}

impl ChatHistoryStorage {
    /// How far the stored history has come.
    pub async fn position(&self) -> Result<HistoryPosition> {
        let session = self.session()?;
        let view = session.seen(self.cell().view(session.tenant()).await)?;
        Ok(HistoryPosition {
            items: view.items,
            hidden: view.hidden,
        })
    }

    /// Reads what can be superseded, and where everything stands that it is made of.
    pub async fn supersedable(&self) -> Result<SupersedableHistory> {
        let session = self.session()?;
        let key = self.cell().space(session.tenant()).key(ERASURES);
        let erasures = session.seen(self.cell().driver().get(&key, ValuePart::Nothing).await)?;
        let view = session.seen(self.cell().view(session.tenant()).await)?;
        let last = view.items.map_or(0, |head| head.last);
        let whole = LogView {
            pieces: kept(&visible(last, &view.hidden)),
            ..LogView::default()
        };
        Ok(SupersedableHistory {
            history: self.clone(),
            erasures: erasures.map(|entry| entry.version),
            whole,
            view,
        })
    }

    pub(super) async fn read_view(
        &self,
        view: &LogView,
        from: u64,
        limit: usize,
    ) -> Result<Vec<ViewItem>> {
        let session = self.session()?;
        let space = self.cell().space(session.tenant());
        session.seen(view.read(self.cell().driver(), &space, from, limit).await)
    }
}

impl SupersedableHistory {
    /// How many messages there are.
    pub fn count(&self) -> u64 {
        self.whole.count()
    }

    /// The last messages in front of as many as `skip` says, in order: a page of them.
    pub async fn page_before(&self, skip: u64) -> Result<Vec<SequencedMessage>> {
        let end = self.count().saturating_sub(skip);
        let start = end.saturating_sub(PAGE as u64);
        let limit = usize::try_from(end - start).unwrap_or(PAGE);
        let items = self.history.read_view(&self.whole, start, limit).await?;
        let message = |item: ViewItem| {
            Ok(SequencedMessage {
                sequence: item.seq.unwrap_or_default(),
                message: item.body.to()?,
            })
        };
        items.into_iter().map(message).collect()
    }

    /// What was added behind this position, in order; `None` where more than that has happened.
    pub async fn added_since(&self, position: &HistoryPosition) -> Result<Option<Vec<Message>>> {
        if position.hidden != self.view.hidden {
            return Ok(None);
        }
        let before = position.items.unwrap_or(Head {
            generation: self.view.items.map_or(0, |head| head.generation),
            last: 0,
        });
        let now = self.view.items.unwrap_or(before);
        let is_same_log = now.generation == before.generation && now.last >= before.last;
        let added = usize::try_from(now.last.saturating_sub(before.last)).unwrap_or(usize::MAX);
        if !is_same_log || added > SINCE {
            return Ok(None);
        }
        let session = self.history.session()?;
        let mut messages = Vec::new();
        while messages.len() < added {
            let from = before.last + 1 + messages.len() as u64;
            let limit = (added - messages.len()).min(PAGE);
            let page = archive(self.history.cell(), session.tenant(), from, limit).await;
            let page = session.seen(page)?;
            if page.is_empty() {
                return Ok(None);
            }
            for item in page {
                messages.push(item.body.to()?);
            }
        }
        Ok(Some(messages))
    }

    /// What the history shows when all from this sequence on is superseded by this turn. What truncation has made of a message
    /// that is superseded goes with it.
    pub fn supersede(self, first: u64, by: &str) -> Result<SupersededHistory> {
        let history = self.history;
        let gone = behind(&shown(&self.whole.pieces), first);
        let checks = checks(&history, &self.view, self.erasures)?;
        if gone.is_empty() {
            return Ok(SupersededHistory {
                view: self.view,
                history,
                write: None,
                checks,
            });
        }
        let parts = match shows(&self.view.pieces, gone[0].from) {
            true => cut(&self.view.pieces, first),
            false => cut(&self.whole.pieces, first),
        };
        let hide = |range| HiddenRange {
            range,
            by: Some(by.to_owned()),
        };
        let mut hidden = self.view.hidden;
        hidden.extend(gone.into_iter().map(hide));
        let overlay = Overlay {
            to: self.view.items.map_or(0, |head| head.last),
            parts: parts.clone(),
            reason: "supersede".to_owned(),
            previous: self.view.overlay.as_ref().map(|entry| entry.seq),
            hidden: Some(hidden.clone()),
        };
        let (_id, write) = history.overlay(&overlay)?;
        Ok(SupersededHistory {
            view: LogView {
                items: self.view.items,
                pieces: parts,
                hidden,
                ..LogView::default()
            },
            history,
            write: Some(write),
            checks,
        })
    }
}

impl SupersededHistory {
    /// How many messages are left.
    pub fn count(&self) -> u64 {
        self.view.count()
    }

    /// Has the next save supersede the tail, together with all else that is staged, or refuse all of it with `Conflict` where
    /// anything at all has changed since it was read.
    pub fn stage(self) {
        let mut staged = self.history.cell().staged();
        let id = ids::unguessable();
        staged
            .extra
            .extend(self.write.map(|write| (id.clone(), write)));
        let checks = self.checks.into_iter();
        staged
            .checks
            .extend(checks.map(|check| (id.clone(), check)));
    }
}

/// That nothing of the history has moved since it was seen.
fn checks(
    history: &ChatHistoryStorage,
    view: &LogView,
    erasures: Option<u64>,
) -> Result<Vec<BatchCheck>> {
    let space = history.cell().space(history.session()?.tenant());
    Ok(vec![
        BatchCheck::head(space.log(ITEMS), view.items),
        BatchCheck::head(space.log(OVERLAYS), view.overlays),
        BatchCheck::version(space.key(ERASURES), erasures),
    ])
}

fn kept(ranges: &[EntryRange]) -> Vec<ViewPiece> {
    let ranges = ranges.iter();
    ranges
        .map(|range| ViewPiece::Kept(range.from, range.to))
        .collect()
}

fn shows(pieces: &[ViewPiece], seq: u64) -> bool {
    let mut ranges = shown(pieces).into_iter();
    ranges.any(|range| range.from <= seq && seq <= range.to)
}
