//! A conversation, and a summariser that does as it is told.

use crate::Place;
use ambit_storage::driver::DriverOptions;
use ambit_storage::event::{ChatHistoryTruncated, ChatHistoryTruncating, EngineError, Verdict};
use ambit_storage::storage::{ChatHistoryStorage, Message, Role, ToolCall, UsageRecord};
use ambit_storage::truncation::{
    ContextWindow, FittingRequest, SimpleTruncation, StandIn, StandInSource, Summariser,
    SummaryForm, TruncationRequest, TruncationSettings,
};
use ambit_storage::{Agent, Ambit, AmbitBuilder, Error, LiveAgent, Result, Stores};
use async_trait::async_trait;
use futures::future::BoxFuture;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// An agent with truncation settings of its own.
pub struct Support(pub TruncationSettings);

impl Agent for Support {
    fn name(&self) -> &str {
        "SupportAgent"
    }

    fn truncation(&self) -> TruncationSettings {
        self.0.clone()
    }
}

/// A conversation of an agent with these settings.
pub struct Chat {
    pub ambit: Ambit,
    pub agent: LiveAgent,
}

/// What was told of truncations, in order.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    pub fn words(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn note(&self, word: String) -> BoxFuture<'static, Result<()>> {
        self.0.lock().unwrap().push(word);
        Box::pin(async { Ok(()) })
    }
}

impl Chat {
    pub async fn new(place: &Place, settings: TruncationSettings) -> Self {
        Self::of(place, settings, |builder| builder).await
    }

    pub async fn of(
        place: &Place,
        settings: TruncationSettings,
        build: impl FnOnce(AmbitBuilder) -> AmbitBuilder,
    ) -> Self {
        let stores =
            Stores::builder(DriverOptions::default()).driver("store", place.driver.clone());
        let builder = Ambit::builder(stores.build().unwrap()).agent(Support(settings));
        let ambit = build(builder).build();
        let definition = ambit.agent("SupportAgent").unwrap();
        let agent = definition.for_chat("chat").await.unwrap();
        Self { ambit, agent }
    }

    pub fn history(&self) -> ChatHistoryStorage {
        self.agent.history()
    }

    /// Stores these messages; the answer is the same with their ids.
    pub async fn say(&self, messages: impl IntoIterator<Item = Message>) -> Vec<Message> {
        let mut said = Vec::new();
        for message in messages {
            said.push(self.history().add_message(message).await.unwrap());
        }
        self.agent.context().save().await.unwrap();
        said
    }

    pub async fn view(&self) -> Vec<Message> {
        self.history().messages().await.unwrap()
    }

    /// The texts of the view.
    pub async fn texts(&self) -> Vec<String> {
        texts(&self.view().await)
    }

    pub async fn archive(&self) -> Vec<Message> {
        self.history()
            .archive(1, ambit_storage::MAX_PAGE)
            .await
            .unwrap()
    }

    pub async fn truncate(&self, call: &TruncationRequest) -> Result<FittingRequest> {
        self.agent.context().truncate(call).await
    }

    /// Notes all that is told of truncations.
    pub fn listen(&self) -> Heard {
        let heard = Heard::default();
        let notes = [heard.clone(), heard.clone(), heard.clone()];
        let [before, after, failed] = notes;
        self.ambit
            .bus()
            .before(move |event: &mut ChatHistoryTruncating| {
                let tokens = (event.tokens_before, event.tokens_planned);
                let noted = before.note(format!("truncating {} {tokens:?}", event.strategy));
                Box::pin(async move { noted.await.map(|()| Verdict::Continue) })
            });
        self.ambit.after(move |event: Arc<ChatHistoryTruncated>| {
            let (replaced, left) = (&event.replaced, event.remaining);
            after.note(format!("truncated {} {replaced:?} {left}", event.strategy))
        });
        self.ambit.after(move |event: Arc<EngineError>| {
            failed.note(format!("{}: {}", event.provider, event.error))
        });
        heard
    }
}

pub fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::text).collect()
}

/// Each counts 10 tokens: `q` a question, `a` an answer, `s` an instruction.
pub fn said(signs: &str) -> Vec<Message> {
    let message = |(at, sign): (usize, char)| {
        let role = match sign {
            'q' => Role::User,
            's' => Role::System,
            _ => Role::Assistant,
        };
        Message::new(role, format!("{:-<24}", format!("{sign}{at}")))
    };
    signs.chars().enumerate().map(message).collect()
}

/// What stands for the message of `said` at this place.
pub fn name(text: &str) -> &str {
    text.trim_end_matches('-')
}

pub fn names(texts: &[String]) -> Vec<&str> {
    texts.iter().map(|text| name(text)).collect()
}

pub fn call(id: &str) -> Message {
    Message::calling([ToolCall::new(id, "find", "")])
}

/// Simple truncation from this many tokens on.
pub fn simple(threshold: u64) -> TruncationSettings {
    TruncationSettings {
        strategy: Some(Arc::new(SimpleTruncation)),
        threshold: Some(threshold),
        buffer: Some(0.0),
        ..TruncationSettings::default()
    }
}

pub fn window(tokens: u64) -> TruncationRequest {
    let window = Some(ContextWindow { tokens, reserve: 0 });
    TruncationRequest {
        window,
        ..TruncationRequest::default()
    }
}

/// What a scripted summariser does.
pub enum Step {
    Say(String),
    Fail,
    Panic,
    /// Does this first, then says so much.
    Meanwhile(BoxFuture<'static, ()>, String),
}

/// Does one step after the other, then says "summary".
#[derive(Default)]
pub struct Scripted {
    steps: Mutex<VecDeque<Step>>,
    asked: Mutex<Vec<(StandInSource, SummaryForm)>>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl Scripted {
    pub fn says(steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        Arc::new(Self {
            steps: Mutex::new(steps.into_iter().collect()),
            asked: Mutex::default(),
        })
    }

    pub fn then(&self, step: Step) {
        self.steps.lock().unwrap().push_back(step);
    }

    pub fn asked(&self) -> Vec<(StandInSource, SummaryForm)> {
        self.asked.lock().unwrap().clone()
    }

    fn next(&self, source: &StandInSource, form: SummaryForm) -> Option<Step> {
        self.asked.lock().unwrap().push((source.clone(), form));
        self.steps.lock().unwrap().pop_front()
    }
}

#[async_trait]
impl Summariser for Scripted {
    async fn summarise(&self, source: &StandInSource, form: SummaryForm) -> StandIn {
        let text = match self.next(source, form) {
            Some(Step::Say(text)) => Ok(text),
            Some(Step::Fail) => Err(Error::Unavailable {
                what: "the summariser".to_owned(),
                source: None,
            }),
            Some(Step::Panic) => panic!("told to"),
            Some(Step::Meanwhile(work, text)) => {
                work.await;
                Ok(text)
            }
            None if form == SummaryForm::Lines => Ok("line\n".repeat(source.exchanges.len())),
            None => Ok("summary".to_owned()),
        };
        let usage = vec![UsageRecord {
            prompt_tokens: 3,
            completion_tokens: 2,
            ..UsageRecord::default()
        }];
        StandIn { text, usage }
    }
}
