//! Functions of fields: a table.

use super::super::fault::{QueryFault, QueryResult};
use super::field_type::{ComparisonClass, FieldType};
use crate::model::column_kind::ColumnShape;
use crate::model::database::SqlDialect;
use sea_query::{Alias, Expr, ExprTrait, Func};

/// A function.
#[derive(Debug)]
pub struct QueryFunction {
    /// Its name.
    pub name: &'static str,
    /// Whether it makes one value of many rows.
    pub is_aggregate: bool,
    takes: ArgumentKind,
    gives: ResultKind,
    write: fn(&FunctionArgument, SqlDialect) -> Expr,
}

/// What it is called with.
pub struct FunctionArgument {
    /// The column; none for `*`.
    pub expr: Option<Expr>,
    /// Whether the same values count once.
    pub is_distinct: bool,
    /// What the column holds; none for `*`.
    pub holds: Option<FieldType>,
}

#[derive(Debug, PartialEq, Eq)]
enum ArgumentKind {
    Anything,
    Numbers,
    Ordered,
    Texts,
}

#[derive(Debug, PartialEq, Eq)]
enum ResultKind {
    Whole,
    Real,
    Same,
    /// Whole numbers of whole numbers, else numbers.
    Number,
    Text,
}

/// All functions.
pub const FUNCTIONS: &[QueryFunction] = &[
    aggregate("COUNT", ArgumentKind::Anything, ResultKind::Whole, count),
    aggregate("SUM", ArgumentKind::Numbers, ResultKind::Number, sum),
    aggregate("AVG", ArgumentKind::Numbers, ResultKind::Real, average),
    aggregate(
        "MIN",
        ArgumentKind::Ordered,
        ResultKind::Same,
        |of, dialect| extreme("MIN", "BOOL_AND", of, dialect),
    ),
    aggregate(
        "MAX",
        ArgumentKind::Ordered,
        ResultKind::Same,
        |of, dialect| extreme("MAX", "BOOL_OR", of, dialect),
    ),
    plain(
        "ABS",
        ArgumentKind::Numbers,
        ResultKind::Number,
        |of, dialect| number(Func::abs(of.column()).into(), of, dialect),
    ),
    plain("LENGTH", ArgumentKind::Texts, ResultKind::Whole, |of, _| {
        Func::cust(Alias::new("LENGTH")).arg(of.column()).into()
    }),
    plain("LOWER", ArgumentKind::Texts, ResultKind::Text, |of, _| {
        Func::lower(of.column()).into()
    }),
    plain("UPPER", ArgumentKind::Texts, ResultKind::Text, |of, _| {
        Func::upper(of.column()).into()
    }),
];

type FunctionWriter = fn(&FunctionArgument, SqlDialect) -> Expr;

const fn aggregate(
    name: &'static str,
    takes: ArgumentKind,
    gives: ResultKind,
    write: FunctionWriter,
) -> QueryFunction {
    QueryFunction {
        name,
        is_aggregate: true,
        takes,
        gives,
        write,
    }
}

const fn plain(
    name: &'static str,
    takes: ArgumentKind,
    gives: ResultKind,
    write: FunctionWriter,
) -> QueryFunction {
    QueryFunction {
        is_aggregate: false,
        ..aggregate(name, takes, gives, write)
    }
}

