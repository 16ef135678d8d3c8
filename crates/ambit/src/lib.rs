//! Ambit, the context layer of AI agents: the library.

pub use ambit_storage as storage;
