//! The list of chats. It reads no message, and walks the index in pages.

use crate::access::{Authorized, DataAccess};
use crate::chats::details::{ChatStatus, choose};
use crate::chats::find::{ChatInfo, ReachableChat};
use crate::chats::index_rows::BATCH;
use crate::chats::{running, share};
use crate::error::{Error, Result};
use crate::public_id::RESPONSE;
use ambit_storage::Ambit;
use ambit_storage::clock::Millis;
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter, RowOrder};
use ambit_storage::storage::{ChatHistoryStorage, StorageKind};
use futures::{StreamExt, TryStreamExt, stream};

/// Chats read at the same time.
const AT_ONCE: usize = 16;

/// Which chats, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatFilter {
    /// Those that this agent worked on.
    pub assistant_id: Option<String>,
    /// Those of this status.
    pub status: Option<ChatStatus>,
    /// Those whose title has all of these words, whatever their case.
    pub keywords: Option<String>,
    /// Those active at or after.
    pub from: Option<Millis>,
    /// Those active before.
    pub to: Option<Millis>,
    /// Those of this person.
    pub user_id: Option<String>,
    /// Those begun like this.
    pub source: Option<ChatSource>,
    /// Those that a turn works on, or those that none does.
    pub running: Option<bool>,
    /// Those whose row was made before.
    pub created_before: Option<Millis>,
    /// In which order.
    pub order: ChatOrder,
}

/// How chats were begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatSource {
    /// By requests that name a chat, or have the server make one.
    Chat,
    /// By clients of OpenAI's Responses, which know no chats.
    Responses,
}

/// In which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChatOrder {
    /// The last active first.
    #[default]
    LastMessage,
    /// The last begun first.
    Created,
    /// By `sort`, then the last active first.
    Sort,
}

/// Which part of a list, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageWindow {
    /// So many are passed over.
    pub skip: usize,
    /// At most so many are given.
    pub limit: usize,
}

/// Part of a list, and how many there are in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPart<T> {
    /// The items.
    pub items: Vec<T>,
    /// How many there are.
    pub total: u64,
}

/// Chats as far as their stores can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadableChats {
    /// Part of the list; how many there are in all are those that can be read.
    pub part: ListPart<ChatInfo>,
    /// The rows of the others that were come upon: what they name is not set up, or being moved.
    pub unreadable: Vec<IndexRow>,
}

impl ChatSource {
    /// The source with this name.
    pub fn parse(name: &str) -> Result<Self> {
        choose("source", name, &[(Self::RESPONSES, Self::Responses)])
    }

    /// What the source of chats that clients of OpenAI's Responses have begun is called.
    pub const RESPONSES: &str = "responses";

    /// How the chat of a row was begun.
    pub(super) fn of(row: &IndexRow) -> Self {
        let name = row.identity.chat_name().unwrap_or_default();
        match name.starts_with(RESPONSE) {
            true => Self::Responses,
            false => Self::Chat,
        }
    }
}

impl ChatOrder {
    /// The order with this name.
    pub fn parse(name: &str) -> Result<Self> {
        let known = [
            ("last_message_at", Self::LastMessage),
            ("updated_at", Self::LastMessage),
            ("created_at", Self::Created),
            ("sort", Self::Sort),
        ];
        choose("order_by", name, &known)
    }

    fn of_rows(self) -> RowOrder {
        match self {
            Self::Created => RowOrder::Newest,
            Self::LastMessage | Self::Sort => RowOrder::Recent,
        }
    }
}

impl ChatFilter {
    /// Refuses what nothing can match.
    pub(crate) fn check(&self) -> Result<()> {
        match (self.from, self.to) {
            (Some(from), Some(to)) if to <= from => {
                let message = format!("to is {to}, which leaves no time behind from, {from}");
                Err(Error::invalid("to", message))
            }
            _ => Ok(()),
        }
    }

