//! Conversations as a person sees them: found by name, listed, shown, shared and removed.

mod open;
mod reach;
mod share;

pub(crate) use open::is_nobodys;
pub use open::open;
pub use reach::Reach;
pub(crate) use reach::first;
