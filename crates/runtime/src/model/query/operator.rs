//! What conditions compare by: a table.

use super::fault::{QueryFault, QueryResult};
use super::sort::by_bytes;
use crate::model::SqlValue;
use crate::model::database::SqlDialect;
use sea_query::extension::postgres::PgExpr;
use sea_query::{BinOper, Expr, ExprTrait, LikeExpr};
use serde_json::Value;

/// One way of comparing.
#[derive(Debug)]
pub struct ComparisonOperator {
    /// Its names; the first is the one it is called by.
    pub names: &'static [&'static str],
    /// What it compares with.
    pub takes: OperandKind,
    write: fn(Expr, Operand, SqlDialect) -> Expr,
}

/// What an operator compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// Nothing.
    Nothing,
    /// A value, or null.
    Same,
    /// A value that is smaller or larger.
    Ordered,
    /// A text.
    Text,
    /// A list.
    List,
    /// Two values.
    Range,
}

/// What a condition compares with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Nothing, or null.
    Null,
    /// A value.
    One(SqlValue),
    /// Some values.
    Many(Vec<SqlValue>),
    /// Both ends.
    Range(SqlValue, SqlValue),
    /// A text to look for.
    Text(String),
}

/// What is compared: a column, or what is computed from columns.
pub struct ComparisonSubject<'s> {
    /// Its name, for errors.
    pub name: &'s str,
    /// Whether values can be the same.
    pub is_equatable: bool,
    /// Whether one can be larger.
    pub is_ordered: bool,
    /// Whether it is a text.
    pub is_text: bool,
    /// A value as it is bound.
    pub bind: &'s dyn Fn(&Value) -> Result<SqlValue, String>,
}

/// Values of one list at most, and of all conditions of a query: databases bind only so many.
const VALUES: usize = 10_000;

/// Conditions of a query at most: databases nest expressions only so deep.
const CONDITIONS: usize = 500;

/// The longest text that is looked for: databases refuse longer patterns.
const LONGEST: usize = 10_000;

/// All operators.
pub const OPERATORS: &[ComparisonOperator] = &[
    row(&["eq", "="], OperandKind::Same, |left, operand, _| {
        same(left, operand, BinOper::Equal)
    }),
    row(
        &["ne", "<>", "!="],
        OperandKind::Same,
        |left, operand, _| same(left, operand, BinOper::NotEqual),
    ),
    row(&["gt", ">"], OperandKind::Ordered, |left, operand, _| {
        same(left, operand, BinOper::GreaterThan)
    }),
    row(&["ge", ">="], OperandKind::Ordered, |left, operand, _| {
        same(left, operand, BinOper::GreaterThanOrEqual)
    }),
    row(&["lt", "<"], OperandKind::Ordered, |left, operand, _| {
        same(left, operand, BinOper::SmallerThan)
    }),
    row(&["le", "<="], OperandKind::Ordered, |left, operand, _| {
        same(left, operand, BinOper::SmallerThanOrEqual)
    }),
    row(&["like"], OperandKind::Text, like),
    row(&["match"], OperandKind::Text, contains),
    row(
        &["in"],
        OperandKind::List,
        |left, operand, _| match operand {
            Operand::Many(values) if !values.is_empty() => left.is_in(padded(values)),
            _ => never(),
        },
    ),
    row(
        &["notin"],
        OperandKind::List,
        |left, operand, _| match operand {
            Operand::Many(values) if !values.is_empty() => left.is_not_in(padded(values)),
            _ => always(),
        },
    ),
    row(
        &["between"],
        OperandKind::Range,
        |left, operand, _| match operand {
            Operand::Range(low, high) => left.between(low, high),
            _ => never(),
        },
    ),
    row(&["null"], OperandKind::Nothing, |left, _, _| left.is_null()),
    row(&["notnull"], OperandKind::Nothing, |left, _, _| {
        left.is_not_null()
    }),
];