impl QueryFunction {
    /// The function of this name.
    pub fn find(name: &str) -> QueryResult<&'static Self> {
        let found = FUNCTIONS
            .iter()
            .find(|row| row.name.eq_ignore_ascii_case(name));
        let known = FUNCTIONS.iter().map(|row| row.name);
        found.ok_or_else(|| QueryFault::unknown("function", name, "", known))
    }

    /// Whether it can be called so.
    pub fn check(&self, argument: Option<&FieldType>, is_distinct: bool) -> QueryResult<()> {
        let wrong = |rule: &str| {
            let text = format!("{} {rule}", self.name);
            Err(QueryFault::new("invalid_argument", "", text))
        };
        if is_distinct && self.name != "COUNT" {
            return wrong("knows no DISTINCT: only COUNT does");
        }
        let Some(holds) = argument else {
            return match self.takes {
                ArgumentKind::Anything => Ok(()),
                _ => wrong("needs a column, not *"),
            };
        };
        if is_distinct && !holds.has_equality() {
            return wrong("counts no distinct JSON: its values cannot be compared");
        }
        let is_fit = match self.takes {
            ArgumentKind::Anything => true,
            ArgumentKind::Numbers => holds.class() == ComparisonClass::Number,
            ArgumentKind::Ordered => holds.is_ordered(),
            ArgumentKind::Texts => holds.class() == ComparisonClass::Text,
        };
        match self.takes {
            _ if is_fit => Ok(()),
            ArgumentKind::Texts => wrong("needs a column of texts"),
            ArgumentKind::Ordered => wrong("needs a column whose values have an order"),
            _ => wrong("needs a column of numbers (of decimal ones, with at most 15 digits)"),
        }
    }

    /// What it gives.
    pub fn gives(&self, argument: Option<&FieldType>) -> FieldType {
        let is_whole = argument.is_some_and(is_whole);
        match (&self.gives, argument) {
            (ResultKind::Same, Some(holds)) => holds.clone(),
            (ResultKind::Text, _) => FieldType::plain("longText"),
            (ResultKind::Number, _) if is_whole => FieldType::plain("bigInteger"),
            (ResultKind::Whole, _) => FieldType::plain("bigInteger"),
            (ResultKind::Real | ResultKind::Number | ResultKind::Same, _) => {
                FieldType::plain("double")
            }
        }
    }

    /// The call.
    pub fn write(&self, argument: &FunctionArgument, dialect: SqlDialect) -> Expr {
        (self.write)(argument, dialect)
    }
}

impl FunctionArgument {
    fn column(&self) -> Expr {
        let expr = self.expr.clone();
        expr.unwrap_or_else(|| Expr::cust("1"))
    }
}

fn is_whole(holds: &FieldType) -> bool {
    holds.look(|column| matches!(column.kind.shape, ColumnShape::Whole(..)))
}

fn count(of: &FunctionArgument, _: SqlDialect) -> Expr {
    match of.is_distinct {
        true => Func::count_distinct(of.column()).into(),
        false => Func::count(of.column()).into(),
    }
}

/// The smallest or the largest; PostgreSQL has functions of their own for booleans.
fn extreme(
    name: &'static str,
    of_booleans: &'static str,
    of: &FunctionArgument,
    dialect: SqlDialect,
) -> Expr {
    let class = of.holds.as_ref().map(FieldType::class);
    let name = match (dialect, class) {
        (SqlDialect::Postgres, Some(ComparisonClass::Boolean)) => of_booleans,
        _ => name,
    };
    Func::cust(Alias::new(name)).arg(of.column()).into()
}

fn sum(of: &FunctionArgument, dialect: SqlDialect) -> Expr {
    let sum = Func::sum(of.column()).into();
    number(sum, of, dialect)
}

fn average(of: &FunctionArgument, dialect: SqlDialect) -> Expr {
    match dialect {
        SqlDialect::Sqlite => Func::avg(of.column()).into(),
        SqlDialect::Postgres => Func::avg(of.column().cast_as(Alias::new(DOUBLE))).into(),
    }
}

const DOUBLE: &str = "double precision";

/// A number as both databases give it: PostgreSQL's sums have types of their own, SQLite's sums of decimal numbers have
/// traces of binary ones.
fn number(expr: Expr, of: &FunctionArgument, dialect: SqlDialect) -> Expr {
    let digits = of.holds.as_ref().map(|holds| {
        holds.look(|column| match column.kind.shape {
            ColumnShape::Whole(..) => None,
            ColumnShape::Decimal { .. } => Some(Some(column.digits().1)),
            _ => Some(None),
        })
    });
    match (dialect, digits.flatten()) {
        (SqlDialect::Postgres, None) => expr.cast_as(Alias::new("bigint")),
        (SqlDialect::Postgres, Some(_)) => expr.cast_as(Alias::new(DOUBLE)),
        (SqlDialect::Sqlite, Some(Some(scale))) => {
            let scale = i64::from(scale);
            Func::round_with_precision(expr, Expr::Constant(scale.into())).into()
        }
        (SqlDialect::Sqlite, _) => expr,
    }
}
