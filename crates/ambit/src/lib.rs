//! Ambit, the context layer of AI agents: the library, and the server's surface.

pub mod app_files;
pub mod auth;
pub mod environment;
pub mod format;
pub mod http;
mod id;
pub mod log;
mod status;
pub mod store_urls;
pub mod suggestion;
pub mod timestamp;

pub use ambit_runtime as runtime;
pub use ambit_storage as storage;
