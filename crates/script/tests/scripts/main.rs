//! What scripts can do, and what is kept from them.

mod support;

mod beside;
mod calls;
mod errors;
mod fetching;
mod fresh;
mod globals;
mod instances;
mod limits;
mod modules;
mod nested;
mod pets;
mod refused;
mod values;