    /// The same question to the index.
    fn of_rows(&self, access: &DataAccess) -> RowFilter {
        let is_of_responses = self.source == Some(ChatSource::Responses);
        RowFilter {
            agent: self.assistant_id.clone(),
            user: self.user_id.clone(),
            chat_prefix: is_of_responses.then(|| RESPONSE.to_owned()),
            scope: Some(ChatHistoryStorage::PREFIX.to_owned()),
            active_after: self.from,
            active_before: self.to,
            created_before: self.created_before,
            ..access.filter()
        }
    }

    /// Whether only what is kept of a chat says if it is wanted.
    pub(crate) fn looks_inside(&self) -> bool {
        self.status.is_some() || self.keywords.is_some() || self.running.is_some()
    }

    /// Whether a chat is wanted by what is kept of it.
    pub(crate) fn wants(&self, chat: &ChatInfo) -> bool {
        let title = chat.title.to_lowercase();
        let words = self.keywords.as_deref().unwrap_or_default().to_lowercase();
        self.status.is_none_or(|status| status == chat.status)
            && self
                .running
                .is_none_or(|running| running == chat.running.is_some())
            && words.split_whitespace().all(|word| title.contains(word))
    }
}

/// The caller's chats, and those that others share with them. It fails where the store of one cannot be used.
pub async fn list(
    ambit: &Ambit,
    who: &Authorized,
    filter: &ChatFilter,
    window: PageWindow,
) -> Result<ListPart<ChatInfo>> {
    let found = list_readable(ambit, who, filter, window).await?;
    if let Some(row) = found.unreadable.first() {
        ambit.stores().chain(&row.placement)?;
    }
    Ok(found.part)
}

/// The same without those whose stores cannot be used here, which are told beside.
pub async fn list_readable(
    ambit: &Ambit,
    who: &Authorized,
    filter: &ChatFilter,
    window: PageWindow,
) -> Result<ReadableChats> {
    filter.check()?;
    let access = DataAccess::of(who);
    let mut rows = match filter.running {
        Some(true) => ChatRows::running(ambit, &access, filter).await?,
        _ => ChatRows::of(ambit, &access, filter).await?,
    };
    if filter.order == ChatOrder::Sort || filter.looks_inside() {
        return search(&mut rows, filter, window).await;
    }
    let total = rows.count().await?;
    rows.batch = window.skip.saturating_add(window.limit).clamp(1, BATCH);
    let (mut wanted, mut passed) = (Vec::new(), 0);
    while wanted.len() < window.limit {
        let Some(page) = rows.next().await? else {
            break;
        };
        let skipped = page.len().min(window.skip - passed);
        passed += skipped;
        let missing = window.limit - wanted.len();
        wanted.extend(page.into_iter().skip(skipped).take(missing));
    }
    let mut unreadable = Vec::new();
    let items = chats(ambit, wanted, &mut unreadable).await?;
    let total = total.saturating_sub(unreadable.len() as u64);
    let part = ListPart { items, total };
    Ok(ReadableChats { part, unreadable })
}

/// As `list`, where only what is kept of a chat says whether or where it belongs.
async fn search(
    rows: &mut ChatRows<'_>,
    filter: &ChatFilter,
    window: PageWindow,
) -> Result<ReadableChats> {
    let matches = |chat: &ChatInfo| filter.wants(chat);
    let (mut matching, mut total) = (Vec::new(), 0_usize);
    let mut unreadable = Vec::new();
    while let Some(page) = rows.next().await? {
        let found = chats(rows.ambit, page, &mut unreadable).await?;
        for chat in found.into_iter().filter(matches) {
            let is_inside = total >= window.skip && matching.len() < window.limit;
            total += 1;
            if is_inside || filter.order == ChatOrder::Sort {
                matching.push(chat);
            }
        }
    }
    if filter.order == ChatOrder::Sort {
        matching.sort_by_key(|chat: &ChatInfo| chat.sort);
        matching = matching
            .into_iter()
            .skip(window.skip)
            .take(window.limit)
            .collect();
    }
    let part = ListPart {
        items: matching,
        total: total as u64,
    };
    Ok(ReadableChats { part, unreadable })
}

