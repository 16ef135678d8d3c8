//! `wheres` and `havings` of a QueryDSL.

use super::super::chain::{ConditionChain, ConditionLink, ConditionNode};
use super::super::fault::{QueryFault, QueryResult};
use super::super::object::QueryObject;
use super::super::operator::{self, ComparisonOperator, Operand, OperandKind};
use super::field::is_name;
use super::query::{FieldCondition, FieldOperand, QueryField};
use super::reader::{DslReader, is_comparable, join};
use super::resolve::NameScope;
use serde_json::Value;

/// The operators of a QueryDSL.
const OPERATORS: &[&str] = &[
    "=", "<>", "!=", ">", ">=", "<", "<=", "like", "match", "in", "is",
];

const KEYS: &[&str] = &[
    "field", "op", "value", "or", "wheres", "havings", "query", "comment",
];

/// A condition as it is written, in whichever form.
struct RawCondition<'q> {
    field: &'q str,
    operator: &'q str,
    value: Option<&'q Value>,
    query: Option<&'q Value>,
    is_or: bool,
}

impl DslReader<'_> {
    /// The conditions under a key.
    pub(super) fn conditions(
        &mut self,
        object: QueryObject<'_>,
        key: &str,
        scope: NameScope<'_>,
        path: &str,
    ) -> ConditionChain<FieldCondition> {
        match object.list(key) {
            Ok(list) => self.chain(list, scope, &join(path, key)),
            Err(fault) => {
                self.take::<()>(Err(fault), path);
                ConditionChain::default()
            }
        }
    }

    fn chain(
        &mut self,
        list: &[Value],
        scope: NameScope<'_>,
        path: &str,
    ) -> ConditionChain<FieldCondition> {
        let mut links = Vec::with_capacity(list.len());
        for (index, entry) in list.iter().enumerate() {
            links.extend(self.link(entry, scope, &format!("{path}[{index}]")));
        }
        ConditionChain(links)
    }

    fn link(
        &mut self,
        entry: &Value,
        scope: NameScope<'_>,
        path: &str,
    ) -> Option<ConditionLink<FieldCondition>> {
        let object = self.take(QueryObject::of(entry, "a condition"), path)?;
        let inner = ["wheres", "havings"]
            .into_iter()
            .find(|key| object.get(key).is_some());
        if let Some(key) = inner {
            let known = object.has_only(&[key, "or", "comment"]);
            self.take(known, path)?;
            let is_or = self.take(object.flag("or"), path)?;
            let list = self.take(object.list(key), path)?;
            if list.is_empty() {
                let text = "a group has no condition";
                self.faults
                    .push(QueryFault::new("empty_group", &join(path, key), text));
            }
            let chain = self.chain(list, scope, &join(path, key));
            return Some(ConditionLink {
                is_or,
                node: ConditionNode::Group(chain),
            });
        }
        let written = self.take(written(object), path)?;
        let test = self.test(&written, scope, path)?;
        Some(ConditionLink {
            is_or: written.is_or,
            node: ConditionNode::Test(test),
        })
    }

    fn test(
        &mut self,
        written: &RawCondition<'_>,
        scope: NameScope<'_>,
        path: &str,
    ) -> Option<FieldCondition> {
        let read = self.field(written.field, scope);
        let (field, _) = self.take(read, path)?;
        let operator = operator_of(written);
        let operator = self.take(operator, path)?;
        if let Some(query) = written.query {
            return self.with_query(field, operator, query, path);
        }
        let value = self.given(written.value);
        let value = self.take(value, path)?;
        let with = match &field {
            QueryField::Path { .. } => in_json(written, operator, value),
            field => {
                let holds = field.holds();
                let operand = holds.subject(written.field, self.models, |subject| {
                    let value = value.as_ref().filter(|_| written.operator != "is");
                    operator.operand(subject, value)
                });
                operand.map(FieldOperand::Operand)
            }
        };
        Some(FieldCondition {
            with: self.take(with, path)?,
            field,
            operator,
        })
    }

    /// A value, or the one that stands for `?:name`.
    fn given(&self, value: Option<&Value>) -> QueryResult<Option<Value>> {
        let name = value.and_then(Value::as_str);
        let name = name.and_then(|text| text.strip_prefix("?:"));
        match name.filter(|name| is_name(name)) {
            Some(name) => self.value(name).cloned().map(Some),
            None => Ok(value.cloned()),
        }
    }

    fn with_query(
        &mut self,
        field: QueryField,
        operator: &'static ComparisonOperator,
        query: &Value,
        path: &str,
    ) -> Option<FieldCondition> {
        let at = join(path, "query");
        let faults = self.faults.len();
        let dsl = self.query(query, &at)?;
        if self.faults.len() > faults {
            return None;
        }
        let can = matches!(
            operator.takes,
            OperandKind::Same | OperandKind::Ordered | OperandKind::List
        );
        let fits = match dsl.outputs.as_slice() {
            _ if !can => Err("an operator such as = or in"),
            [one] if is_comparable(&field, &one.field) => Ok(()),
            [_] => Err("a field of the same type"),
            _ => Err("exactly one field in its select"),
        };
        let fits = fits.map_err(|rule| {
            QueryFault::new(
                "unfit_query",
                "",
                format!("a query in a condition needs {rule}"),
            )
        });
        self.take(fits, &at)?;
        Some(FieldCondition {
            field,
            operator,
            with: FieldOperand::Query(Box::new(dsl)),
        })
    }
}

