//! Queries over models: what is asked is parsed whole before any SQL is written, values are always bound, and every table
//! that a statement names is cut down to the rows that are there for the caller.

mod chain;
mod dsl;
mod fault;
mod load;
mod object;
mod operator;
mod page;
mod param;
mod reading;
mod relation;
mod select;
mod sort;
mod wheres;
mod with;

pub use dsl::{Dsl, Given};
pub use load::count;
pub use object::{MOST_ROWS, whole};
pub use param::Select;
pub use reading::Reading;
pub use select::{Window, counting};
