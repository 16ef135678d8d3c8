//! What comes of messages as they begin, change and end.

use super::activity_patch::PropsBefore;
use super::event::AgUiEventContent;
use super::message_view::{EventForm, MessageView};
use ambit_runtime::frame::props_path::PropsPath;
use ambit_runtime::frame::{DeltaAction, OutputMessage};
use ambit_runtime::{Frame, public_id};
use indexmap::IndexMap;
use serde_json::Value;
use std::collections::HashMap;

/// The messages of a turn as the client has them.
pub struct MessageViews {
    request_id: String,
    views: IndexMap<String, MessageView>,
    /// Of each thread, what its model has shown since its last call began.
    answers: HashMap<Option<String>, AnswerMessages>,
}

/// The messages of one answer of a model to which its calls may belong.
#[derive(Default)]
struct AnswerMessages {
    text: Option<String>,
    call: Option<String>,
}

/// A message as it was before a frame, as far as that matters.
pub struct MessageBefore {
    kind: String,
    /// Of texts, thoughts and calls.
    text: String,
    /// Of activities.
    props: Option<PropsBefore>,
}

impl MessageViews {
    pub fn new(request_id: &str) -> Self {
        Self {
            request_id: request_id.to_owned(),
            views: IndexMap::new(),
            answers: HashMap::new(),
        }
    }

    /// The ids of all messages so far.
    pub fn ids(&self) -> Vec<String> {
        self.views.keys().cloned().collect()
    }

    /// The calls of models that have no result.
    pub fn pending_calls(&self) -> Vec<String> {
        let views = self.views.values();
        let pending = views.filter(|view| {
            let is_call = view.shown == Some(EventForm::Call);
            is_call && view.is_streamed_call && !view.is_settled
        });
        pending.map(|view| view.call_id().to_owned()).collect()
    }

    /// Another answer of a model begins in a thread, or none is on its way there.
    pub fn begin_answer(&mut self, thread: Option<&str>) {
        self.answers.remove(&thread.map(str::to_owned));
    }

    /// A message begins; a call whose tool is known is one of a model.
    pub fn start(&mut self, message: &OutputMessage, tool: Option<&str>) -> Vec<AgUiEventContent> {
        let form = EventForm::of(&message.kind);
        match (form, tool) {
            (EventForm::Text | EventForm::Reasoning, _) => self.begin_text(message, form),
            (EventForm::Call, Some(tool)) => {
                self.view(message).is_streamed_call = true;
                vec![self.begin_call(message, tool)]
            }
            _ => Vec::new(),
        }
    }

    /// More text behind a text, or more arguments: the usual case, for which nothing else is looked at. `None` for every
    /// other frame.
    pub fn append(&self, id: &str, frame: &Frame) -> Option<Vec<AgUiEventContent>> {
        let form = EventForm::of(&frame.kind);
        let name = match form {
            EventForm::Text | EventForm::Reasoning => "content",
            EventForm::Call => "arguments",
            EventForm::Action | EventForm::Activity => return None,
        };
        let view = self.views.get(id)?;
        let path = frame.delta_path.as_deref().unwrap_or("content");
        if !is_append(frame) || path != name || !view.goes_on(form) {
            return None;
        }
        let more = PropsPath::key(name).carried(&frame.props)?.as_str()?;
        let said = match form {
            EventForm::Call => view.say_arguments(more),
            _ => view.say(form, more),
        };
        Some(said.into_iter().collect())
    }

    /// Notes what a frame may change.
    pub fn before(&self, message: Option<&OutputMessage>, frame: &Frame) -> MessageBefore {
        let Some(message) = message else {
            return MessageBefore {
                kind: String::new(),
                text: String::new(),
                props: None,
            };
        };
        let view = self.views.get(&message.message_id);
        let is_activity = view.is_some_and(|view| view.shown == Some(EventForm::Activity));
        let is_change = frame.delta && frame.delta_action != Some(DeltaAction::Replace);
        MessageBefore {
            kind: message.kind.clone(),
            text: words(message).to_owned(),
            props: (is_activity && is_change).then(|| PropsBefore::of(frame, &message.props)),
        }
    }

    /// What has changed since.
    pub fn show(
        &mut self,
        before: MessageBefore,
        message: &OutputMessage,
    ) -> Vec<AgUiEventContent> {
        match EventForm::of(&message.kind) {
            form @ (EventForm::Text | EventForm::Reasoning) => {
                self.show_text(message, form, &before)
            }
            EventForm::Call => self.show_call(message, &before),
            EventForm::Activity => self.show_activity(message, before),
            EventForm::Action => Vec::new(),
        }
    }

