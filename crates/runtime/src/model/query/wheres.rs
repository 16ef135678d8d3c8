//! `wheres` of a QueryParam: conditions on columns of a model and of what is related to it.

use super::chain::{ConditionChain, ConditionLink, ConditionNode};
use super::fault::{QueryFault, QueryResult};
use super::object::QueryObject;
use super::operator::{self, ComparisonOperator, ComparisonSubject, Operand};
use super::read_context::{ReadContext, column};
use super::relation::RelationPath;
use crate::model::{ModelRelation, TableColumn, TableModel, TableModels};
use sea_query::Condition;
use serde_json::Value;
use std::sync::Arc;

/// How deep queries, groups and relations may be within each other.
pub const DEPTH: usize = 8;

/// The longest text that is looked for where callers ask, and no script of the app.
const PATTERN: usize = 200;

const TEST_KEYS: &[&str] = &["column", "value", "op", "rel", "method", "wheres"];
const GROUP_KEYS: &[&str] = &["wheres", "method"];

/// One condition on a column.
#[derive(Clone, Debug)]
pub struct ColumnCondition {
    /// The way to the related rows that it is about; else it is about the row itself.
    route: Option<Arc<RelationPath>>,
    column: String,
    operator: &'static ComparisonOperator,
    operand: Operand,
}

/// What parsing is about: a model, and how deep it is within the query.
#[derive(Clone, Copy)]
pub struct ConditionContext<'m> {
    /// All models.
    pub models: &'m TableModels,
    /// The one whose columns are meant.
    pub model: &'m TableModel,
    /// How many queries, groups and relations are around.
    pub depth: usize,
    /// The models that relations may lead to; all where nothing is said.
    pub may_reach: Option<ModelFilter<'m>>,
}

/// Which models are there for a caller.
pub type ModelFilter<'m> = &'m (dyn Fn(&TableModel) -> bool + Sync);

impl<'m> ConditionContext<'m> {
    /// One level further in.
    pub fn deeper(self) -> QueryResult<Self> {
        let depth = self.depth + 1;
        let too_deep = || {
            let text = format!("queries may be {DEPTH} levels deep");
            QueryFault::new("too_deep", "", text)
        };
        let deeper = Self { depth, ..self };
        (depth <= DEPTH).then_some(deeper).ok_or_else(too_deep)
    }

