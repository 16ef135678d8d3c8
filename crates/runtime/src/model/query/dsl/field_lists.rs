//! The lists of fields of a QueryDSL: `select`, `groups` and `orders`.

use super::super::fault::{QueryFault, QueryResult};
use super::super::object::QueryObject;
use super::super::query_param::is_descending;
use super::query::{QueryField, QueryOutput};
use super::reader::{DslReader, join};
use super::resolve::NameScope;
use crate::model::TableColumn;
use serde_json::Value;

impl DslReader<'_> {
    /// What rows have; all columns of the first table where nothing is said.
    pub(super) fn outputs(
        &mut self,
        object: QueryObject<'_>,
        scope: NameScope<'_>,
        path: &str,
    ) -> Vec<QueryOutput> {
        let list = match object.get("select") {
            None => return scope.everything(),
            Some(Value::String(text)) => listed(text),
            Some(Value::Array(list)) => list.clone(),
            Some(_) => {
                let fault = QueryFault::form("select", "select", "must be a list");
                self.take::<()>(Err(fault), path);
                return Vec::new();
            }
        };
        if list.is_empty() {
            let fault = QueryFault::new("nothing_selected", "select", "nothing is selected");
            self.take::<()>(Err(fault), path);
        }
        let mut outputs: Vec<QueryOutput> = Vec::with_capacity(list.len());
        for (index, item) in list.iter().enumerate() {
            let at = join(path, &format!("select[{index}]"));
            let output = self.output(item, scope);
            let Some(output) = self.take(output, &at) else {
                continue;
            };
            if outputs.iter().any(|other| other.name == output.name) {
                let text = format!("\"{}\" is selected twice: name one with `as`", output.name);
                self.faults.push(QueryFault::new("same_name", &at, text));
            }
            outputs.push(output);
        }
        outputs
    }

    fn output(&self, item: &Value, scope: NameScope<'_>) -> QueryResult<QueryOutput> {
        let text = item.as_str();
        let text = text.ok_or_else(|| QueryFault::form("", "a field", "must be a text"))?;
        let (field, name) = self.field(text, scope)?;
        if !field.holds().look(TableColumn::is_readable) {
            return Err(QueryFault::secret(&name));
        }
        Ok(QueryOutput { name, field })
    }

    /// The fields of `groups` and `orders`, and whether the largest is first.
    pub(super) fn fields(
        &mut self,
        object: QueryObject<'_>,
        key: &str,
        scope: NameScope<'_>,
        path: &str,
    ) -> Vec<(QueryField, bool)> {
        let list = match object.get(key) {
            None => return Vec::new(),
            Some(Value::String(text)) => listed(text),
            Some(Value::Array(list)) => list.clone(),
            Some(_) => {
                self.take::<()>(Err(QueryFault::form(key, key, "must be a list")), path);
                return Vec::new();
            }
        };
        let mut fields = Vec::with_capacity(list.len());
        for (index, item) in list.iter().enumerate() {
            let read = self.sorted_field(item, key, scope);
            fields.extend(self.take(read, &join(path, &format!("{key}[{index}]"))));
        }
        fields
    }

    fn sorted_field(
        &self,
        item: &Value,
        key: &str,
        scope: NameScope<'_>,
    ) -> QueryResult<(QueryField, bool)> {
        let (text, sort) = match item {
            Value::String(text) => match text.trim().rsplit_once(' ') {
                Some((text, sort)) if key == "orders" => (text.trim(), Some(sort)),
                _ => (text.trim(), None),
            },
            item => {
                let item = QueryObject::of(item, "an entry")?;
                let known: &[&str] = match key {
                    "orders" => &["field", "sort", "comment"],
                    _ => &["field", "comment"],
                };
                item.has_only(known)?;
                let missing = || QueryFault::new("missing_field", "", "field is missing");
                (item.text("field")?.ok_or_else(missing)?, item.text("sort")?)
            }
        };
        let (field, _) = self.field(text, scope)?;
        let is_group = key == "groups";
        if !is_group && !matches!(field, QueryField::Path { .. }) && !field.holds().is_ordered() {
            return Err(QueryFault::unordered(text));
        }
        if is_group && field.is_aggregate() {
            let text = "rows are not grouped by what is computed from groups";
            return Err(QueryFault::new("misplaced_function", "", text));
        }
        if is_group && !field.holds().has_equality() {
            let text = format!("rows cannot be grouped by {text}: its values cannot be compared");
            return Err(QueryFault::new("unfit_column", "", text));
        }
        Ok((field, is_descending(sort)?))
    }
}

/// A list that is written as a text.
fn listed(text: &str) -> Vec<Value> {
    let items = text.split(',').map(str::trim);
    let items = items.filter(|item| !item.is_empty());
    items.map(|item| Value::String(item.to_owned())).collect()
}
