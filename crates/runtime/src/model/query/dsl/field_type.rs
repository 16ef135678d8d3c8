//! What the values of a field are: those of a column, or plain ones.

use super::super::operator::ComparisonSubject;
use crate::error::{Error, Result};
use crate::model::SqlValue;
use crate::model::column_kind::{self, ColumnKind, ColumnShape};
use crate::model::database::SqlCell;
use crate::model::{TableColumn, TableModel, TableModels};
use serde_json::Value;
use std::sync::Arc;

/// What the values of a field are.
#[derive(Clone, Debug)]
pub enum FieldType {
    /// Those of a column of a model.
    Column(Arc<TableModel>, String),
    /// Those of a plain column of this type.
    Plain(&'static ColumnKind),
}

/// Values that can be compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonClass {
    /// Numbers.
    Number,
    /// True and false.
    Boolean,
    /// Texts.
    Text,
    /// Dates, times, moments, each for itself.
    Time(&'static str),
    /// What has only itself.
    Other,
}

impl FieldType {
    /// Values of the type of this name.
    pub fn plain(name: &str) -> Self {
        let found = column_kind::KINDS.iter().find(|kind| kind.name == name);
        Self::Plain(found.unwrap_or(&column_kind::KINDS[0]))
    }

    /// What the column says of it.
    pub fn look<T>(&self, of: impl FnOnce(&TableColumn) -> T) -> T {
        match self {
            Self::Column(model, name) => match model.column(name) {
                Some(column) => of(column),
                None => of(&TableColumn::new(name, &column_kind::KINDS[0])),
            },
            Self::Plain(kind) => of(&TableColumn::new("value", kind)),
        }
    }

    /// A value as it is bound.
    pub fn bind(&self, models: &TableModels, value: &Value) -> Result<SqlValue, String> {
        match self {
            Self::Column(model, _) => self.look(|column| models.bind(model, column, value)),
            Self::Plain(_) => self.look(|column| column.plain(value)),
        }
    }

    /// What a script gets of a cell.
    pub fn script_value(&self, models: &TableModels, cell: SqlCell) -> Result<Value> {
        match self {
            Self::Column(model, _) => self.look(|column| models.script_value(model, column, cell)),
            Self::Plain(_) => {
                self.look(|column| column.script_value(cell).map_err(Error::internal))
            }
        }
    }

    /// What they can be compared with.
    pub fn class(&self) -> ComparisonClass {
        self.look(|column| match column.kind.shape {
            _ if column.crypt.is_some() => ComparisonClass::Other,
            ColumnShape::Whole(..) | ColumnShape::Real { .. } => ComparisonClass::Number,
            // They are texts in one database and numbers in the other.
            ColumnShape::Decimal { .. } if column.is_long_decimal() => ComparisonClass::Other,
            ColumnShape::Decimal { .. } => ComparisonClass::Number,
            ColumnShape::Boolean => ComparisonClass::Boolean,
            ColumnShape::Text | ColumnShape::Enum | ColumnShape::Uuid | ColumnShape::Address => {
                ComparisonClass::Text
            }
            ColumnShape::Date => ComparisonClass::Time("date"),
            ColumnShape::Time => ComparisonClass::Time("time"),
            ColumnShape::Moment => ComparisonClass::Time("moment"),
            ColumnShape::Json | ColumnShape::Binary => ComparisonClass::Other,
        })
    }

    /// Whether rows can be ordered by it.
    pub fn is_ordered(&self) -> bool {
        self.look(TableColumn::is_comparable)
    }

    /// Whether the same values can be made one. JSON of a column is not the same in both databases.
    pub fn has_equality(&self) -> bool {
        match self {
            Self::Column(..) => {
                self.look(|column| column.crypt.is_some() || column.kind.shape != ColumnShape::Json)
            }
            // JSON that a query has computed is a text.
            Self::Plain(_) => true,
        }
    }

    /// As what a condition compares.
    pub fn subject<T>(
        &self,
        name: &str,
        models: &TableModels,
        use_it: impl FnOnce(&ComparisonSubject<'_>) -> T,
    ) -> T {
        let (is_ordered, is_sealed) = self.look(|it| (it.is_comparable(), it.is_sealed()));
        use_it(&ComparisonSubject {
            name,
            is_equatable: is_ordered || is_sealed,
            is_ordered,
            is_text: self.look(TableColumn::is_searchable),
            bind: &|value| self.bind(models, value),
        })
    }
}
