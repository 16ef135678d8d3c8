//! Looking at what is stored, as far as the caller may see it: contexts, memory, usage, turns and traces.

pub mod contexts;
pub mod memory;
pub mod traces;
pub mod turns;
pub mod usage;
