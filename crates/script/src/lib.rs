//! Runs a function of a TypeScript or JavaScript module: values in and out, calls to the host on the way, limits on time and
//! memory.
//!
//! This is the only crate that may name the JavaScript engine or the TypeScript transpiler. It must not know agents, storage
//! or HTTP. It is empty so far.
