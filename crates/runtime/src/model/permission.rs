//! What rows a caller may reach, as a condition. What is not known denies.

use super::definition::{CREATED_BY, ModelPermission, TEAM, TENANT, TableColumn, UPDATED_BY};
use super::{TableModel, TableModels};
use crate::access::Authorized;
use sea_query::{Alias, Condition, Expr, ExprTrait};
use serde_json::Value;

/// What rows of a model somebody may reach; `table` is what the statement calls the model's table. Where that is none, why:
/// `models.orders: team_only needs authorized.team_id`.
pub fn reach(
    models: &TableModels,
    model: &TableModel,
    who: &Authorized,
    table: &str,
) -> Result<Condition, String> {
    let Some(permission) = &model.options.permission else {
        return Ok(Condition::all());
    };
    let rules = PermissionRules {
        models,
        model,
        permission,
        who,
        table,
    };
    let condition = rules.condition();
    condition.map_err(|why| format!("models.{}: {why}", model.id))
}

/// What leaves out rows of a model that somebody else may reach: the tenant, and constraints by their names.
pub fn limits(model: &TableModel, who: &Authorized) -> Vec<String> {
    let Some(permission) = &model.options.permission else {
        return Vec::new();
    };
    let limits = &who.constraints;
    let flags = [
        ("tenant_id", true),
        ("team_only", limits.team_only),
        ("owner_only", limits.owner_only),
        ("creator_only", limits.creator_only),
        ("editor_only", limits.editor_only),
    ];
    let set = flags.into_iter().filter(|(_, is_set)| *is_set);
    let extra = limits.extra.iter().flatten().map(|(name, _)| name);
    let extra = extra.filter(|name| permission.extra.get(*name) != Some(&None));
    let extra = extra.map(|name| format!("extra.{name}"));
    set.map(|(name, _)| name.to_owned()).chain(extra).collect()
}

struct PermissionRules<'a> {
    models: &'a TableModels,
    model: &'a TableModel,
    permission: &'a ModelPermission,
    who: &'a Authorized,
    table: &'a str,
}

impl PermissionRules<'_> {
    fn condition(&self) -> Result<Condition, String> {
        let limits = &self.who.constraints;
        if self.who.user_id.is_none() && self.who.team_id.is_none() {
            return Err("nobody in particular is calling".to_owned());
        }
        let mut all = Condition::all().add(self.tenant());
        let is_own = limits.owner_only || limits.creator_only;
        if is_own {
            let limit = if limits.owner_only {
                "owner_only"
            } else {
                "creator_only"
            };
            all = all.add(self.column(CREATED_BY).eq(self.user(limit)?));
        }
        if limits.editor_only {
            all = all.add(self.column(UPDATED_BY).eq(self.user("editor_only")?));
        }
        if limits.team_only {
            all = all.add(self.team(is_own)?);
        }
        for (name, value) in limits.extra.iter().flatten() {
            if let Some(clause) = self.extra(name, value)? {
                all = all.add(clause);
            }
        }
        Ok(all)
    }

    fn column(&self, name: &str) -> Expr {
        Expr::col((Alias::new(self.table), Alias::new(name)))
    }

    fn user(&self, limit: &str) -> Result<&str, String> {
        let user = self.who.user_id.as_deref();
        user.ok_or_else(|| format!("{limit} needs authorized.user_id"))
    }

    fn tenant(&self) -> Expr {
        match self.who.tenant_id.as_deref() {
            Some(tenant) => self.column(TENANT).eq(tenant),
            None => self.column(TENANT).is_null(),
        }
    }

    /// The team's rows. Those that are of no team are their maker's, unless only what he made in this team is asked for.
    fn team(&self, is_own: bool) -> Result<Condition, String> {
        let team = self.who.team_id.as_deref();
        let team = team.ok_or_else(|| "team_only needs authorized.team_id".to_owned())?;
        let of_team = self.column(TEAM).eq(team);
        let any = Condition::any().add(of_team);
        Ok(match self.who.user_id.as_deref() {
            Some(user) if !is_own => any.add(
                Condition::all()
                    .add(self.column(TEAM).is_null())
                    .add(self.column(CREATED_BY).eq(user)),
            ),
            _ => any,
        })
    }

    /// The clause of one of `constraints.extra`; none where the model says that it does not apply.
    fn extra(&self, name: &str, value: &Value) -> Result<Option<Expr>, String> {
        let column = match self.permission.extra.get(name) {
            Some(None) => return Ok(None),
            Some(Some(column)) => column.as_str(),
            None => name,
        };
        let known = self.model.column(column);
        let known = known.filter(|column| column.is_comparable() || column.is_sealed());
        let Some(column) = known else {
            return Err(format!(
                "extra.{name} needs a column \"{column}\", or option.permission.extra.{name}"
            ));
        };
        let bind = |value: &Value| self.bind(name, column, value);
        let left = self.column(&column.name);
        match value {
            Value::Array(values) if !values.is_empty() => {
                let values: Result<Vec<_>, _> = values.iter().map(bind).collect();
                Ok(Some(left.is_in(values?)))
            }
            value => Ok(Some(left.eq(bind(value)?))),
        }
    }

    fn bind(
        &self,
        name: &str,
        column: &TableColumn,
        value: &Value,
    ) -> Result<sea_query::Value, String> {
        if value.is_null() {
            return Err(format!("authorized.constraints.extra.{name} has no value"));
        }
        let bound = self.models.bind(self.model, column, value);
        bound.map_err(|rule| format!("authorized.constraints.extra.{name} {rule}"))
    }
}
