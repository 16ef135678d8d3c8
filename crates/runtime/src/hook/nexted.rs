//! What `Next` returned.

use super::created::tell_unread;
use super::returned::{Delegate, Returned};
use crate::error::Result;
use crate::trace::Node;
use serde_json::{Map, Value};

/// What `Next` makes of its turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Nexted {
    /// What the response is.
    pub outcome: Outcome,
    /// For the response and the trace.
    pub metadata: Map<String, Value>,
}

/// What the response of a turn is.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// This; a failed turn recovers.
    Data(Value),
    /// What another agent says; a failed turn recovers.
    Delegate(Delegate),
    /// The returned object, which has neither; a failed turn stays failed.
    Object(Value),
}

impl Outcome {
    /// True if a turn that had failed goes on.
    pub fn recovers(&self) -> bool {
        !matches!(self, Self::Object(_))
    }
}

impl Nexted {
    /// Reads the returned value; keys that are not read are named in the trace.
    pub(super) fn read(value: Value, node: &Node) -> Result<Option<Self>> {
        let whole = value.clone();
        let Some(mut fields) = Returned::of("Next", value)? else {
            return Ok(None);
        };
        let metadata = fields.map("metadata")?;
        let delegate = fields.delegate()?;
        let data = fields.take("data");
        tell_unread("Next", fields, node);
        let outcome = match (delegate, data) {
            (Some(delegate), _) => Outcome::Delegate(delegate),
            (None, Some(data)) => Outcome::Data(data),
            (None, None) => Outcome::Object(whole),
        };
        Ok(Some(Self { outcome, metadata }))
    }
}
