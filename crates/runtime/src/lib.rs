//! A turn: one request in flight, through hooks, model, tools and search, and the events that come of it.
//!
//! This crate may use `ambit-storage` and `ambit-script`. It must not know HTTP, wire formats, the environment, or where its
//! settings came from. It is empty so far.
