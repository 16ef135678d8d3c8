//! Queries over models: what is asked is parsed whole before any SQL is written, values are always bound, and every table
//! that a statement names is cut down to the rows that are there for the caller.

mod answer_size;
mod chain;
mod dsl;
mod eager_load;
mod fault;
mod load;
mod object;
mod operator;
mod page;
mod query_param;
mod read_context;
mod relation;
mod sort;
mod statement;
mod wheres;

pub use answer_size::AnswerSize;
pub use chain::{ConditionChain, ConditionNode};
pub use dsl::{QueryDsl, QueryRequest, SourceRows};
pub use fault::QueryFault;
pub use load::{count, hidden};
pub use object::{MOST_ROWS, whole};
pub(crate) use page::RowPage;
pub use query_param::{QueryOrder, QueryParam};
pub use read_context::ReadContext;
pub use statement::{RowWindow, counting};
pub use wheres::{ColumnCondition, ConditionContext, ModelFilter};