fn written(object: QueryObject<'_>) -> QueryResult<RawCondition<'_>> {
    let mut written = RawCondition {
        field: object.text("field")?.unwrap_or_default(),
        operator: object.text("op")?.unwrap_or("="),
        value: object.raw("value"),
        query: object.get("query"),
        is_or: object.flag("or")?,
    };
    let (mut fields, mut operators) = (0, 0);
    for (key, value) in object.entries() {
        let name = key.strip_prefix("or ").unwrap_or(key).strip_prefix(':');
        if let Some(name) = name {
            written.field = name;
            written.is_or |= key.starts_with("or ");
            fields += 1;
        } else if OPERATORS.contains(&key) {
            (written.operator, written.value) = (key, Some(value));
            operators += 1;
        } else if !KEYS.contains(&key) {
            let known = KEYS.iter().chain(OPERATORS).copied();
            return Err(QueryFault::unknown("key", key, key, known));
        }
    }
    let has = |key: &str| usize::from(object.raw(key).is_some());
    if fields + has("field") > 1 || operators + has("op").max(has("value")) > 1 {
        let text = "a condition has one field and one operator";
        return Err(QueryFault::new("conflict", "", text));
    }
    if written.field.is_empty() {
        return Err(QueryFault::new("missing_field", "", "field is missing"));
    }
    Ok(written)
}

fn operator_of(written: &RawCondition<'_>) -> QueryResult<&'static ComparisonOperator> {
    let name = written.operator;
    if name == "is" {
        let value = written.value.filter(|value| !value.is_null());
        let text = value.map_or(Some("null"), Value::as_str);
        let text = text.map(str::to_ascii_lowercase);
        return match text.as_deref() {
            Some("null") => operator::find(Some("null"), ""),
            Some("not null" | "notnull") => operator::find(Some("notnull"), ""),
            _ => Err(QueryFault::new(
                "invalid_value",
                "",
                "is needs \"null\" or \"not null\"",
            )),
        };
    }
    match OPERATORS
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
    {
        true => operator::find(Some(name), ""),
        false => Err(QueryFault::unknown_of("operator", name, "", OPERATORS)),
    }
}

/// What a value within JSON is compared with: values that have the same type.
fn in_json(
    written: &RawCondition<'_>,
    operator: &ComparisonOperator,
    value: Option<Value>,
) -> QueryResult<FieldOperand> {
    let missing = || QueryFault::missing("", written.field);
    let value = match operator.takes {
        OperandKind::Nothing => return Ok(FieldOperand::Operand(Operand::Null)),
        _ => value.ok_or_else(missing)?,
    };
    let is_plain =
        |value: &Value| matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_));
    let is_fit = match operator.takes {
        OperandKind::Same => is_plain(&value) || value.is_null(),
        OperandKind::Ordered => value.is_string() || value.is_number(),
        OperandKind::Text => value.is_string(),
        OperandKind::List => value
            .as_array()
            .is_some_and(|list| list.iter().all(is_plain)),
        OperandKind::Nothing | OperandKind::Range => false,
    };
    if has_null_character(&value) {
        let rule = "must not contain the character U+0000";
        return Err(QueryFault::value(written.field, rule));
    }
    match is_fit {
        true => Ok(FieldOperand::Json(value)),
        false => {
            let rule = "must be a text, a number or a boolean; for \"in\" a list of them";
            Err(QueryFault::value(written.field, rule))
        }
    }
}

fn has_null_character(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_null_character),
        _ => false,
    }
}
