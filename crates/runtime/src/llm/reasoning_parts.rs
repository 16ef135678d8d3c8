//! What a provider wants back unchanged – signatures, encrypted thoughts – goes back to the connector that it came from and to
//! no other: others refuse what they did not make.

use super::ModelAnswer;
use crate::chat::ChatMessage;
use serde_json::json;

/// Notes in an answer's parts that they are this connector's.
pub fn mark(answer: &mut ModelAnswer, connector: &str) {
    let parts = answer.reasoning_parts.iter_mut();
    parts.for_each(|part| part.set_connector(connector));
}

/// Leaves out of messages what other connectors want back. A part without a note is kept: nobody knows better.
pub fn keep_own(messages: &mut [ChatMessage], connector: &str) {
    for message in messages {
        let parts = &mut message.reasoning_parts;
        let before = parts.clone();
        let mut cut = 0;
        parts.retain_mut(|part| {
            let is_kept = part.take_connector(connector);
            if !is_kept {
                cut += json!(part).to_string().len();
            }
            is_kept
        });
        if *parts != before {
            message.origin.is_changed = true;
            message.origin.forget_measure();
        }
        if cut > 0 {
            message.origin.cut("other_thoughts", None, cut);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{keep_own, mark};
    use crate::chat::{BlockCut, ChatMessage, ReasoningPart};
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
        let cut = |message: &ChatMessage| message.origin.cuts.clone();
        let lost = BlockCut {
            reason: "other_thoughts".to_owned(),
            part: None,
            bytes: r#"{"type":"thinking","signature":"s"}"#.len(),
        };
        assert_eq!(others.each_ref().map(cut), [vec![lost], Vec::new()]);
        assert_eq!(own.each_ref().map(cut), [Vec::new(), Vec::new()]);
    }
}
