//! Loading related rows into rows: one statement for many rows, never one for each.

use super::answer_size::{AnswerSize, too_large};
use super::chain::ConditionChain;
use super::load::{MOST, ModelRows, RowValue, hidden, too_many};
use super::operator::padded;
use super::query_param::{EagerLoad, QueryParam};
use super::read_context::{ReadContext, column};
use super::relation::RelationStep;
use super::sort::sort;
use super::statement::RowWindow;
use crate::error::{Error, Result};
use crate::model::SqlValue;
use crate::model::database::Transaction;
use crate::model::definition::TableColumn;
use crate::value_text::value_text;
use sea_query::{Alias, ExprTrait, Func, JoinType, Order, Query, SelectStatement, WindowStatement};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Rows whose related rows are read at once: databases bind only so many values.
const AT_ONCE: usize = 1_000;

/// Loads one relation into rows.
pub(super) async fn load(
    with: &EagerLoad,
    rows: &mut ModelRows<'_>,
    transaction: &mut dyn Transaction,
    reading: &mut ReadContext<'_>,
) -> Result<()> {
    if reading.hides_secrets && with.route.hangs_on_secret(&rows.select.model) {
        rows.values.iter_mut().for_each(|row| row.push(hidden()));
        rows.loaded.push(with.name.clone());
        return Ok(());
    }
    let broken = || Error::internal(format!("relation \"{}\" leads nowhere", with.name));
    let (first, last) = with
        .route
        .steps
        .first()
        .zip(with.route.steps.last())
        .ok_or_else(broken)?;
    let foreign = rows
        .columns
        .iter()
        .position(|column| column.name == first.foreign);
    let foreign = foreign.ok_or_else(broken)?;
    let asked = RelatedQuery {
        with,
        query: merged(with, last),
        key: first.model.column(&first.key).ok_or_else(broken)?,
        first,
    };
    let place = format!("models.{}: withs.{}", rows.select.model.id, with.name);
    let mut found: HashMap<String, RelatedRows> = HashMap::new();
    let mut count = 0;
    for keys in asked.keys(rows, foreign, reading).chunks(AT_ONCE) {
        count += asked.rows(keys, &mut found, transaction, reading).await?;
        if count > asked.most() {
            return Err(too_many(&place));
        }
    }
    let is_many = with.route.kind.is_many();
    for (values, size) in rows.values.iter_mut().zip(&mut rows.sizes) {
        let related = match found.get(&value_text(&values[foreign])) {
            Some(related) => {
                let taken = reading.take(related.size);
                taken.ok_or_else(|| too_large(&place))?;
                *size = size.plus(related.size);
                related.values.clone()
            }
            None => Vec::new(),
        };
        values.push(match is_many {
            true => Value::Array(related),
            false => related.into_iter().next().unwrap_or_default(),
        });
    }
    rows.loaded.push(with.name.clone());
    Ok(())
}

/// The related rows of one key.
#[derive(Default)]
struct RelatedRows {
    values: Vec<Value>,
    /// How large all of them are.
    size: AnswerSize,
}

/// What is asked of the related rows.
struct RelatedQuery<'w> {
    with: &'w EagerLoad,
    query: QueryParam,
    first: &'w RelationStep,
    /// The column by which they are found.
    key: &'w TableColumn,
}

