//! The way from the rows of one model to those of another.

use super::fault::{QueryFault, QueryResult};
use super::query_param::QueryParam;
use super::read_context::{ReadContext, column};
use super::wheres::ConditionContext;
use crate::model::definition::RelationKind;
use crate::model::{ModelRelation, TableModel};
use sea_query::{Alias, Condition, Expr, ExprTrait, Query};
use serde_json::Value;
use std::sync::Arc;

/// A relation, step by step.
#[derive(Clone, Debug)]
pub struct RelationPath {
    /// One or many.
    pub kind: RelationKind,
    /// The steps in order; never none.
    pub steps: Vec<RelationStep>,
}

/// One step.
#[derive(Clone, Debug)]
pub struct RelationStep {
    /// The model that it leads to.
    pub model: Arc<TableModel>,
    /// The column of that model.
    pub key: String,
    /// The column of the model that it comes from.
    pub foreign: String,
    /// What the definition asks of the related rows: all of these hold, and the last also says what is loaded of them.
    pub queries: Vec<Arc<QueryParam>>,
}

/// What a related row must meet, as a condition on the table of this name.
type RowPredicate<'m> = &'m mut dyn FnMut(&mut ReadContext<'_>, &str) -> Condition;

impl RelationPath {
    /// The relation of this name.
    pub fn parse(about: ConditionContext<'_>, name: &str) -> QueryResult<Self> {
        Self::find(about, name).unwrap_or_else(|| {
            let names = about.model.relations.keys().map(String::as_str);
            let known = names.filter(|name| Self::find(about, name).is_some());
            Err(QueryFault::unknown("relation", name, "", known))
        })
    }

    /// The relation of this name, if it is there for the caller. What leads out of reach is not, whatever else is wrong with it.
    fn find(about: ConditionContext<'_>, name: &str) -> Option<QueryResult<Self>> {
        let relation = about.model.relations.get(name)?;
        let Some(may_reach) = about.may_reach else {
            return Some(Self::read(about, name, relation));
        };
        let anywhere = ConditionContext {
            may_reach: None,
            ..about
        };
        let route = Self::read(anywhere, name, relation).ok()?;
        let is_open = route.models().into_iter().all(may_reach);
        is_open.then_some(Ok(route))
    }

    fn read(
        about: ConditionContext<'_>,
        name: &str,
        relation: &ModelRelation,
    ) -> QueryResult<Self> {
        let read = || match relation.links.as_slice() {
            [] => Ok(vec![step(about, relation)?]),
            links => {
                let steps = links.iter().map(|link| step(about, link));
                let mut steps = steps.collect::<QueryResult<Vec<_>>>()?;
                if let (Some(last), Some(query)) = (steps.last_mut(), &relation.query) {
                    let query = definition_query(about, &last.model, query)?;
                    last.queries.push(query);
                }
                Ok(steps)
            }
        };
        let steps = read();
        let steps = steps.map_err(|fault: QueryFault| QueryFault {
            message: format!("relation \"{name}\": {}", fault.message),
            ..fault
        })?;
        Ok(Self {
            kind: relation.kind,
            steps,
        })
    }

    /// The model that it leads to.
    pub fn last(&self) -> QueryResult<&TableModel> {
        let last = self.steps.last().map(|step| &*step.model);
        last.ok_or_else(|| QueryFault::new("unknown_relation", "", "the relation leads nowhere"))
    }

    /// The models that it leads through and to, and those that what its definition asks leads to.
    pub fn models(&self) -> Vec<&TableModel> {
        let mut models = Vec::new();
        for step in &self.steps {
            models.push(&*step.model);
            models.extend(step.queries.iter().flat_map(|query| query.related()));
        }
        models
    }

    /// Whether rows of this model are led on by a column with `crypt`, in any step.
    pub fn hangs_on_secret(&self, model: &TableModel) -> bool {
        let mut from = model;
        self.steps.iter().any(|step| {
            let columns = [from.column(&step.foreign), step.model.column(&step.key)];
            from = &step.model;
            columns
                .iter()
                .flatten()
                .any(|column| column.crypt.is_some())
        })
    }

    /// That a row of `table` has a related row that is there for the caller and meets a condition.
    pub fn exists(
        &self,
        reading: &mut ReadContext<'_>,
        table: &str,
        meets: RowPredicate<'_>,
    ) -> Condition {
        exists(&self.steps, reading, table, meets)
    }
}

fn exists(
    steps: &[RelationStep],
    reading: &mut ReadContext<'_>,
    table: &str,
    meets: RowPredicate<'_>,
) -> Condition {
    let Some((step, rest)) = steps.split_first() else {
        return meets(reading, table);
    };
    let name = reading.name();
    let mut rows = Query::select();
    rows.expr(Expr::cust("1"))
        .from_as(Alias::new(&step.model.table), Alias::new(&name))
        .cond_where(column(&name, &step.key).eq(column(table, &step.foreign)))
        .cond_where(step.condition(reading, &name))
        .cond_where(exists(rest, reading, &name, meets));
    Expr::exists(rows.take()).into()
}

impl RelationStep {
    /// What a row must be to be led to.
    pub fn condition(&self, reading: &mut ReadContext<'_>, table: &str) -> Condition {
        let mut all = reading.visible(&self.model, table);
        for query in &self.queries {
            if !query.wheres.is_empty() {
                all = all.add(query.wheres.on(reading, table));
            }
        }
        all
    }

    /// What is loaded of the rows.
    pub fn query(&self) -> Option<&QueryParam> {
        self.queries.last().map(|query| &**query)
    }
}

/// What a definition asks of related rows.
fn definition_query(
    about: ConditionContext<'_>,
    model: &Arc<TableModel>,
    query: &Value,
) -> QueryResult<Arc<QueryParam>> {
    let select = QueryParam::read(about.of(model).deeper()?, model, query)?;
    Ok(Arc::new(select))
}

fn step(about: ConditionContext<'_>, link: &ModelRelation) -> QueryResult<RelationStep> {
    let failed = |message: String| QueryFault::new("broken_relation", "", message);
    let model = about.models.find(&link.model, &about.model.id);
    let model = model.map_err(|error| failed(error.message))?;
    let query = link.query.as_ref();
    let query = query
        .map(|query| definition_query(about, &model, query))
        .transpose()?;
    about.of(&model).column(&link.key)?;
    Ok(RelationStep {
        queries: query.into_iter().collect(),
        model,
        key: link.key.clone(),
        foreign: link.foreign.clone(),
    })
}
