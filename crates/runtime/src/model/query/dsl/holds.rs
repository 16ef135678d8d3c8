//! What the values of a field are: those of a column, or plain ones.

use super::super::operator::Subject;
use crate::error::{Error, Result};
use crate::model::database::Cell;
use crate::model::kind::{self, Kind, Shape};
use crate::model::{Column, Model, Models};
use sea_query::Value as Bound;
use serde_json::Value;
use std::sync::Arc;

/// What the values of a field are.
#[derive(Clone, Debug)]
pub enum Holds {
    /// Those of a column of a model.
    Column(Arc<Model>, String),
    /// Those of a plain column of this type.
    Plain(&'static Kind),
}

/// Values that can be compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
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

impl Holds {
    /// Values of the type of this name.
    pub fn plain(name: &str) -> Self {
        let found = kind::KINDS.iter().find(|kind| kind.name == name);
        Self::Plain(found.unwrap_or(&kind::KINDS[0]))
    }

    /// What the column says of it.
    pub fn look<T>(&self, of: impl FnOnce(&Column) -> T) -> T {
        match self {
            Self::Column(model, name) => match model.column(name) {
                Some(column) => of(column),
                None => of(&Column::new(name, &kind::KINDS[0])),
            },
            Self::Plain(kind) => of(&Column::new("value", kind)),
        }
    }

    /// A value as it is bound.
    pub fn bind(&self, models: &Models, value: &Value) -> Result<Bound, String> {
        match self {
            Self::Column(model, _) => self.look(|column| models.bind(model, column, value)),
            Self::Plain(_) => self.look(|column| column.plain(value)),
        }
    }

    /// What a script gets of a cell.
    pub fn shown(&self, models: &Models, cell: Cell) -> Result<Value> {
        match self {
            Self::Column(model, _) => self.look(|column| models.shown(model, column, cell)),
            Self::Plain(_) => self.look(|column| column.shown(cell).map_err(Error::internal)),
        }
    }

    /// What they can be compared with.
    pub fn class(&self) -> Class {
        self.look(|column| match column.kind.shape {
            _ if column.crypt.is_some() => Class::Other,
            Shape::Whole(..) | Shape::Real { .. } => Class::Number,
            // They are texts in one database and numbers in the other.
            Shape::Decimal { .. } if column.is_long_decimal() => Class::Other,
            Shape::Decimal { .. } => Class::Number,
            Shape::Boolean => Class::Boolean,
            Shape::Text | Shape::Enum | Shape::Uuid | Shape::Address => Class::Text,
            Shape::Date => Class::Time("date"),
            Shape::Time => Class::Time("time"),
            Shape::Moment => Class::Time("moment"),
            Shape::Json | Shape::Binary => Class::Other,
        })
    }

    /// Whether rows can be ordered by it.
    pub fn is_ordered(&self) -> bool {
        self.look(Column::is_comparable)
    }

    /// As what a condition compares.
    pub fn subject<T>(
        &self,
        (name, models): (&str, &Models),
        use_it: impl FnOnce(&Subject<'_>) -> T,
    ) -> T {
        let (is_ordered, is_sealed) = self.look(|it| (it.is_comparable(), it.is_sealed()));
        use_it(&Subject {
            name,
            is_equatable: is_ordered || is_sealed,
            is_ordered,
            is_text: self.look(Column::is_searchable),
            bind: &|value| self.bind(models, value),
        })
    }
}
