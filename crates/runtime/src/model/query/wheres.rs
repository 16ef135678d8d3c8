//! `wheres` of a QueryParam: conditions on columns of a model and of what is related to it.

use super::chain::{Chain, Link, Node};
use super::fault::{Fault, Parsed};
use super::object::Object;
use super::operator::{self, Operand, Operator, Subject};
use super::reading::{Reading, column};
use super::relation::{Route, near};
use crate::model::{Column, Model, Models};
use sea_query::Condition;
use serde_json::Value;
use std::sync::Arc;

/// How deep queries, groups and relations may be within each other.
pub const DEPTH: usize = 8;

const TEST_KEYS: &[&str] = &["column", "value", "op", "rel", "method", "wheres"];
const GROUP_KEYS: &[&str] = &["wheres", "method"];

/// One condition on a column.
#[derive(Clone, Debug)]
pub struct Test {
    /// The way to the related rows that it is about; else it is about the row itself.
    route: Option<Arc<Route>>,
    column: String,
    operator: &'static Operator,
    operand: Operand,
}

/// What parsing is about: a model, and how deep it is within the query.
#[derive(Clone, Copy)]
pub struct About<'m> {
    /// All models.
    pub models: &'m Models,
    /// The one whose columns are meant.
    pub model: &'m Model,
    /// How many queries, groups and relations are around.
    pub depth: usize,
}

impl<'m> About<'m> {
    /// One level further in.
    pub fn deeper(self) -> Parsed<Self> {
        let depth = self.depth + 1;
        let too_deep = || {
            let text = format!("queries may be {DEPTH} levels deep");
            Fault::new("too_deep", "", text)
        };
        let deeper = Self { depth, ..self };
        (depth <= DEPTH).then_some(deeper).ok_or_else(too_deep)
    }

    /// The same for another model.
    pub fn of<'o>(self, model: &'o Model) -> About<'o>
    where
        'm: 'o,
    {
        About {
            models: self.models,
            model,
            depth: self.depth,
        }
    }

    /// A column that the model has.
    pub fn column(self, name: &str) -> Parsed<&'m Column> {
        self.model.column(name).ok_or_else(|| {
            let known = self.model.columns.iter().map(|column| column.name.as_str());
            Fault::unknown("column", name, "", known)
        })
    }

    /// The conditions of a list.
    pub fn chain(self, list: &[Value]) -> Parsed<Chain<Test>> {
        let links = list.iter().enumerate();
        let links = links.map(|(index, entry)| {
            let link = self.link(entry);
            link.map_err(|fault| fault.within(&format!("[{index}]")))
        });
        Ok(Chain(links.collect::<Parsed<_>>()?))
    }

    fn link(self, entry: &Value) -> Parsed<Link<Test>> {
        let entry = Object::of(entry, "a condition")?;
        let is_or = is_or(entry)?;
        if entry.get("wheres").is_none() {
            entry.has_only(TEST_KEYS)?;
            return Ok(Link {
                is_or,
                node: Node::Test(self.test(entry)?),
            });
        }
        entry.has_only(GROUP_KEYS)?;
        let list = entry.list("wheres")?;
        if list.is_empty() {
            return Err(Fault::new(
                "empty_group",
                "wheres",
                "a group has no condition",
            ));
        }
        let chain = self.deeper()?.chain(list);
        Ok(Link {
            is_or,
            node: Node::Group(chain.map_err(|fault| fault.within("wheres"))?),
        })
    }

    fn test(self, entry: Object<'_>) -> Parsed<Test> {
        let name = entry.text("column")?;
        let name = name.ok_or_else(|| Fault::new("missing_column", "", "column is missing"))?;
        let route = match entry.text("rel")? {
            Some(rel) => Some(Arc::new(self.route(rel)?)),
            None => None,
        };
        let about = match &route {
            Some(route) => self.of(route.last()?),
            None => self,
        };
        let operator = operator::find(entry.text("op")?, "")?;
        let column = about.column(name)?;
        let operand = about.operand(operator, column, entry.raw("value"))?;
        Ok(Test {
            operator,
            operand,
            column: column.name.clone(),
            route,
        })
    }

    fn operand(
        self,
        operator: &Operator,
        column: &Column,
        value: Option<&Value>,
    ) -> Parsed<Operand> {
        let subject = Subject {
            name: &column.name,
            is_equatable: column.is_comparable() || column.is_sealed(),
            is_ordered: column.is_comparable(),
            is_text: column.is_searchable(),
            bind: &|value| self.models.bind(self.model, column, value),
        };
        operator.operand(&subject, value)
    }

    fn route(self, name: &str) -> Parsed<Route> {
        Route::parse(self.deeper()?, name)
    }
}

/// Whether OR joins an entry to those before.
fn is_or(entry: Object<'_>) -> Parsed<bool> {
    const METHODS: &[&str] = &["where", "orwhere"];
    let Some(method) = entry.text("method")? else {
        return Ok(false);
    };
    let known = METHODS
        .iter()
        .position(|it| it.eq_ignore_ascii_case(method));
    let unknown = || Fault::unknown("method", method, "", METHODS.iter().copied());
    known.map(|index| index == 1).ok_or_else(unknown)
}

impl Test {
    /// How many values it compares with.
    pub fn weight(&self) -> usize {
        self.operand.weight()
    }

    /// As a condition on the rows of this table.
    pub fn condition(&self, reading: &mut Reading<'_>, table: &str) -> Condition {
        match &self.route {
            Some(route) => route.exists(reading, table, &mut |reading, table| {
                self.own(reading, table)
            }),
            None => self.own(reading, table),
        }
    }

    fn own(&self, reading: &Reading<'_>, table: &str) -> Condition {
        let left = column(table, &self.column);
        let operand = self.operand.clone();
        self.operator.write(left, operand, reading.dialect()).into()
    }
}

impl Chain<Test> {
    /// As a condition on the rows of this table.
    pub fn on(&self, reading: &mut Reading<'_>, table: &str) -> Condition {
        self.condition(&mut |test| test.condition(reading, table))
    }
}

/// The relation of a name, or the fault that names the nearest.
pub fn relation<'m>(model: &'m Model, name: &str) -> Parsed<&'m crate::model::Relation> {
    model.relations.get(name).ok_or_else(|| near(model, name))
}
