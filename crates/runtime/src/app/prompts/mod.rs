//! Prompts: reading them, choosing among them, and filling in their variables.

pub mod choose;
pub mod fill;
pub mod read;

pub use choose::{Chosen, Wish, choose};
pub use fill::{Filled, Values, fill};
