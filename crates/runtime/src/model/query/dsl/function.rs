//! Functions of fields: a table.

use super::super::fault::{Fault, Parsed};
use super::holds::{Class, Holds};
use crate::model::database::Dialect;
use crate::model::kind::Shape;
use sea_query::{Alias, Asterisk, Expr, ExprTrait, Func};

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Whether it makes one value of many rows.
    pub is_aggregate: bool,
    takes: Takes,
    gives: Gives,
    write: fn(&Argument, Dialect) -> Expr,
}

/// What it is called with.
pub struct Argument {
    /// The column; none for `*`.
    pub expr: Option<Expr>,
    /// Whether the same values count once.
    pub is_distinct: bool,
    /// What the column holds; none for `*`.
    pub holds: Option<Holds>,
}

#[derive(Debug, PartialEq, Eq)]
enum Takes {
    Anything,
    Numbers,
    Ordered,
    Texts,
}

#[derive(Debug, PartialEq, Eq)]
enum Gives {
    Whole,
    Real,
    Same,
    /// Whole numbers of whole numbers, else numbers.
    Number,
    Text,
}

/// All functions.
pub const FUNCTIONS: &[Function] = &[
    aggregate("COUNT", (Takes::Anything, Gives::Whole), count),
    aggregate("SUM", (Takes::Numbers, Gives::Number), sum),
    aggregate("AVG", (Takes::Numbers, Gives::Real), average),
    aggregate("MIN", (Takes::Ordered, Gives::Same), |of, _| {
        Func::min(of.column()).into()
    }),
    aggregate("MAX", (Takes::Ordered, Gives::Same), |of, _| {
        Func::max(of.column()).into()
    }),
    plain("ABS", (Takes::Numbers, Gives::Number), |of, dialect| {
        number(Func::abs(of.column()).into(), of, dialect)
    }),
    plain("LENGTH", (Takes::Texts, Gives::Whole), |of, _| {
        Func::cust(Alias::new("LENGTH")).arg(of.column()).into()
    }),
    plain("LOWER", (Takes::Texts, Gives::Text), |of, _| {
        Func::lower(of.column()).into()
    }),
    plain("UPPER", (Takes::Texts, Gives::Text), |of, _| {
        Func::upper(of.column()).into()
    }),
];

type Write = fn(&Argument, Dialect) -> Expr;

const fn aggregate(name: &'static str, (takes, gives): (Takes, Gives), write: Write) -> Function {
    Function {
        name,
        is_aggregate: true,
        takes,
        gives,
        write,
    }
}

const fn plain(name: &'static str, form: (Takes, Gives), write: Write) -> Function {
    Function {
        is_aggregate: false,
        ..aggregate(name, form, write)
    }
}

impl Function {
    /// The function of this name.
    pub fn find(name: &str) -> Parsed<&'static Self> {
        let found = FUNCTIONS
            .iter()
            .find(|row| row.name.eq_ignore_ascii_case(name));
        let known = FUNCTIONS.iter().map(|row| row.name);
        found.ok_or_else(|| Fault::unknown("function", name, "", known))
    }

    /// Whether it can be called so.
    pub fn check(&self, argument: Option<&Holds>, is_distinct: bool) -> Parsed<()> {
        let wrong = |rule: &str| {
            let text = format!("{} {rule}", self.name);
            Err(Fault::new("invalid_argument", "", text))
        };
        if is_distinct && self.name != "COUNT" {
            return wrong("knows no DISTINCT: only COUNT does");
        }
        let Some(holds) = argument else {
            return match self.takes {
                Takes::Anything => Ok(()),
                _ => wrong("needs a column, not *"),
            };
        };
        let is_fit = match self.takes {
            Takes::Anything => true,
            Takes::Numbers => holds.class() == Class::Number,
            Takes::Ordered => holds.is_ordered(),
            Takes::Texts => holds.class() == Class::Text,
        };
        match self.takes {
            _ if is_fit => Ok(()),
            Takes::Texts => wrong("needs a column of texts"),
            Takes::Ordered => wrong("needs a column whose values have an order"),
            _ => wrong("needs a column of numbers (of decimal ones, with at most 15 digits)"),
        }
    }

    /// What it gives.
    pub fn gives(&self, argument: Option<&Holds>) -> Holds {
        let is_whole = argument.is_some_and(is_whole);
        match (&self.gives, argument) {
            (Gives::Same, Some(holds)) => holds.clone(),
            (Gives::Text, _) => Holds::plain("longText"),
            (Gives::Number, _) if is_whole => Holds::plain("bigInteger"),
            (Gives::Whole, _) => Holds::plain("bigInteger"),
            (Gives::Real | Gives::Number | Gives::Same, _) => Holds::plain("double"),
        }
    }

    /// The call.
    pub fn write(&self, argument: &Argument, dialect: Dialect) -> Expr {
        (self.write)(argument, dialect)
    }
}

impl Argument {
    fn column(&self) -> Expr {
        let expr = self.expr.clone();
        expr.unwrap_or_else(|| Expr::col(Asterisk))
    }
}

fn is_whole(holds: &Holds) -> bool {
    holds.look(|column| matches!(column.kind.shape, Shape::Whole(..)))
}

fn count(of: &Argument, _: Dialect) -> Expr {
    match of.is_distinct {
        true => Func::count_distinct(of.column()).into(),
        false => Func::count(of.column()).into(),
    }
}

fn sum(of: &Argument, dialect: Dialect) -> Expr {
    let sum = Func::sum(of.column()).into();
    number(sum, of, dialect)
}

fn average(of: &Argument, dialect: Dialect) -> Expr {
    match dialect {
        Dialect::Sqlite => Func::avg(of.column()).into(),
        Dialect::Postgres => Func::avg(of.column().cast_as(Alias::new(DOUBLE))).into(),
    }
}

const DOUBLE: &str = "double precision";

/// A number as both databases give it: PostgreSQL's sums have types of their own, SQLite's sums of decimal numbers have
/// traces of binary ones.
fn number(expr: Expr, of: &Argument, dialect: Dialect) -> Expr {
    let digits = of.holds.as_ref().map(|holds| {
        holds.look(|column| match column.kind.shape {
            Shape::Whole(..) => None,
            Shape::Decimal { .. } => Some(Some(column.digits().1)),
            _ => Some(None),
        })
    });
    match (dialect, digits.flatten()) {
        (Dialect::Postgres, None) => expr.cast_as(Alias::new("bigint")),
        (Dialect::Postgres, Some(_)) => expr.cast_as(Alias::new(DOUBLE)),
        (Dialect::Sqlite, Some(Some(scale))) => {
            let scale = i64::from(scale);
            Func::round_with_precision(expr, Expr::Constant(scale.into())).into()
        }
        (Dialect::Sqlite, _) => expr,
    }
}
