//! How one message of a log is shown: as a text, a call, a file or data, and how much of it clients have.

use super::chunk::{PartChunk, TypedChunk, UiMessageChunk};
use super::media_type;
use super::part_ids::PartIds;
use super::props::{content, text};
use super::shown_call::ShownCall;
use super::shown_text::{ShownText, TextProgress};
use super::ui_message::UiData;
use ambit_runtime::frame::{OutputMessage, ToolCallStartEvent};
use ambit_runtime::public_id;
use serde_json::json;

/// What changes a message's state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StateChange {
    /// Its content grows at its end, as far as that is a text.
    Append,
    /// Anything may have changed. Its content may still begin with what it was before.
    Any { keeps_text: bool },
}

/// A message of the log.
pub struct ShownMessage {
    ids: PartIds,
    /// What a call is called that it shows.
    call_id: String,
    kind: String,
    form: MessageForm,
}

/// What a message is shown as.
enum MessageForm {
    Text(ShownText),
    Call(ShownCall),
    File(ShownFile),
    /// Data that become a part.
    Data {
        is_told: bool,
    },
    /// Data that are told at each change and become no part.
    Loading,
    /// Data that are told once, when they are whole.
    Action {
        is_told: bool,
    },
}

/// A file as it is shown.
#[derive(Default, PartialEq)]
struct ShownFile {
    url: String,
    media_type: String,
}

impl ShownMessage {
    /// A message that begins. `call` is what its beginning says of the call that it shows.
    pub fn begin(
        request_id: &str,
        message: &OutputMessage,
        call: Option<ToolCallStartEvent<'_>>,
    ) -> Self {
        let call_id = public_id::call_id(request_id, &message.message_id);
        let mut form = MessageForm::of(message, &call_id);
        if let (MessageForm::Call(shown), Some(call)) = (&mut form, call) {
            call.name.unwrap_or_default().clone_into(&mut shown.name);
            shown.is_client = call.is_client;
        }
        Self {
            ids: PartIds::of(request_id, &message.message_id),
            call_id,
            kind: message.kind.clone(),
            form,
        }
    }

    /// What is shown as soon as the message has begun.
    pub fn opened(&mut self) -> Vec<PartChunk> {
        let mut out = Vec::new();
        match &mut self.form {
            MessageForm::Text(text) => {
                let id = self.ids.state().to_owned();
                text.start(id, "", &mut out);
            }
            MessageForm::Call(call) if !call.name.is_empty() => call.start(&mut out),
            _ => {}
        }
        out
    }

    /// What is shown of the message's new state.
    pub fn changed(&mut self, message: &OutputMessage, change: StateChange) -> Vec<PartChunk> {
        let mut out = Vec::new();
        let mut change = change;
        if self.has_other_form(message) {
            self.kind.clone_from(&message.kind);
            self.replace(&mut out);
            self.form = MessageForm::of(message, &self.call_id);
            change = StateChange::Append;
        }
        match &mut self.form {
            MessageForm::Text(_) => self.text_changed(message, change, &mut out),
            MessageForm::Call(call) => call.changed(message, &mut out),
            MessageForm::File(_) => self.file_changed(message, &mut out),
            MessageForm::Data { is_told } => {
                *is_told = true;
                out.push(data(message, self.ids.state(), false));
            }
            MessageForm::Loading => out.push(data(message, self.ids.state(), true)),
            MessageForm::Action { .. } => {}
        }
        out
    }

    /// Whether the message's state cannot be shown as it was so far: it has another type, or has become a file or none.
    fn has_other_form(&mut self, message: &OutputMessage) -> bool {
        let is_file = ShownFile::of(message).is_some();
        match &self.form {
            _ if self.kind != message.kind => true,
            MessageForm::Data { is_told: false } if is_file => {
                self.form = MessageForm::File(ShownFile::default());
                false
            }
            MessageForm::Data { .. } => is_file,
            MessageForm::File(_) => !is_file,
            _ => false,
        }
    }

