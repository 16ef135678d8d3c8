//! How deep values are nested.

use serde_json::{Map, Value};

/// What is nested in lists and objects.
pub(crate) trait DepthLimited {
    /// Whether it has at most so many levels.
    fn is_within(&self, levels: usize) -> bool;
}

impl DepthLimited for Value {
    fn is_within(&self, levels: usize) -> bool {
        match self {
            Self::Array(items) => levels > 0 && items.iter().all(|it| it.is_within(levels - 1)),
            Self::Object(fields) => fields.is_within(levels),
            _ => true,
        }
    }
}

impl DepthLimited for Map<String, Value> {
    fn is_within(&self, levels: usize) -> bool {
        levels > 0 && self.values().all(|value| value.is_within(levels - 1))
    }
}
