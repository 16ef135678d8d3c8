//! Ambit, the context layer of AI agents: the library.

pub mod format;

pub use ambit_runtime as runtime;
pub use ambit_storage as storage;
