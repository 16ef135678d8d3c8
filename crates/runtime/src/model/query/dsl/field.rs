//! What a QueryDSL calls a field, as it is written: `column`, `table.column`, `$model.column`, `:COUNT(x) as y`,
//! `obj$.key`, `?:name`.

use super::super::fault::{QueryFault, QueryResult};
use crate::model::database::LONGEST_NAME;

/// A field and what it is called in rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AliasedTerm<'q> {
    /// The field.
    pub term: FieldTerm<'q>,
    /// Its name behind `as`.
    pub alias: Option<&'q str>,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldTerm<'q> {
    /// A column.
    Column(ColumnName<'q>),
    /// What is within the JSON of a column.
    Path(ColumnName<'q>, Vec<JsonPathStep>),
    /// A function.
    Function {
        /// Its name.
        name: &'q str,
        /// Its argument; none for `*`.
        argument: Option<ColumnName<'q>>,
        /// Whether the same values count once.
        is_distinct: bool,
    },
    /// A value that is given beside the query.
    SqlValue(&'q str),
}

/// The name of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnName<'q> {
    /// What the statement or the app calls its table; none where there is only one that has it.
    pub table: Option<&'q str>,
    /// The column.
    pub column: &'q str,
}

/// A step into JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonPathStep {
    /// The value of a key.
    Key(String),
    /// An item of a list.
    Index(u32),
}

/// Whether a text can be a name: letters, digits and `_`.
pub fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    let is_first = |letter: char| letter.is_alphabetic() || letter == '_';
    letters.next().is_some_and(is_first)
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
        && text.len() <= LONGEST_NAME
}

/// What a text calls a field.
pub fn parse(text: &str) -> QueryResult<AliasedTerm<'_>> {
    let (term, alias) = split_alias(text.trim())?;
    let term = match (term.strip_prefix("?:"), term.strip_prefix(':')) {
        (Some(name), _) if is_name(name) => FieldTerm::SqlValue(name),
        (Some(_), _) => return Err(unreadable(text)),
        (None, Some(call)) => function(call).ok_or_else(|| unreadable(text))?,
        (None, None) => reference(term).ok_or_else(|| unreadable(text))?,
    };
    Ok(AliasedTerm { term, alias })
}

/// A text and the name behind its `as`.
pub fn split_alias(text: &str) -> QueryResult<(&str, Option<&str>)> {
    let at = text.to_ascii_lowercase().rfind(" as ");
    let Some(at) = at else {
        return Ok((text, None));
    };
    let (term, alias) = (text[..at].trim(), text[at + 4..].trim());
    if is_name(alias) {
        return Ok((term, Some(alias)));
    }
    let rule =
        format!("\"{alias}\" cannot be a name: use letters, digits and _, at most {LONGEST_NAME}");
    Err(QueryFault::new("invalid_name", "", rule))
}

fn unreadable(text: &str) -> QueryFault {
    let known =
        "column, table.column, $model.column, :FUNCTION(column) as name, column$.key, ?:name";
    let message = format!("\"{text}\" is no field: write {known}");
    QueryFault::new("invalid_field", "", message)
}

fn function(call: &str) -> Option<FieldTerm<'_>> {
    let (name, rest) = call.split_once('(')?;
    let argument = rest.strip_suffix(')')?.trim();
    let bare = argument
        .get(..9)
        .filter(|start| start.eq_ignore_ascii_case("distinct "));
    let is_distinct = bare.is_some();
    let argument = if is_distinct {
        argument[9..].trim()
    } else {
        argument
    };
    let argument = match argument {
        "*" if !is_distinct => None,
        argument => match reference(argument)? {
            FieldTerm::Column(name) => Some(name),
            _ => return None,
        },
    };
    is_name(name).then_some(FieldTerm::Function {
        name,
        argument,
        is_distinct,
    })
}

fn reference(text: &str) -> Option<FieldTerm<'_>> {
    let text = text.strip_prefix('$').unwrap_or(text);
    let (name, path) = match text.split_once('$') {
        Some((name, path)) => (name, Some(path)),
        None => (text, None),
    };
    let (table, column) = match name.rsplit_once('.') {
        Some((table, column)) => (Some(table), column),
        None => (None, name),
    };
    let is_table = |table: &str| table.split('.').all(is_name);
    if !is_name(column) || !table.is_none_or(is_table) {
        return None;
    }
    let name = ColumnName { table, column };
    match path {
        None => Some(FieldTerm::Column(name)),
        Some(path) => Some(FieldTerm::Path(name, parts(path)?)),
    }
}

/// `.key.other[0]`.
fn parts(mut path: &str) -> Option<Vec<JsonPathStep>> {
    let mut parts = Vec::new();
    while !path.is_empty() {
        let end = |from: &str| from.find(['.', '[']).unwrap_or(from.len());
        if let Some(rest) = path.strip_prefix('.') {
            let (key, rest) = rest.split_at(end(rest));
            let is_key = !key.is_empty()
                && key
                    .chars()
                    .all(|it| it.is_alphanumeric() || matches!(it, '_' | '-'));
            parts.push(is_key.then(|| JsonPathStep::Key(key.to_owned()))?);
            path = rest;
        } else {
            let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
            let is_index = !index.is_empty() && index.bytes().all(|it| it.is_ascii_digit());
            parts.push(JsonPathStep::Index(is_index.then(|| index.parse().ok())??));
            path = rest;
        }
    }
    (!parts.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: ColumnName<'_> = ColumnName {
        table: None,
        column: "name",
    };

    #[test]
    fn fields_are_read_as_they_are_written() {
        let of = |table| ColumnName {
            table: Some(table),
            column: "name",
        };
        let count = |argument, is_distinct| FieldTerm::Function {
            name: "COUNT",
            argument,
            is_distinct,
        };
        let path = vec![
            JsonPathStep::Key("a".to_owned()),
            JsonPathStep::Index(0),
            JsonPathStep::Key("b".to_owned()),
        ];
        for (text, term, alias) in [
            ("name", FieldTerm::Column(NAME), None),
            (
                " o.name AS shown ",
                FieldTerm::Column(of("o")),
                Some("shown"),
            ),
            (
                "$agents.shop.pet.name",
                FieldTerm::Column(of("agents.shop.pet")),
                None,
            ),
            (":COUNT(*) as n", count(None, false), Some("n")),
            (":COUNT(name)", count(Some(NAME), false), None),
            (
                ":COUNT( DISTINCT $pet.name )",
                count(Some(of("pet")), true),
                None,
            ),
            ("name$.a[0].b as c", FieldTerm::Path(NAME, path), Some("c")),
            ("?:who", FieldTerm::SqlValue("who"), None),
        ] {
            assert_eq!(parse(text), Ok(AliasedTerm { term, alias }), "{text}");
        }
    }

    #[test]
    fn nothing_else_is_a_field() {
        for text in [
            "",
            "*",
            "o.*",
            "a b",
            "a;",
            "a\"b",
            "a'b",
            "a)",
            "a--",
            "1a",
            "a.b.",
            ".a",
            ":COUNT",
            ":COUNT(",
            ":COUNT()",
            ":COUNT(a)b",
            ":SUM(:ABS(a))",
            ":SUM(a$.b)",
            "a$",
            "a$.",
            "a$.b'",
            "a$[x]",
            "a$[1",
            "a$[99999999999]",
            "?:",
            "?:a b",
            "name as \"x\"",
            "name as a.b",
            "$",
            "$.a",
            "a as ",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
