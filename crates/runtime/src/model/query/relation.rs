//! The way from the rows of one model to those of another.

use super::fault::{Fault, Parsed};
use super::param::Select;
use super::reading::{Reading, column};
use super::wheres::{About, relation};
use crate::model::definition::RelationKind;
use crate::model::{Model, Relation};
use sea_query::{Alias, Condition, Expr, ExprTrait, Query};
use serde_json::Value;
use std::sync::Arc;

/// A relation, step by step.
#[derive(Clone, Debug)]
pub struct Route {
    /// One or many.
    pub kind: RelationKind,
    /// The steps in order; never none.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The model that it leads to.
    pub model: Arc<Model>,
    /// The column of that model.
    pub key: String,
    /// The column of the model that it comes from.
    pub foreign: String,
    /// What the definition asks of the related rows: all of these hold, and the last also says what is loaded of them.
    pub queries: Vec<Arc<Select>>,
}

/// What a related row must meet, as a condition on the table of this name.
type Meets<'m> = &'m mut dyn FnMut(&mut Reading<'_>, &str) -> Condition;

/// That there is no relation of a name.
pub fn near(model: &Model, name: &str) -> Fault {
    let known = model.relations.keys().map(String::as_str);
    Fault::unknown("relation", name, "", known)
}

impl Route {
    /// The relation of this name.
    pub fn parse(about: About<'_>, name: &str) -> Parsed<Self> {
        let relation = relation(about.model, name)?;
        let read = || match relation.links.as_slice() {
            [] => Ok(vec![step(about, relation)?]),
            links => {
                let steps = links.iter().map(|link| step(about, link));
                let mut steps = steps.collect::<Parsed<Vec<_>>>()?;
                if let (Some(last), Some(query)) = (steps.last_mut(), &relation.query) {
                    let query = asked(about, &last.model, query)?;
                    last.queries.push(query);
                }
                Ok(steps)
            }
        };
        let steps = read();
        let steps = steps.map_err(|fault: Fault| Fault {
            message: format!("relation \"{name}\": {}", fault.message),
            ..fault
        })?;
        Ok(Self {
            kind: relation.kind,
            steps,
        })
    }

    /// The model that it leads to.
    pub fn last(&self) -> Parsed<&Model> {
        let last = self.steps.last().map(|step| &*step.model);
        last.ok_or_else(|| Fault::new("unknown_relation", "", "the relation leads nowhere"))
    }

    /// That a row of `table` has a related row that is there for the caller and meets a condition.
    pub fn exists(&self, reading: &mut Reading<'_>, table: &str, meets: Meets<'_>) -> Condition {
        exists(&self.steps, reading, (table, meets))
    }
}

fn exists(
    steps: &[Step],
    reading: &mut Reading<'_>,
    (table, meets): (&str, Meets<'_>),
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
        .cond_where(exists(rest, reading, (&name, meets)));
    Expr::exists(rows.take()).into()
}

impl Step {
    /// What a row must be to be led to.
    pub fn condition(&self, reading: &mut Reading<'_>, table: &str) -> Condition {
        let mut all = reading.visible(&self.model, table);
        for query in &self.queries {
            if !query.wheres.is_empty() {
                all = all.add(query.wheres.on(reading, table));
            }
        }
        all
    }

    /// What is loaded of the rows.
    pub fn query(&self) -> Option<&Select> {
        self.queries.last().map(|query| &**query)
    }
}

/// What a definition asks of related rows.
fn asked(about: About<'_>, model: &Arc<Model>, query: &Value) -> Parsed<Arc<Select>> {
    let select = Select::read(about.of(model).deeper()?, model, query)?;
    Ok(Arc::new(select))
}

fn step(about: About<'_>, link: &Relation) -> Parsed<Step> {
    let failed = |message: String| Fault::new("broken_relation", "", message);
    let model = about.models.find(&link.model, &about.model.id);
    let model = model.map_err(|error| failed(error.message))?;
    let query = link.query.as_ref();
    let query = query.map(|query| asked(about, &model, query)).transpose()?;
    about.of(&model).column(&link.key)?;
    Ok(Step {
        queries: query.into_iter().collect(),
        model,
        key: link.key.clone(),
        foreign: link.foreign.clone(),
    })
}
