//! Prompts: reading them, choosing among them, and filling in their variables.

pub mod choose;
pub mod fill;
pub mod read;

pub use choose::{PromptChoice, PromptSelection, choose};
pub use fill::{FilledPrompts, PromptVariables, fill};
