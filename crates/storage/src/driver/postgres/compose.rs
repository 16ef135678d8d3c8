//! Expressions that stand together become one statement, which costs the server and the way to it far less than one for each.
//!
//! `SELECT write, write FROM (SELECT check FROM (SELECT begin_batch(…)) AS earlier) AS earlier` does them in the order that
//! matters: a subquery that changes something is done before what selects from it, and so are scalar subqueries of a write, which
//! are evaluated where their value is needed. An expression must be a function that looks for itself: what the statement
//! itself selects from a table is as it was before the locks were taken.

use super::sql_value::SqlValue;
use super::statement::{QueuedStatement, StatementKind};
use std::borrow::Cow;
use std::fmt::Write;

/// The most expressions in one statement, and the most equal ones among them: few texts recur then, and each new one is prepared
/// once a connection.
const MOST: usize = 12;
const MOST_ALIKE: usize = 3;
/// The most expressions in a statement of equal ones.
const MOST_EQUAL: usize = 8;

/// One statement as it is sent: a query, or expressions put together.
pub(super) struct ComposedStatement {
    pub(super) parts: Vec<QueuedStatement>,
}

/// Which expressions that stand together become one statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ComposeMode {
    /// All of one batch, the order of whose writes does not matter.
    WholeBatch,
    /// Equal ones of several such batches, which would make ever new statements else.
    SameExpression,
    /// None: the order matters, or a refusal must tell what was refused.
    Separate,
}

impl ComposeMode {
    /// Whether one statement can be made of these parts and the next one.
    fn takes(self, parts: &[QueuedStatement], next: &QueuedStatement) -> bool {
        let alike = parts.iter().filter(|part| part.sql == next.sql).count();
        match self {
            Self::WholeBatch => parts.len() < MOST && alike < MOST_ALIKE,
            Self::SameExpression => alike == parts.len() && alike < MOST_EQUAL,
            Self::Separate => false,
        }
    }
}

/// Statements as they are sent.
pub(super) fn compose(
    mut queue: Vec<QueuedStatement>,
    composing: ComposeMode,
) -> Vec<ComposedStatement> {
    if composing != ComposeMode::Separate {
        let are_expressions_of_one_kind = |one: &QueuedStatement, next: &QueuedStatement| {
            one.kind == next.kind && one.kind != StatementKind::Query
        };
        // Batches alike make the same text then. Equal writes stay in their order.
        let runs = queue.chunk_by_mut(are_expressions_of_one_kind);
        runs.for_each(|run| run.sort_by_key(|part| part.sql));
    }
    let mut statements: Vec<ComposedStatement> = Vec::new();
    for next in queue {
        match statements.last_mut() {
            Some(last) if last.goes_before(&next) && composing.takes(&last.parts, &next) => {
                last.parts.push(next);
            }
            _ => statements.push(ComposedStatement::of(next)),
        }
    }
    statements
}

impl ComposedStatement {
    pub(super) fn of(part: QueuedStatement) -> Self {
        Self { parts: vec![part] }
    }

    /// Whether what comes next can stand behind these parts in one statement.
    fn goes_before(&self, next: &QueuedStatement) -> bool {
        let last = self.parts.last();
        last.is_some_and(|last| last.kind != StatementKind::Query && next.kind >= last.kind)
    }

