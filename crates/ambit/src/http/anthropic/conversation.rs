//! The conversation of a request as chat messages: results of tools are messages of their own, and what a tool shows beside text
//! follows as what the person says, for models that take only texts of tools.

use super::blocks::{self, InputBlock};
use super::body::{AnthropicBody, InputContent, InputMessage};
use crate::format::provider_reasoning;
use crate::http::chat::check_role;
use ambit_runtime::app::AppAgent;
use ambit_runtime::chat::{
    ChatContent, ChatMessage, ClientMessageFields, ContentPart, ReasoningPart, Role, ToolCall,
};
use ambit_runtime::{Error, Result};
use serde_json::{Map, json};
use std::collections::HashMap;
use std::mem::take;

/// The messages of a request. A client may use only the roles that the agent lets it use.
pub fn read(body: &mut AnthropicBody, agent: &AppAgent) -> Result<Vec<ChatMessage>> {
    let mut conversation = Conversation {
        agent,
        messages: Vec::new(),
        open_calls: HashMap::new(),
    };
    if let Some(system) = body.system.take() {
        check_role(Role::System, agent, "system")?;
        conversation.instruct(blocks::read(system, "system")?)?;
    }
    let mut messages = take(&mut body.messages).into_iter().enumerate().peekable();
    while let Some((at, InputMessage { role, content })) = messages.next() {
        let known = known_role(&role, agent, &format!("messages[{at}].role"))?;
        let mut said = vec![blocks::read(content, &format!("messages[{at}].content"))?];
        // Calls and their results may stand in several messages, as with Anthropic.
        while let Some((at, more)) = messages.next_if(|(_, next)| next.role == role) {
            let place = format!("messages[{at}].content");
            said.push(blocks::read(more.content, &place)?);
        }
        match known {
            Role::Assistant => conversation.assistant(said)?,
            Role::System => said
                .into_iter()
                .try_for_each(|it| conversation.instruct(it))?,
            _ => conversation.user(said)?,
        }
    }
    Ok(conversation.messages)
}

/// The role of a message, if clients of the agent may use it.
fn known_role(name: &str, agent: &AppAgent, place: &str) -> Result<Role> {
    let role = match name {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => {
            let message = format!("{place} must be user, assistant or system");
            return Err(Error::invalid(place, message));
        }
    };
    check_role(role, agent, place)?;
    Ok(role)
}

/// A block, and where it stands.
type PlacedBlock = (String, InputBlock);

struct Conversation<'a> {
    agent: &'a AppAgent,
    messages: Vec<ChatMessage>,
    /// The calls that the next message answers, and how many have each id.
    open_calls: HashMap<String, usize>,
}

