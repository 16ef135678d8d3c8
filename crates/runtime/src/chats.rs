//! Conversations as a person sees them: found by name, listed, shown, shared and removed.

mod about;
mod change;
mod find;
mod list;
mod open;
mod reach;
mod share;

pub use about::{Last, Share, Status, entitle, note, supersede};
pub(crate) use change::finished;
pub use change::{remove, update};
pub use find::{Chat, Name, get, row};
pub use list::{ChatFilter, ChatOrder, Part, Window, list};
pub(crate) use open::is_nobodys;
pub use open::open;
pub use reach::Reach;
pub(crate) use reach::first;
