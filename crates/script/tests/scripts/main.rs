//! What scripts can do, and what is kept from them.

mod support;

mod calls;
mod errors;
mod modules;
mod values;
