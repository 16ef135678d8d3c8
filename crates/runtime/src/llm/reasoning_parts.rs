//! What a provider wants back unchanged – signatures, encrypted thoughts – goes back to the connector that it came from and to
//! no other: others refuse what they did not make.

use super::ModelAnswer;
use serde_json::Value;

/// Where a part says of which connector it is.
const OWNER: &str = "connector";

/// Notes in an answer's parts that they are this connector's.
pub fn mark(answer: &mut ModelAnswer, connector: &str) {
    let parts = answer.reasoning_parts.iter_mut();
    for part in parts.filter_map(Value::as_object_mut) {
        part.insert(OWNER.to_owned(), connector.into());
    }
}

/// Leaves out of messages what other connectors want back. A part without a note is kept: nobody knows better.
pub fn keep_own(messages: &mut [Value], connector: &str) {
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        let Some(Value::Array(parts)) = message.get_mut("reasoning_parts") else {
            continue;
        };
        parts.retain_mut(|part| {
            let owner = part.as_object_mut().and_then(|part| part.remove(OWNER));
            owner.is_none_or(|owner| owner == connector)
        });
        if parts.is_empty() {
            message.remove("reasoning_parts");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{keep_own, mark};
    use crate::llm::ModelAnswer;
    use serde_json::json;

    #[test]
    fn parts_go_back_to_the_connector_that_made_them() {
        let part = json!({"type": "thinking", "signature": "s"});
        let mut answer = ModelAnswer {
            reasoning_parts: vec![part.clone()],
            ..ModelAnswer::default()
        };
        mark(&mut answer, "one");
        let old = json!({"role": "assistant", "content": "", "reasoning_parts": [part]});
        let messages = [answer.message(), old.clone()];
        let mut own = messages.clone();
        keep_own(&mut own, "one");
        assert_eq!(own, [old.clone(), old.clone()]);
        let mut others = messages;
        keep_own(&mut others, "two");
        assert_eq!(others, [json!({"role": "assistant", "content": ""}), old]);
    }
}