    /// A message ends, or a change of one that had ended.
    pub fn end(&mut self, message: &OutputMessage) -> Vec<AgUiEventContent> {
        let form = EventForm::of(&message.kind);
        let mut contents = Vec::new();
        if form == EventForm::Call && self.view(message).shown != Some(EventForm::Call) {
            contents.extend(self.whole_call(message));
        }
        let view = self.view(message);
        contents.extend(view.close());
        contents.extend(view.settle(&message.props));
        if form == EventForm::Action && !std::mem::replace(&mut view.is_settled, true) {
            contents.push(AgUiEventContent::Custom {
                name: "action",
                value: message.props.clone().into(),
            });
        }
        contents
    }

    /// Ends what was left open of a message.
    pub fn close(&mut self, id: &str) -> Vec<AgUiEventContent> {
        let view = self.views.get_mut(id);
        view.map(MessageView::close).unwrap_or_default()
    }

    fn view(&mut self, message: &OutputMessage) -> &mut MessageView {
        let (request_id, id) = (&self.request_id, &message.message_id);
        let known = self.views.entry(id.clone());
        known.or_insert_with(|| {
            let call_id = public_id::call_id(request_id, id);
            MessageView::new(public_id::message_id(request_id, id), call_id)
        })
    }

    /// Begins a text or a thought. The first text of an answer is the message that its calls belong to.
    fn begin_text(&mut self, message: &OutputMessage, form: EventForm) -> Vec<AgUiEventContent> {
        let contents = self.view(message).begin(form);
        if form == EventForm::Text {
            let id = self.view(message).id();
            let answer = self.answers.entry(message.thread_id.clone()).or_default();
            answer.text.get_or_insert(id);
        }
        contents
    }

    fn begin_call(&mut self, message: &OutputMessage, tool: &str) -> AgUiEventContent {
        let id = self.view(message).id();
        let answer = self.answers.entry(message.thread_id.clone()).or_default();
        let parent = match &answer.text {
            Some(text) => text.clone(),
            None => answer.call.get_or_insert(id).clone(),
        };
        self.view(message).begin_call(tool, parent)
    }

    /// A call that a script shows: its arguments may have changed until now.
    fn whole_call(&mut self, message: &OutputMessage) -> Vec<AgUiEventContent> {
        let mut contents = self.view(message).replace();
        let tool = message.props.get("name").and_then(Value::as_str);
        contents.push(self.begin_call(message, tool.unwrap_or_default()));
        contents.extend(self.view(message).say_arguments(words(message)));
        contents
    }

    fn show_text(
        &mut self,
        message: &OutputMessage,
        form: EventForm,
        before: &MessageBefore,
    ) -> Vec<AgUiEventContent> {
        let (view, text) = (self.view(message), words(message));
        if view.shown == Some(form) && before.text == text {
            return Vec::new();
        }
        let mut contents = Vec::new();
        if !(view.goes_on(form) && before.text.is_empty()) {
            contents.extend(view.replace());
            contents.extend(self.begin_text(message, form));
        }
        contents.extend(self.view(message).say(form, text));
        contents
    }

    fn show_call(
        &mut self,
        message: &OutputMessage,
        before: &MessageBefore,
    ) -> Vec<AgUiEventContent> {
        let view = self.view(message);
        let mut contents = Vec::new();
        if view.is_streamed_call && view.goes_on(EventForm::Call) {
            let more = words(message).strip_prefix(before.text.as_str());
            contents.extend(view.say_arguments(more.unwrap_or_default()));
        }
        contents.extend(view.settle(&message.props));
        contents
    }

    fn show_activity(
        &mut self,
        message: &OutputMessage,
        before: MessageBefore,
    ) -> Vec<AgUiEventContent> {
        let view = self.view(message);
        let mut contents = match view.shown {
            Some(EventForm::Activity) => Vec::new(),
            _ => view.replace(),
        };
        let is_same = before.kind == message.kind;
        let Some(props) = before.props.filter(|_| is_same) else {
            contents.push(view.snapshot(message));
            return contents;
        };
        let patch = props.patch_to(&message.props);
        if !patch.is_empty() {
            contents.push(AgUiEventContent::ActivityDelta {
                message_id: view.id(),
                activity_type: message.kind.clone(),
                patch,
            });
        }
        contents
    }
}

fn is_append(frame: &Frame) -> bool {
    frame.delta && matches!(frame.delta_action, None | Some(DeltaAction::Append))
}

/// What a text or a thought says, and the arguments of a call.
fn words(message: &OutputMessage) -> &str {
    let name = match EventForm::of(&message.kind) {
        EventForm::Text | EventForm::Reasoning => "content",
        EventForm::Call => "arguments",
        EventForm::Action | EventForm::Activity => return "",
    };
    let text = message.props.get(name).and_then(Value::as_str);
    text.unwrap_or_default()
}
