//! The way from the rows of one model to those of another.

use super::fault::{Fault, Parsed};
use super::param::Select;
use super::reading::{Reading, column};
use super::wheres::{About, relation};
use crate::model::definition::RelationKind;
use crate::model::{Model, Relation};
use sea_query::{Alias, Condition, Expr, ExprTrait, Query};
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
    /// What the definition asks of the related rows.
    pub query: Option<Arc<Select>>,
}

/// That there is no relation of a name.
pub fn near(model: &Model, name: &str) -> Fault {
    let known = model.relations.keys().map(String::as_str);
    Fault::unknown("relation", name, "", known)
}

impl Route {
    /// The relation of this name.
    pub fn parse(about: About<'_>, name: &str) -> Parsed<Self> {
        let relation = relation(about.model, name)?;
        let links = match relation.links.as_slice() {
            [] => std::slice::from_ref(relation),
            links => links,
        };
        let steps = links.iter().map(|link| step(about, link));
        let steps = steps.collect::<Parsed<Vec<_>>>();
        let steps = steps.map_err(|fault| Fault {
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
    pub fn exists(
        &self,
        reading: &mut Reading<'_>,
        table: &str,
        meets: &mut dyn FnMut(&mut Reading<'_>, &str) -> Condition,
    ) -> Condition {
        exists(&self.steps, reading, (table, meets))
    }
}

fn exists(
    steps: &[Step],
    reading: &mut Reading<'_>,
    (table, meets): (&str, &mut dyn FnMut(&mut Reading<'_>, &str) -> Condition),
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
        let visible = reading.visible(&self.model, table);
        match &self.query {
            Some(query) if !query.wheres.is_empty() => visible.add(query.wheres.on(reading, table)),
            _ => visible,
        }
    }
}

fn step(about: About<'_>, link: &Relation) -> Parsed<Step> {
    let failed = |message: String| Fault::new("broken_relation", "", message);
    let model = about.models.find(&link.model, &about.model.id);
    let model = model.map_err(|error| failed(error.message))?;
    let query = match &link.query {
        Some(query) => {
            let about = about.of(&model).deeper()?;
            Some(Arc::new(Select::read(about, &model, query)?))
        }
        None => None,
    };
    about.of(&model).column(&link.key)?;
    Ok(Step {
        query,
        model,
        key: link.key.clone(),
        foreign: link.foreign.clone(),
    })
}
