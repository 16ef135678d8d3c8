//! Conversations as a person sees them: found by name, listed, shown, shared and removed.

mod details;
mod find;
mod index_rows;
mod list;
mod message_view;
mod messages;
mod open;
mod share;
mod update;

pub use details::{ChatShare, ChatStatus, LastTurn, first_title, note, supersede};
pub(crate) use details::{choose, retitle};
pub use find::{ChatInfo, ChatName, get, row};
pub(crate) use index_rows::first;
pub(crate) use list::ChatRows;
pub use list::{ChatFilter, ChatOrder, ListPart, PageWindow, list};
pub use message_view::ChatMessageView;
pub use messages::{ChatMessagePage, MessageFilter, messages};
pub use open::open;
pub(crate) use open::{is_nobodys, open_for};
pub(crate) use update::{check_idle, finished};
pub use update::{remove, update};