    /// The same for another model.
    pub fn of<'o>(self, model: &'o TableModel) -> ConditionContext<'o>
    where
        'm: 'o,
    {
        ConditionContext {
            models: self.models,
            model,
            depth: self.depth,
            may_reach: self.may_reach,
        }
    }

    /// The model's relations that can be followed, with their names.
    pub fn relations(self) -> impl Iterator<Item = (&'m String, &'m ModelRelation)> {
        let relations = self.model.relations.iter();
        relations.filter(move |(name, _)| RelationPath::parse(self, name).is_ok())
    }

    /// A column that the model has.
    pub fn column(self, name: &str) -> QueryResult<&'m TableColumn> {
        self.model.column(name).ok_or_else(|| {
            let known = self.model.columns.iter().map(|column| column.name.as_str());
            QueryFault::unknown("column", name, "", known)
        })
    }

    /// The conditions of a list.
    pub fn chain(self, list: &[Value]) -> QueryResult<ConditionChain<ColumnCondition>> {
        let links = list.iter().enumerate();
        let links = links.map(|(index, entry)| {
            let link = self.link(entry);
            link.map_err(|fault| fault.within(&format!("[{index}]")))
        });
        Ok(ConditionChain(links.collect::<QueryResult<_>>()?))
    }

    fn link(self, entry: &Value) -> QueryResult<ConditionLink<ColumnCondition>> {
        let entry = QueryObject::of(entry, "a condition")?;
        let is_or = is_or(entry)?;
        if entry.get("wheres").is_none() {
            entry.has_only(TEST_KEYS)?;
            return Ok(ConditionLink {
                is_or,
                node: ConditionNode::Test(self.test(entry)?),
            });
        }
        entry.has_only(GROUP_KEYS)?;
        let list = entry.list("wheres")?;
        if list.is_empty() {
            return Err(QueryFault::new(
                "empty_group",
                "wheres",
                "a group has no condition",
            ));
        }
        let chain = self.deeper()?.chain(list);
        Ok(ConditionLink {
            is_or,
            node: ConditionNode::Group(chain.map_err(|fault| fault.within("wheres"))?),
        })
    }

    fn test(self, entry: QueryObject<'_>) -> QueryResult<ColumnCondition> {
        let name = entry.text("column")?;
        let name =
            name.ok_or_else(|| QueryFault::new("missing_column", "", "column is missing"))?;
        let route = match entry.text("rel")? {
            Some(rel) => Some(Arc::new(self.route(rel)?)),
            None => None,
        };
        let about = match &route {
            Some(route) => self.of(route.last()?),
            None => self,
        };
        let operator = operator::find(entry.text("op")?, "")?;
        let own = about.comparison(operator, name, entry.raw("value"))?;
        Ok(ColumnCondition { route, ..own })
    }

    /// A condition on a column of the model, by the name of an operator.
    pub fn compare(
        self,
        column: &str,
        operator: &str,
        value: &Value,
    ) -> QueryResult<ColumnCondition> {
        let operator = operator::find(Some(operator), "")?;
        self.comparison(operator, column, Some(value))
    }

    fn comparison(
        self,
        operator: &'static ComparisonOperator,
        name: &str,
        value: Option<&Value>,
    ) -> QueryResult<ColumnCondition> {
        let column = self.column(name)?;
        Ok(ColumnCondition {
            route: None,
            column: column.name.clone(),
            operator,
            operand: self
                .operand(operator, column, value)
                .and_then(|operand| self.bounded(operand, name))?,
        })
    }

    fn operand(
        self,
        operator: &ComparisonOperator,
        column: &TableColumn,
        value: Option<&Value>,
    ) -> QueryResult<Operand> {
        let subject = ComparisonSubject {
            name: &column.name,
            is_equatable: column.is_comparable() || column.is_sealed(),
            is_ordered: column.is_comparable(),
            is_text: column.is_searchable(),
            bind: &|value| self.models.bind(self.model, column, value),
        };
        operator.operand(&subject, value)
    }

    /// Looking for a text takes as long as both texts together multiply, and databases cannot be stopped within one row.
    fn bounded(self, operand: Operand, name: &str) -> QueryResult<Operand> {
        match &operand {
            Operand::Text(text) if self.may_reach.is_some() && text.len() > PATTERN => {
                let rule = format!("must be a text of at most {PATTERN} bytes here");
                Err(QueryFault::value(name, &rule))
            }
            _ => Ok(operand),
        }
    }

    fn route(self, name: &str) -> QueryResult<RelationPath> {
        RelationPath::parse(self.deeper()?, name)
    }
}

/// Whether OR joins an entry to those before.
fn is_or(entry: QueryObject<'_>) -> QueryResult<bool> {
    const METHODS: &[&str] = &["where", "orwhere"];
    let Some(method) = entry.text("method")? else {
        return Ok(false);
    };
    let known = METHODS
        .iter()
        .position(|it| it.eq_ignore_ascii_case(method));
    let unknown = || QueryFault::unknown("method", method, "", METHODS.iter().copied());
    known.map(|index| index == 1).ok_or_else(unknown)
}

impl ColumnCondition {
    /// How many values it compares with.
    pub fn weight(&self) -> usize {
        self.operand.weight()
    }

    /// The way to the related rows that it is about.
    pub(super) fn route(&self) -> Option<&RelationPath> {
        self.route.as_deref()
    }

    /// The column that it is about: of this model, or of the one that its way leads to.
    pub fn subject<'c>(&'c self, model: &'c TableModel) -> Option<&'c TableColumn> {
        let model = match &self.route {
            Some(route) => route.last().ok()?,
            None => model,
        };
        model.column(&self.column)
    }

    /// As a condition on the rows of this table.
    pub fn condition(&self, reading: &mut ReadContext<'_>, table: &str) -> Condition {
        match &self.route {
            Some(route) => route.exists(reading, table, &mut |reading, table| {
                self.own(reading, table)
            }),
            None => self.own(reading, table),
        }
    }

    fn own(&self, reading: &ReadContext<'_>, table: &str) -> Condition {
        let left = column(table, &self.column);
        let operand = self.operand.clone();
        self.operator.write(left, operand, reading.dialect()).into()
    }
}

impl ConditionChain<ColumnCondition> {
    /// As a condition on the rows of this table.
    pub fn on(&self, reading: &mut ReadContext<'_>, table: &str) -> Condition {
        self.condition(&mut |test| test.condition(reading, table))
    }
}
