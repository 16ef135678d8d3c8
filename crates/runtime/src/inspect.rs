//! Looking at what is stored, as far as the caller may see it: contexts, memory, usage, turns, leases, traces and rows of
//! models; and at the agents of the app.

pub mod agents;
pub mod calls;
pub mod contexts;
pub mod data;
pub mod leases;
pub mod memory;
pub mod traces;
pub mod turns;
pub mod usage;
