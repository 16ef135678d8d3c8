//! Conversations as a person sees them: found by name, listed, shown, shared and removed.

mod about;
mod change;
mod find;
mod list;
mod message;
mod open;
mod rows;
mod share;
mod shown;

pub use about::{Last, Share, Status, entitle, note, supersede};
pub(crate) use about::{choose, retitle};
pub(crate) use change::{check_idle, finished};
pub use change::{remove, update};
pub use find::{Chat, Name, get, row};
pub(crate) use list::Rows;
pub use list::{ChatFilter, ChatOrder, Part, Window, list};
pub use message::{MessageFilter, Messages, messages};
pub(crate) use open::is_nobodys;
pub use open::open;
pub(crate) use rows::first;
pub use shown::Shown;
