//! An app that runs in this process.

use super::{ChatAnswer, ChatArguments, unknown_agent};
use crate::command_error::Result;
use crate::settings::{StoreOptions, present_app};
use ambit::environment::{environment, extract_program};
use ambit::format::{self, Format, FormatOptions};
use ambit_runtime::app::App;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::stream::StreamReader;
use ambit_runtime::{Authorized, ErrorCode, RequestOrigin, Runtime, RuntimeSettings, TurnRequest};
use futures::StreamExt;
use futures::stream::{BoxStream, iter, unfold};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a turn that still runs at the end may take to settle what it is about.
const GRACE: Duration = Duration::from_secs(5);

/// An app, and who talks to it.
pub struct LocalPeer {
    runtime: Runtime,
    who: Authorized,
    agent: String,
}

impl LocalPeer {
    pub async fn open(arguments: &ChatArguments, stores: &StoreOptions) -> Result<Self> {
        let app = present_app(arguments.app.clone())?;
        let runtime = Runtime::open(RuntimeSettings {
            models: stores.models(&app)?,
            environment: environment(),
            is_development: true,
            extract_program: Some(extract_program()),
            ..RuntimeSettings::new(&app, stores.open_for(&app).await?)
        });
        let who = Authorized {
            user_id: Some(arguments.user.clone()),
            ..Authorized::default()
        };
        let runtime = runtime.await?;
        if let Err(unknown) = runtime.app().agent(&arguments.agent) {
            let agents = agents(&runtime.app());
            runtime.close(GRACE).await?;
            return Err(match unknown.code {
                ErrorCode::NotFound => unknown_agent(&unknown.to_string(), &agents),
                _ => unknown.into(),
            });
        }
        // What is asked first is to find them.
        runtime.settle_collections().await?;
        Ok(Self {
            runtime,
            who,
            agent: arguments.agent.clone(),
        })
    }

    pub async fn ask(&self, chat: Option<&str>, text: &str) -> Result<ChatAnswer> {
        let request = TurnRequest {
            authorized: self.who.clone(),
            agent: self.agent.clone(),
            chat: chat.map(str::to_owned),
            messages: vec![ChatMessage::user(text)],
            origin: RequestOrigin {
                accept: format::DEFAULT.to_owned(),
                referer: "api".to_owned(),
                ..RequestOrigin::default()
            },
            ..TurnRequest::default()
        };
        let started = self.runtime.start(request).await?;
        let options = FormatOptions {
            model: started.assistant_id,
            request_id: started.request_id.clone(),
            ..FormatOptions::default()
        };
        let format = (format::find(format::DEFAULT)?.open)(&options);
        Ok(ChatAnswer {
            request_id: started.request_id,
            chat: started.chat_id,
            chunks: chunks(started.stream, format),
        })
    }

    pub async fn cancel(&self, request_id: &str) -> Result<()> {
        Ok(self.runtime.cancel(&self.who, request_id).await?)
    }

    pub async fn references(&self, request_id: &str) -> Result<Value> {
        let references = self.runtime.references(&self.who, request_id).await?;
        Ok(json!(references))
    }

    pub async fn close(self) -> Result<()> {
        Ok(self.runtime.close(GRACE).await?)
    }
}

/// The agents that can be talked to.
pub fn agents(app: &App) -> Vec<String> {
    let usable = app.agents.values().filter_map(|agent| agent.as_ref().ok());
    let asked = usable.filter(|agent| !agent.is_worker());
    asked.map(|agent| agent.id.clone()).collect()
}

fn chunks(reader: StreamReader, format: Box<dyn Format>) -> BoxStream<'static, Result<String>> {
    let steps = unfold((reader, format), |(mut reader, mut format)| async {
        let chunks: Vec<Result<String>> = match reader.next().await {
            Ok(Some(entries)) => entries
                .iter()
                .flat_map(|entry| format.events(entry))
                .map(|event| Ok(event.data))
                .collect(),
            Ok(None) => return None,
            Err(error) => vec![Err(error.into())],
        };
        Some((iter(chunks), (reader, format)))
    });
    steps.flatten().boxed()
}