    /// The text, with the values of all parts numbered consecutively.
    pub(super) fn sql(&self) -> Cow<'static, str> {
        if let [part] = self.parts.as_slice()
            && part.kind == StatementKind::Query
        {
            return Cow::Borrowed(part.sql);
        }
        let (mut sql, mut bound) = (String::new(), 0);
        for of_one_kind in self.parts.chunk_by(|one, next| one.kind == next.kind) {
            let mut select = String::new();
            for part in of_one_kind {
                select.push_str(if select.is_empty() { "SELECT " } else { ", " });
                renumber(&mut select, part.sql, bound);
                bound += part.values.len();
            }
            if !sql.is_empty() {
                let _ = write!(select, " FROM ({sql}) AS earlier");
            }
            sql = select;
        }
        Cow::Owned(sql)
    }

    /// The values of all parts.
    pub(super) fn values(&self) -> impl Iterator<Item = &SqlValue> {
        self.parts.iter().flat_map(|part| &part.values)
    }

    /// The parts, each with the column of its value. Only those that were selected last have one.
    pub(super) fn into_columns(self) -> impl Iterator<Item = (usize, QueuedStatement)> {
        let last = self.parts.last().map(|part| part.kind);
        let mut column = 0;
        self.parts.into_iter().map(move |part| {
            let own = column;
            column += usize::from(Some(part.kind) == last);
            (own, part)
        })
    }
}

/// Adds an expression whose values are numbered behind those that are bound before.
fn renumber(sql: &mut String, expression: &str, bound: usize) {
    let mut pieces = expression.split('$');
    sql.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find(|letter: char| !letter.is_ascii_digit());
        let (number, rest) = piece.split_at(end.unwrap_or(piece.len()));
        let number: usize = number.parse().unwrap_or(0);
        let _ = write!(sql, "${}{rest}", number + bound);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sql_value::bind;
    use super::*;

    fn texts(queue: Vec<QueuedStatement>, composing: ComposeMode) -> Vec<String> {
        let wave = compose(queue, composing).into_iter();
        wave.map(|statement| statement.sql().into_owned()).collect()
    }

    fn batch() -> Vec<QueuedStatement> {
        vec![
            QueuedStatement::locks("begin($1, $2)", bind![1_i64, 2_i64]),
            QueuedStatement::check("check($1)", bind![3_i64]),
            QueuedStatement::write("write($1, $2)", bind![4_i64, 5_i64]),
            QueuedStatement::write("append($2, $1)", bind![6_i64, 7_i64]),
            QueuedStatement::write("write($1, $2)", bind![8_i64, 9_i64]),
        ]
    }

    #[test]
    fn a_batch_is_one_statement_with_its_values_numbered_consecutively() {
        let wanted = "SELECT append($5, $4), write($6, $7), write($8, $9) FROM \
             (SELECT check($3) FROM (SELECT begin($1, $2)) AS earlier) AS earlier";
        assert_eq!(texts(batch(), ComposeMode::WholeBatch), [wanted]);
        let mut wave = compose(batch(), ComposeMode::WholeBatch);
        let columns = wave.remove(0).into_columns();
        let columns: Vec<_> = columns.map(|(column, part)| (column, part.sql)).collect();
        let wanted = [
            (0, "begin($1, $2)"),
            (0, "check($1)"),
            (0, "append($2, $1)"),
            (1, "write($1, $2)"),
            (2, "write($1, $2)"),
        ];
        assert_eq!(columns, wanted);
    }

    #[test]
    fn of_several_batches_what_is_the_same_goes_together() {
        let wanted = [
            "SELECT begin($1, $2)",
            "SELECT check($1)",
            "SELECT append($2, $1)",
            "SELECT write($1, $2), write($3, $4)",
        ];
        assert_eq!(texts(batch(), ComposeMode::SameExpression), wanted);
        assert_eq!(texts(batch(), ComposeMode::Separate).len(), 5);
    }

    #[test]
    fn a_query_stays_between_what_stands_before_and_behind_it() {
        let mut queue = batch();
        queue.insert(3, QueuedStatement::query("SELECT 1", Vec::new()));
        queue.extend((0..MOST_ALIKE).map(|_| QueuedStatement::write("more()", Vec::new())));
        let statements = texts(queue, ComposeMode::WholeBatch);
        assert_eq!(statements[1], "SELECT 1");
        let wanted = "SELECT append($2, $1), more(), more(), more(), write($3, $4)";
        assert_eq!(statements[2..], [wanted]);
    }
}