const fn row(
    names: &'static [&'static str],
    takes: OperandKind,
    write: fn(Expr, Operand, SqlDialect) -> Expr,
) -> ComparisonOperator {
    ComparisonOperator {
        names,
        takes,
        write,
    }
}

/// The operator of this name; `=` where none is named.
pub fn find(name: Option<&str>, path: &str) -> QueryResult<&'static ComparisonOperator> {
    let name = name.unwrap_or("=");
    let mut rows = OPERATORS.iter();
    rows.find(|row| {
        row.names
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    })
    .ok_or_else(|| {
        let known = OPERATORS.iter().flat_map(|row| row.names.iter().copied());
        let known: Vec<&str> = known.collect();
        QueryFault::unknown_of("operator", name, path, &known)
    })
}

/// A condition that no row meets.
pub fn never() -> Expr {
    Expr::cust("1 = 0")
}

/// A condition that every row meets.
pub fn always() -> Expr {
    Expr::cust("1 = 1")
}

/// The same values, some of them again, so that there are few lengths: databases keep a plan for each statement.
pub(super) fn padded(mut values: Vec<SqlValue>) -> Vec<SqlValue> {
    if let Some(last) = values.last().cloned() {
        values.resize(values.len().next_power_of_two(), last);
    }
    values
}

/// Whether databases can take so many conditions, by how many values each has.
pub(super) fn check_size(weights: impl Iterator<Item = usize>) -> QueryResult<()> {
    let (mut conditions, mut values) = (0, 0);
    for weight in weights {
        conditions += 1;
        values += weight;
    }
    match conditions > CONDITIONS || values > VALUES {
        true => {
            let text = format!("at most {CONDITIONS} conditions with {VALUES} values");
            Err(QueryFault::new("too_large", "", text))
        }
        false => Ok(()),
    }
}

impl Operand {
    /// How many values it has.
    pub fn weight(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::One(_) | Self::Text(_) => 1,
            Self::Range(..) => 2,
            Self::Many(values) => values.len(),
        }
    }
}

impl ComparisonOperator {
    /// What it compares with, from what was given.
    pub fn operand(
        &self,
        subject: &ComparisonSubject<'_>,
        value: Option<&Value>,
    ) -> QueryResult<Operand> {
        self.fits(subject)?;
        if self.takes == OperandKind::Nothing {
            return Ok(Operand::Null);
        }
        let value = value.ok_or_else(|| QueryFault::missing("", subject.name))?;
        match self.takes {
            OperandKind::Nothing => Ok(Operand::Null),
            OperandKind::Same if value.is_null() => Ok(Operand::Null),
            OperandKind::Same | OperandKind::Ordered => self.one(subject, value).map(Operand::One),
            OperandKind::Text => self.text(subject, value),
            OperandKind::List => self.list(subject, value).map(Operand::Many),
            OperandKind::Range => match value {
                Value::Array(ends) if ends.len() == 2 => Ok(Operand::Range(
                    self.one(subject, &ends[0])?,
                    self.one(subject, &ends[1])?,
                )),
                _ => Err(QueryFault::value(
                    subject.name,
                    "must be a list of two values: [low, high]",
                )),
            },
        }
    }

    /// The condition.
    pub fn write(&self, left: Expr, operand: Operand, dialect: SqlDialect) -> Expr {
        (self.write)(left, operand, dialect)
    }

    /// The condition where the other side is an expression too.
    pub fn against(&self, left: Expr, right: Expr) -> Expr {
        let operator = match self.names[0] {
            "ne" => BinOper::NotEqual,
            "gt" => BinOper::GreaterThan,
            "ge" => BinOper::GreaterThanOrEqual,
            "lt" => BinOper::SmallerThan,
            "le" => BinOper::SmallerThanOrEqual,
            _ => BinOper::Equal,
        };
        left.binary(operator, right)
    }