impl Conversation<'_> {
    fn instruct(&mut self, said: Vec<PlacedBlock>) -> Result<()> {
        let mut texts = Vec::new();
        for (place, block) in said {
            match block {
                InputBlock::Text { text } => texts.push(text),
                _ => return Err(blocks::misplaced(&place)),
            }
        }
        self.messages.push(ChatMessage::system(texts.join("\n\n")));
        Ok(())
    }

    /// What a person says in messages behind each other, behind all results in them.
    fn user(&mut self, messages: Vec<Vec<PlacedBlock>>) -> Result<()> {
        let mut said = Vec::new();
        for content in messages {
            said.extend(content_of(self.said(content)?));
        }
        self.open_calls.clear();
        let said = said.into_iter().map(ChatMessage::user);
        self.messages.extend(said);
        Ok(())
    }

    /// What a person says in one message.
    fn said(&mut self, content: Vec<PlacedBlock>) -> Result<Vec<ContentPart>> {
        let (mut shown, mut said) = (Vec::new(), Vec::new());
        for (place, block) in content {
            match block {
                InputBlock::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                } => {
                    let result = self.result(&tool_use_id, content, &place)?;
                    let is_error = is_error == Some(true);
                    let mut message = ChatMessage::result(tool_use_id, result.text(is_error));
                    shown.extend(result.shown);
                    message.client = is_error.then(|| Box::new(failed()));
                    self.messages.push(message);
                }
                block => {
                    let parts = blocks::parts(block, &place)?;
                    said.extend(parts.ok_or_else(|| blocks::misplaced(&place))?);
                }
            }
        }
        shown.extend(said);
        Ok(shown)
    }

    /// What a tool has given for a call of the message before.
    fn result(
        &mut self,
        id: &str,
        content: Option<InputContent>,
        place: &str,
    ) -> Result<ToolResultContent> {
        check_role(Role::Tool, self.agent, &format!("{place}.type"))?;
        let open = self.open_calls.get_mut(id).filter(|open| **open > 0);
        let Some(open) = open else {
            let param = format!("{place}.tool_use_id");
            let message = format!(
                "{param} \"{id}\" answers no tool_use of the message before; send each result once, directly behind its call"
            );
            return Err(Error::invalid(param, message));
        };
        *open -= 1;
        let place = format!("{place}.content");
        let content = content.unwrap_or(InputContent::Text(String::new()));
        let (mut texts, mut shown) = (Vec::new(), Vec::new());
        for part in blocks::shown(content, &place)? {
            match part.text() {
                Some(text) => texts.push(text.to_owned()),
                None => shown.push(part),
            }
        }
        if !shown.is_empty() {
            texts.push("(what the tool shows follows the results)".to_owned());
            let text = format!("Shown by the tool whose call is {id}:");
            shown.insert(0, ContentPart::of_text(text));
        }
        Ok(ToolResultContent {
            text: texts.join("\n"),
            shown,
        })
    }

    /// The answer in messages behind each other.
    fn assistant(&mut self, messages: Vec<Vec<PlacedBlock>>) -> Result<()> {
        let mut answer = ChatMessage::new(Role::Assistant, ChatContent::Null);
        let (mut text, mut thoughts) = (String::new(), String::new());
        let numbered = messages.into_iter().enumerate();
        let blocks = numbered.flat_map(|(at, said)| said.into_iter().map(move |it| (at, it)));
        let mut last = 0;
        for (at, (place, block)) in blocks {
            match block {
                InputBlock::Text { text: more } => {
                    if at > last && !text.is_empty() {
                        text.push_str("\n\n");
                    }
                    last = at;
                    text.push_str(&more);
                }
                InputBlock::Thinking {
                    thinking,
                    signature,
                } => {
                    let Some(parts) = provider_reasoning::decode(&signature, &thinking) else {
                        continue;
                    };
                    thoughts.push_str(&thinking);
                    let (text, calls) = (text.len(), answer.tool_calls.len());
                    let placed = parts.into_iter().map(|part| behind(part, text, calls));
                    answer.reasoning_parts.extend(placed);
                }
                InputBlock::RedactedThinking {} => {}
                InputBlock::ToolUse { id, name, input } => {
                    if id.is_empty() || name.is_empty() {
                        let message = format!("{place} must have an id and a name");
                        return Err(Error::invalid(place, message));
                    }
                    answer.tool_calls.push(ToolCall {
                        id,
                        name,
                        arguments: json!(input).to_string(),
                        extra: Map::new(),
                    });
                }
                _ => return Err(blocks::misplaced(&place)),
            }
        }
        self.open_calls.clear();
        for call in &answer.tool_calls {
            *self.open_calls.entry(call.id.clone()).or_default() += 1;
        }
        if !text.is_empty() || answer.tool_calls.is_empty() {
            answer.content = text.into();
        }
        answer.reasoning_content = (!thoughts.is_empty()).then_some(thoughts);
        self.messages.push(answer);
        Ok(())
    }
}

/// What a tool has given.
struct ToolResultContent {
    text: String,
    /// What it shows beside text.
    shown: Vec<ContentPart>,
}

impl ToolResultContent {
    /// What the model is told, also that the tool has failed.
    fn text(&self, is_error: bool) -> String {
        match (is_error, self.text.as_str()) {
            (false, text) => text.to_owned(),
            (true, "") => "Error: the tool has failed".to_owned(),
            (true, text) => format!("Error: {text}"),
        }
    }
}

/// What is stored with the result of a tool that has failed.
fn failed() -> ClientMessageFields {
    ClientMessageFields {
        is_error: true,
        ..ClientMessageFields::default()
    }
}

/// A thought that stands behind so many bytes of text and so many calls.
fn behind(part: ReasoningPart, text: usize, calls: usize) -> ReasoningPart {
    match text + calls {
        0 => part,
        _ => part.with("behind", json!({"text": text, "calls": calls})),
    }
}

/// One text where it is all text, else the parts; `None` where there are none.
fn content_of(mut parts: Vec<ContentPart>) -> Option<ChatContent> {
    if let [ContentPart::Text { text, .. }] = parts.as_mut_slice() {
        return Some(ChatContent::Text(take(text)));
    }
    (!parts.is_empty()).then_some(ChatContent::Parts(parts))
}