/// What is kept of these rows' chats, in their order.
async fn chats(
    ambit: &Ambit,
    rows: Vec<IndexRow>,
    unreadable: &mut Vec<IndexRow>,
) -> Result<Vec<ChatInfo>> {
    let is_readable = |row: &IndexRow| ambit.stores().chain(&row.placement).is_ok();
    let (readable, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_readable);
    unreadable.extend(others);
    let found = stream::iter(readable).map(|row| ReachableChat::listed(ambit, row));
    let found = found.buffered(AT_ONCE).map_ok(|found| found.chat());
    found.try_collect().await
}

/// Rows of chats in an order: those of the index, and between them those that others share.
pub(crate) struct ChatRows<'a> {
    pub ambit: &'a Ambit,
    filter: RowFilter,
    order: RowOrder,
    source: Option<ChatSource>,
    after: Option<ambit_storage::directory::RowPosition>,
    /// Rows read in one go.
    batch: usize,
    /// The last in the order first, so that the next one is at the end.
    shared: Vec<IndexRow>,
    /// Whether there are rows of the index beside these.
    is_indexed: bool,
    is_over: bool,
}

impl<'a> ChatRows<'a> {
    pub async fn of(ambit: &'a Ambit, access: &DataAccess, filter: &ChatFilter) -> Result<Self> {
        let wanted = filter.of_rows(access);
        let order = filter.order.of_rows();
        let anybodys = RowFilter {
            visible_to: None,
            ..wanted.clone()
        };
        let mut shared = share::rows(ambit, access, None).await?;
        shared.retain(|row| anybodys.matches(row));
        order.sort(&mut shared);
        shared.reverse();
        Ok(Self {
            ambit,
            filter: wanted,
            order,
            source: filter.source,
            after: None,
            batch: BATCH,
            shared,
            is_indexed: true,
            is_over: false,
        })
    }

    /// Those that a turn works on now. They are found by the notes of open turns, of which there are few, and not by the index.
    pub async fn running(
        ambit: &'a Ambit,
        access: &DataAccess,
        filter: &ChatFilter,
    ) -> Result<Self> {
        let order = filter.order.of_rows();
        let mut rows = running::rows(ambit, access, &filter.of_rows(access)).await?;
        order.sort(&mut rows);
        rows.reverse();
        Ok(Self {
            ambit,
            filter: filter.of_rows(access),
            order,
            source: filter.source,
            after: None,
            batch: BATCH,
            shared: rows,
            is_indexed: false,
            is_over: false,
        })
    }

    async fn count(&self) -> Result<u64> {
        let index = self.ambit.stores().index()?;
        let mut own = index.driver().count(&self.filter).await?;
        if self.source == Some(ChatSource::Chat) {
            // How many are not of another source is known by two numbers and no look at the rows.
            let others = RowFilter {
                chat_prefix: Some(RESPONSE.to_owned()),
                ..self.filter.clone()
            };
            own = own.saturating_sub(index.driver().count(&others).await?);
        }
        let shared = self.shared.iter().filter(|row| self.is_wanted(row));
        Ok(own + shared.count() as u64)
    }

    fn is_wanted(&self, row: &IndexRow) -> bool {
        let source = self.source;
        source.is_none_or(|source| source == ChatSource::of(row))
    }

    /// The next rows in the order; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<IndexRow>>> {
        if self.is_over {
            return Ok(None);
        }
        let page = PageRequest {
            order: self.order,
            after: self.after,
            limit: self.batch,
        };
        let mut rows = match self.is_indexed {
            true => {
                let index = self.ambit.stores().index()?;
                index.driver().identities(&self.filter, &page).await?
            }
            false => Vec::new(),
        };
        self.is_over = rows.len() < self.batch;
        self.after = rows.last().map(IndexRow::position);
        while let Some(next) = self.shared.last() {
            let is_later = |last: &IndexRow| self.order.is_behind(next.position(), last.position());
            if !self.is_over && rows.last().is_some_and(is_later) {
                break;
            }
            rows.extend(self.shared.pop());
        }
        rows.retain(|row| self.is_wanted(row));
        self.order.sort(&mut rows);
        Ok(Some(rows))
    }
}