impl RelatedQuery<'_> {
    /// The values by which rows are found, from a column of those that they are loaded into.
    fn keys(
        &self,
        rows: &ModelRows<'_>,
        foreign: usize,
        reading: &ReadContext<'_>,
    ) -> Vec<SqlValue> {
        // As texts: what is the same in SQL may be a number here and a text there.
        let mut keys: BTreeMap<String, SqlValue> = BTreeMap::new();
        for values in &rows.values {
            let value = &values[foreign];
            // A value that the other column cannot have leads to no row.
            let bound = reading.models.bind(&self.first.model, self.key, value);
            if let (false, Ok(bound)) = (value.is_null(), bound) {
                keys.insert(value_text(value), bound);
            }
        }
        keys.into_values().collect()
    }

    /// Which of the related rows of each row, if not all.
    fn window(&self) -> Option<RowWindow> {
        let (window, is_said) = self.query.window();
        match self.with.route.kind.is_many() {
            true => is_said.then_some(window),
            false => Some(RowWindow { limit: 1, ..window }),
        }
    }

    /// How many rows are loaded at most, for all rows together.
    fn most(&self) -> u64 {
        match self.window() {
            Some(_) => MOST * 10,
            None => MOST,
        }
    }

    /// Reads the rows of some keys; the answer is how many there were.
    async fn rows(
        &self,
        keys: &[SqlValue],
        found: &mut HashMap<String, RelatedRows>,
        transaction: &mut dyn Transaction,
        reading: &mut ReadContext<'_>,
    ) -> Result<u64> {
        let columns = self.query.read_columns();
        let statement = self.statement(&columns, keys, reading);
        let rows = transaction.rows(reading.write(&statement)).await?;
        let count = rows.len() as u64;
        let mut own = Vec::with_capacity(rows.len());
        for row in &rows {
            let cell = row.get(columns.len()).cloned();
            let cell = cell.ok_or_else(|| Error::internal("a related row has no key"))?;
            own.push(value_text(&reading.models.script_value(
                &self.first.model,
                self.key,
                cell,
            )?));
        }
        let related = self.query.objects(columns, rows, transaction, reading);
        for (key, RowValue { value, size }) in own.into_iter().zip(related.await?) {
            let of_key = found.entry(key).or_default();
            of_key.size = of_key.size.plus(size);
            of_key.values.push(value);
        }
        Ok(count)
    }

    /// The related rows: their columns, then the key that leads to them.
    fn statement(
        &self,
        columns: &[&TableColumn],
        keys: &[SqlValue],
        reading: &mut ReadContext<'_>,
    ) -> SelectStatement {
        let mut rows = Query::select();
        let first = reading.name();
        rows.from_as(Alias::new(&self.first.model.table), Alias::new(&first))
            .cond_where(column(&first, &self.key.name).is_in(padded(keys.to_vec())))
            .cond_where(self.first.condition(reading, &first));
        let mut last = first.clone();
        for step in self.with.route.steps.iter().skip(1) {
            let name = reading.name();
            rows.join_as(
                JoinType::InnerJoin,
                Alias::new(&step.model.table),
                Alias::new(&name),
                column(&name, &step.key).eq(column(&last, &step.foreign)),
            );
            rows.cond_where(step.condition(reading, &name));
            last = name;
        }
        if !self.query.wheres.is_empty() {
            rows.cond_where(self.query.wheres.on(reading, &last));
        }
        let sorted = self.query.sorted(reading, &last);
        let names: Vec<String> = (0..=columns.len())
            .map(|index| format!("c{index}"))
            .collect();
        let read = columns.iter().map(|one| column(&last, &one.name));
        let read = read.chain([column(&first, &self.key.name)]);
        for (expression, name) in read.zip(&names) {
            rows.expr_as(expression, Alias::new(name));
        }
        let Some(window) = self.window() else {
            sort(&mut rows, sorted, reading.dialect());
            return rows.limit(MOST + 1).take();
        };
        let mut order =
            WindowStatement::partition_by((Alias::new(&first), Alias::new(&self.key.name)));
        sort(&mut order, sorted, reading.dialect());
        rows.expr_window_as(Func::cust("ROW_NUMBER"), order, Alias::new(NUMBER));
        numbered(rows, &names, window, &reading.name())
    }
}

/// The name of the number of a row among those of one key.
const NUMBER: &str = "n";

/// Those rows whose numbers are within the window, in order.
fn numbered(
    rows: SelectStatement,
    names: &[String],
    window: RowWindow,
    table: &str,
) -> SelectStatement {
    let last = window.offset.saturating_add(window.limit);
    let number = |limit: u64| i64::try_from(limit).unwrap_or(i64::MAX);
    let mut some = Query::select();
    for name in names {
        some.expr(column(table, name));
    }
    some.from_subquery(rows, Alias::new(table))
        .cond_where(column(table, NUMBER).gt(number(window.offset)))
        .cond_where(column(table, NUMBER).lte(number(last)));
    some.order_by_expr(column(table, NUMBER), Order::Asc);
    // More are refused, and need not be read.
    some.limit(MOST * 10 + 1);
    some
}

/// What is asked of related rows: what the caller asks, and where he says nothing what the relation asks. The conditions of
/// the relation hold besides.
fn merged(with: &EagerLoad, last: &RelationStep) -> QueryParam {
    let own = last.query();
    let Some(asked) = with.query.as_deref() else {
        let mut query = own.cloned().unwrap_or_else(|| QueryParam::of(&last.model));
        query.wheres = ConditionChain::default();
        return query;
    };
    let mut query = asked.clone();
    let Some(own) = own else {
        return query;
    };
    if query.columns.is_empty() {
        query.columns.clone_from(&own.columns);
    }
    if query.orders.is_empty() {
        query.orders.clone_from(&own.orders);
    }
    if query.limit.is_none() && query.page.is_none() && query.pagesize.is_none() {
        (query.limit, query.page, query.pagesize) = (own.limit, own.page, own.pagesize);
    }
    let is_new = |with: &&EagerLoad| !asked.withs.iter().any(|other| other.name == with.name);
    query.withs.extend(own.withs.iter().filter(is_new).cloned());
    query
}
