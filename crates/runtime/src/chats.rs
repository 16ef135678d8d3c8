//! Conversations as a person sees them: found by name, listed, shown, shared and removed.

mod archive;
pub mod conversations;
mod details;
mod entries;
mod erase_entries;
mod find;
mod index_rows;
mod interrupt_message;
mod list;
mod message_view;
mod messages;
mod open;
mod opening;
mod running;
mod share;
mod turns;
mod update;

pub(crate) use archive::{WantedMessages, archived};
pub use details::{ChatShare, ChatStatus, LastTurn, first_title, note};
pub(crate) use details::{UntitledChat, choose};
pub use entries::{ChatEntries, ChatEntry, EntryRange};
pub use erase_entries::{EntrySelection, erase};
pub(crate) use find::ReachableChat;
pub(crate) use find::owner;
pub use find::{ChatInfo, ChatName, NAMELESS, get, row};
pub(crate) use index_rows::first;
pub use interrupt_message::InterruptMessage;
pub(crate) use list::ChatRows;
pub use list::{
    ChatFilter, ChatOrder, ChatSource, ListPart, PageWindow, ReadableChats, list, list_readable,
};
pub use message_view::ChatMessageView;
pub(crate) use message_view::{CLIENT_ID_PREFIX, is_input, is_sent_by_client, position};
pub use message_view::{USER_INPUT, client_id};
pub(crate) use messages::{CHUNK, ChatMessageSearch};
pub use messages::{ChatMessagePage, MessageFilter, messages};
pub(crate) use open::{is_nobodys, open_for, open_without_chat};
pub use open::{is_short_lived, open, row_for};
pub(crate) use opening::opening;
pub use turns::{ChatTurn, ChatTurnReader, TurnInput};
pub(crate) use update::{check_idle, finished, open_turns};
pub use update::{remove, update};