    fn fits(&self, subject: &ComparisonSubject<'_>) -> QueryResult<()> {
        let (is_possible, rule) = match self.takes {
            OperandKind::Nothing => (true, ""),
            OperandKind::Same | OperandKind::List => (subject.is_equatable, "cannot be compared"),
            OperandKind::Ordered | OperandKind::Range => (subject.is_ordered, "has no order"),
            OperandKind::Text => (subject.is_text, "is no plain text"),
        };
        let message = format!(
            "\"{}\" cannot be used: {} {rule}",
            self.names[0], subject.name
        );
        is_possible
            .then_some(())
            .ok_or_else(|| QueryFault::new("unfit_operator", "", message))
    }

    fn one(&self, subject: &ComparisonSubject<'_>, value: &Value) -> QueryResult<SqlValue> {
        if value.is_null() {
            let rule = format!("must not be null for \"{}\"", self.names[0]);
            return Err(QueryFault::value(subject.name, &rule));
        }
        (subject.bind)(value).map_err(|rule| QueryFault::value(subject.name, &rule))
    }

    fn list(&self, subject: &ComparisonSubject<'_>, value: &Value) -> QueryResult<Vec<SqlValue>> {
        match value {
            Value::Array(items) => items.iter().map(|item| self.one(subject, item)).collect(),
            Value::String(text) => {
                let items = text.split(',').map(str::trim);
                let items = items.filter(|item| !item.is_empty());
                items
                    .map(|item| self.one(subject, &plain(subject, item)))
                    .collect()
            }
            _ => Err(QueryFault::value(
                subject.name,
                "must be a list, or a text with commas between the values",
            )),
        }
    }

    fn text(&self, subject: &ComparisonSubject<'_>, value: &Value) -> QueryResult<Operand> {
        let Value::String(text) = value else {
            let rule = format!("must be a text for \"{}\"", self.names[0]);
            return Err(QueryFault::value(subject.name, &rule));
        };
        if text.len() > LONGEST || text.bytes().any(|byte| byte == 0) {
            let rule = format!("must be a text of at most {LONGEST} bytes, without U+0000");
            return Err(QueryFault::value(subject.name, &rule));
        }
        Ok(Operand::Text(text.clone()))
    }
}

/// A piece of a list that is written as a text: what it is in JSON, if the column takes that.
fn plain(subject: &ComparisonSubject<'_>, item: &str) -> Value {
    let text = Value::String(item.to_owned());
    let read = serde_json::from_str(item).ok();
    let read = read.filter(|value: &Value| (subject.bind)(&text).is_err() && !value.is_null());
    read.unwrap_or(text)
}

fn same(left: Expr, operand: Operand, operator: BinOper) -> Expr {
    match operand {
        Operand::One(value) => left.binary(operator, Expr::val(value)),
        Operand::Null if operator == BinOper::Equal => left.is_null(),
        Operand::Null if operator == BinOper::NotEqual => left.is_not_null(),
        _ => never(),
    }
}

/// Texts are alike whatever the case of their ASCII letters: that is how SQLite reads patterns, and PostgreSQL where texts
/// are ordered by their bytes. What stands behind a backslash is a letter.
fn alike(left: Expr, pattern: String, dialect: SqlDialect) -> Expr {
    match dialect {
        SqlDialect::Sqlite => left.like(LikeExpr::new(pattern).escape('\\')),
        SqlDialect::Postgres => by_bytes(left).ilike(pattern),
    }
}

fn like(left: Expr, operand: Operand, dialect: SqlDialect) -> Expr {
    let Operand::Text(pattern) = operand else {
        return never();
    };
    // A backslash is a letter, as it is in SQLite.
    let pattern = pattern.replace('\\', "\\\\");
    alike(left, pattern, dialect)
}

fn contains(left: Expr, operand: Operand, dialect: SqlDialect) -> Expr {
    let Operand::Text(text) = operand else {
        return never();
    };
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    alike(left, pattern, dialect)
}
