//! How large a query may be, with all queries within it: databases take only so much.

use super::super::fault::{QueryFault, QueryResult};
use super::super::operator::check_size;
use super::super::query_param::ORDERS;
use super::query::{FieldCondition, QueryDsl, QuerySource, SourceRows};

/// Tables that are joined at most: SQLite takes 64, and plans half as many for seconds.
const TABLES: usize = 16;

/// Fields of a row at most: PostgreSQL takes 1,664, with those that rows are ordered by.
const FIELDS: usize = 1_000;

impl QueryDsl {
    /// Whether databases can take it.
    pub fn check_size(&self) -> QueryResult<()> {
        let queries = self.queries();
        let tests = queries.iter().flat_map(|query| query.tests());
        check_size(tests.flat_map(FieldCondition::weights))?;
        queries.into_iter().try_for_each(Self::check_lists)
    }

    fn check_lists(&self) -> QueryResult<()> {
        let lists = [
            ("fields", self.outputs.len(), FIELDS),
            ("groups", self.groups.len(), ORDERS),
            ("orders", self.orders.len(), ORDERS),
            ("tables", self.tables(), TABLES),
        ];
        match lists.into_iter().find(|(_, count, most)| count > most) {
            None => Ok(()),
            Some((what, _, most)) => {
                let text = format!("a query has at most {most} {what}");
                Err(QueryFault::new("too_large", "", text))
            }
        }
    }

    /// Tables that are joined: those of a query in the place of a table too, as databases unfold it.
    fn tables(&self) -> usize {
        let tables = |source: &QuerySource| match &source.rows {
            SourceRows::Model(_) => 1,
            SourceRows::Query(dsl) => dsl.tables(),
        };
        self.sources.iter().map(tables).sum()
    }
}
