//! Chats and messages that are found by their words: the same lists as those of all, with what was found.

use super::paging::{PageParameters, PageResponse};
use super::{HttpError, ServerState};
use ambit_runtime::Authorized;
use ambit_runtime::chats::{ChatInfo, ChatMessagePage, ChatMessageView, ListPart};
use ambit_runtime::recall::{
    self, ChatMatch, ChatMessageMatch, MessageMatch, MessageSearch, SearchedOwners, SessionSearch,
};
use serde::Serialize;
use utoipa::ToSchema;

/// A chat of a list.
#[derive(Serialize, ToSchema)]
pub struct ListedChat {
    /// The chat.
    #[serde(flatten)]
    chat: ChatInfo,
    /// With `q`: how well its best message fits, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// With `q`: its best messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<MessageMatch>>,
}

/// A page of chats.
#[derive(Serialize, ToSchema)]
pub struct ChatListResponse {
    /// The page.
    #[serde(flatten)]
    page: PageResponse<ListedChat>,
    /// With `q`, for callers without constraints who name nobody: whose chats were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    searched: Option<SearchedOwners>,
}

/// A message of a list.
#[derive(Serialize, ToSchema)]
pub struct ListedMessage {
    /// The message.
    #[serde(flatten)]
    message: ChatMessageView,
    /// With `q`: how well it fits, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// With `q`: the stretch of its text that shows best what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
    /// With `q`: where that stands in the snippet, from this character up to, but not including, that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges: Option<Vec<[usize; 2]>>,
}

/// Messages, and where to go on in the same direction: as `after` if that was given, else as `before`.
#[derive(Serialize, ToSchema)]
pub struct MessageListResponse {
    /// The messages.
    items: Vec<ListedMessage>,
    /// Where the next ones are; nothing where there are none, and with `q`.
    next: Option<u64>,
}

/// Finds chats.
pub async fn chats(
    server: &ServerState,
    who: &Authorized,
    search: SessionSearch<'_>,
    paging: PageParameters,
) -> Result<ChatListResponse, HttpError> {
    let ambit = server.runtime.contexts(who);
    let settings = server.runtime.recall(who);
    let found = recall::search_sessions(&ambit, who, &settings, search).await?;
    let part = ListPart {
        items: found.items.into_iter().map(ListedChat::found).collect(),
        total: found.total,
    };
    Ok(ChatListResponse {
        page: paging.listing(part),
        searched: found.searched,
    })
}

/// Finds messages of a chat.
pub async fn messages(
    server: &ServerState,
    who: &Authorized,
    search: MessageSearch<'_>,
) -> Result<MessageListResponse, HttpError> {
    let ambit = server.runtime.contexts(who);
    let settings = server.runtime.recall(who);
    let found = recall::search_messages(&ambit, who, &settings, search).await?;
    Ok(MessageListResponse {
        items: found.into_iter().map(ListedMessage::found).collect(),
        next: None,
    })
}

impl ListedChat {
    fn found(found: ChatMatch) -> Self {
        Self {
            chat: found.chat,
            score: Some(found.score),
            matches: Some(found.matches),
        }
    }

    fn listed(chat: ChatInfo) -> Self {
        let (score, matches) = (None, None);
        Self {
            chat,
            score,
            matches,
        }
    }
}

impl ChatListResponse {
    /// A page of chats that were not searched for.
    pub fn listed(part: ListPart<ChatInfo>, paging: PageParameters) -> Self {
        let part = ListPart {
            items: part.items.into_iter().map(ListedChat::listed).collect(),
            total: part.total,
        };
        Self {
            page: paging.listing(part),
            searched: None,
        }
    }
}

impl ListedMessage {
    fn found(found: ChatMessageMatch) -> Self {
        Self {
            message: found.message,
            score: Some(found.score),
            snippet: Some(found.snippet),
            ranges: Some(found.ranges),
        }
    }

    fn listed(message: ChatMessageView) -> Self {
        Self {
            message,
            score: None,
            snippet: None,
            ranges: None,
        }
    }
}

impl From<ChatMessagePage> for MessageListResponse {
    fn from(page: ChatMessagePage) -> Self {
        Self {
            items: page.items.into_iter().map(ListedMessage::listed).collect(),
            next: page.next,
        }
    }
}
