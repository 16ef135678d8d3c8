//! What a provider wants back unchanged – signatures, encrypted thoughts – goes back to the connector that it came from and to
//! no other: others refuse what they did not make.

use super::ModelAnswer;
use crate::chat::ChatMessage;

/// Notes in an answer's parts that they are this connector's.
pub fn mark(answer: &mut ModelAnswer, connector: &str) {
    let parts = answer.reasoning_parts.iter_mut();
    parts.for_each(|part| part.set_connector(connector));
}

/// Leaves out of messages what other connectors want back. A part without a note is kept: nobody knows better.
pub fn keep_own(messages: &mut [ChatMessage], connector: &str) {
    for message in messages {
        let parts = &mut message.reasoning_parts;
        parts.retain_mut(|part| part.take_connector(connector));
    }
}

#[cfg(test)]
mod tests {
    use super::{keep_own, mark};
    use crate::chat::{ChatMessage, ReasoningPart};
    use crate::llm::ModelAnswer;

    #[test]
    fn parts_go_back_to_the_connector_that_made_them() {
        let part = ReasoningPart::new("thinking").with("signature", "s");
        let mut answer = ModelAnswer {
            reasoning_parts: vec![part.clone()],
            ..ModelAnswer::default()
        };
        mark(&mut answer, "one");
        let old = ChatMessage {
            reasoning_parts: vec![part],
            ..ChatMessage::assistant("")
        };
        let messages = [answer.message(), old.clone()];
        let mut own = messages.clone();
        keep_own(&mut own, "one");
        assert_eq!(own, [old.clone(), old.clone()]);
        let mut others = messages;
        keep_own(&mut others, "two");
        assert_eq!(others, [ChatMessage::assistant(""), old]);
    }
}
