//! What `Next` returned.

use super::create_result::tell_unread;
use super::hook_fields::{Delegate, HookFields};
use crate::error::{Disclosure, Result};
use crate::trace::TraceNode;
use serde_json::{Map, Value};

/// What `Next` makes of its turn.
#[derive(Clone, Debug, PartialEq)]
pub struct NextResult {
    /// What the response is.
    pub outcome: NextOutcome,
    /// For the response and the trace.
    pub metadata: Map<String, Value>,
}

/// What the response of a turn is.
#[derive(Clone, Debug, PartialEq)]
pub enum NextOutcome {
    /// This; a failed turn recovers.
    Data(Value),
    /// What another agent says; a failed turn recovers.
    Delegate(Box<Delegate>),
    /// The returned object, which has neither; a failed turn stays failed.
    Object(Value),
}

impl NextOutcome {
    /// True if a turn that had failed goes on.
    pub fn recovers(&self) -> bool {
        !matches!(self, Self::Object(_))
    }
}

impl NextResult {
    /// Reads the returned value; keys that are not read are named in the trace.
    pub(super) fn read(
        value: Value,
        node: &TraceNode,
        disclosure: Disclosure,
    ) -> Result<Option<Self>> {
        // Copied only where it is the response: it may be large.
        let lacks = |name: &str| value.get(name).is_none_or(Value::is_null);
        let whole = (lacks("delegate") && lacks("data")).then(|| value.clone());
        let Some(mut fields) = HookFields::of("Next", value)? else {
            return Ok(None);
        };
        let metadata = fields.map("metadata")?;
        let delegate = fields.delegate()?;
        let data = fields.take("data");
        tell_unread(fields, node, disclosure);
        let outcome = match (delegate, data) {
            (Some(delegate), _) => NextOutcome::Delegate(Box::new(delegate)),
            (None, Some(data)) => NextOutcome::Data(data),
            (None, None) => NextOutcome::Object(whole.unwrap_or_default()),
        };
        Ok(Some(Self { outcome, metadata }))
    }
}