    fn text_changed(
        &mut self,
        message: &OutputMessage,
        change: StateChange,
        out: &mut Vec<PartChunk>,
    ) {
        let MessageForm::Text(text) = &self.form else {
            return;
        };
        let content = content(message);
        let grows = match change {
            StateChange::Append => true,
            StateChange::Any { keeps_text } => keeps_text,
        };
        let new = content.get(text.length..).filter(|_| grows);
        let is_amended = matches!(text.progress, TextProgress::Ended);
        if new.is_none() || (is_amended && new != Some("")) {
            self.replace(out);
        }
        let MessageForm::Text(text) = &mut self.form else {
            return;
        };
        let new = content.get(text.length..).unwrap_or_default().to_owned();
        match &text.progress {
            TextProgress::Unstarted => text.start(self.ids.state().to_owned(), &new, out),
            TextProgress::Paused if !new.is_empty() => text.start(self.ids.go_on(), &new, out),
            TextProgress::Open(_) => text.grow(&new, out),
            TextProgress::Paused | TextProgress::Ended => {}
        }
    }

    fn file_changed(&mut self, message: &OutputMessage, out: &mut Vec<PartChunk>) {
        let now = ShownFile::of(message).unwrap_or_default();
        let MessageForm::File(shown) = &self.form else {
            return;
        };
        if *shown == now {
            return;
        }
        if !shown.url.is_empty() {
            self.replace(out);
        }
        out.push(PartChunk {
            part: Some(self.ids.state().to_owned()),
            chunk: UiMessageChunk::Typed(TypedChunk::File {
                url: now.url.clone(),
                media_type: now.media_type.clone(),
            }),
        });
        self.form = MessageForm::File(now);
    }

    /// Tells that another part takes the place of what was shown.
    fn replace(&mut self, out: &mut Vec<PartChunk>) {
        self.pause(out);
        let id = self.ids.state().to_owned();
        let by = self.ids.replace();
        let chunk = UiMessageChunk::Data(UiData {
            kind: "data-replaced".to_owned(),
            id: None,
            data: json!({"id": id, "by": by}),
            transient: true,
        });
        out.push(chunk.into());
        if let MessageForm::Text(text) = &mut self.form {
            text.length = 0;
            text.progress = TextProgress::Unstarted;
        }
    }

    /// Ends the part that goes on, if there is one: at the end of a step.
    pub fn pause(&mut self, out: &mut Vec<PartChunk>) {
        if let MessageForm::Text(text) = &mut self.form {
            text.end(TextProgress::Paused, out);
        }
    }

    /// What is shown when the message has ended.
    pub fn ended(&mut self, message: &OutputMessage) -> Vec<PartChunk> {
        let mut out = Vec::new();
        match &mut self.form {
            MessageForm::Text(text) => text.end(TextProgress::Ended, &mut out),
            MessageForm::Call(call) => call.ended(message, &mut out),
            MessageForm::Action { is_told } if !*is_told => {
                *is_told = true;
                let mut action = data(message, self.ids.state(), true);
                if let UiMessageChunk::Data(chunk) = &mut action.chunk {
                    chunk.id = None;
                }
                out.push(action);
            }
            _ => {}
        }
        out
    }
}

impl MessageForm {
    fn of(message: &OutputMessage, call_id: &str) -> Self {
        match message.kind.as_str() {
            kind @ ("text" | "thinking") => Self::Text(ShownText {
                is_thinking: kind == "thinking",
                progress: TextProgress::Unstarted,
                length: 0,
            }),
            "tool_call" => Self::Call(ShownCall::new(call_id)),
            "loading" => Self::Loading,
            "action" => Self::Action { is_told: false },
            _ if ShownFile::of(message).is_some() => Self::File(ShownFile::default()),
            _ => Self::Data { is_told: false },
        }
    }
}

impl ShownFile {
    /// The file that a message shows, if it shows one.
    fn of(message: &OutputMessage) -> Option<Self> {
        let kind = message.kind.as_str();
        if !media_type::KINDS.contains(&kind) {
            return None;
        }
        let url = text(message, "url");
        let given = text(message, "mime_type");
        (!url.is_empty()).then(|| Self {
            url: url.to_owned(),
            media_type: match given {
                "" => media_type::of_url(kind, url),
                given => given.to_owned(),
            },
        })
    }
}

fn data(message: &OutputMessage, id: &str, transient: bool) -> PartChunk {
    let chunk = UiMessageChunk::Data(UiData {
        kind: format!("data-{}", message.kind),
        id: Some(id.to_owned()),
        data: message.props.clone().into(),
        transient,
    });
    chunk.into()
}
