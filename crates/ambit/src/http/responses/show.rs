//! A Response that was asked for before, running or ended.

use super::request::FORMAT;
use super::turn_of;
use crate::format::responses::{
    ResponseItem, ResponseObject, ResponseRecord, StoredReasoning, event_count, response,
};
use crate::format::{self, FormatOptions};
use crate::http::chat::RequestParameters;
use crate::http::response_items::{ItemReader, ListedItem};
use crate::http::sse::{self, StreamView};
use crate::http::{HttpError, SharedState, rate_limits};
use ambit_runtime::chat::ReasoningPart;
use ambit_runtime::chats::{ChatEntries, EntryRange};
use ambit_runtime::stream::{StreamEntry, StreamReader};
use ambit_runtime::{Authorized, Error, ErrorCode, Result, TurnInfo, TurnStatus};
use axum::response::Response;
use indexmap::IndexMap;
use serde::Deserialize;
use std::time::Duration;
use tokio::time::timeout;

/// How long a turn that was stopped may take to end.
const END: Duration = Duration::from_secs(10);

/// A Response that was asked for before.
pub struct StoredResponse<'a> {
    server: &'a SharedState,
    who: &'a Authorized,
    turn: TurnInfo,
    options: FormatOptions,
}

impl<'a> StoredResponse<'a> {
    /// Finds it by its id.
    pub async fn find(server: &'a SharedState, who: &'a Authorized, id: &str) -> Result<Self> {
        let request_id = turn_of(id)?;
        let turn = server.runtime.turn(who, request_id).await;
        let turn = turn.map_err(|error| error.naming("response", id))?;
        let record = server.runtime.protocol_record(who, request_id).await;
        // A turn that nothing is stored of is nobody's to find.
        let record = record.map_err(|error| error.naming("response", id))?;
        // What another protocol has noted says nothing here.
        let record = record.and_then(|record| record.to::<ResponseRecord>().ok());
        let options = FormatOptions {
            model: turn.assistant_id.clone(),
            request_id: request_id.to_owned(),
            created: turn.started_at / 1000,
            response: record.unwrap_or_default(),
            ..FormatOptions::default()
        };
        Ok(Self {
            server,
            who,
            turn,
            options,
        })
    }

    async fn reader(&self) -> Result<StreamReader> {
        let id = &self.options.request_id;
        self.server.runtime.stream(self.who, id, 0).await
    }

    /// The entries that are there, and the rest of the stream.
    async fn entries(&self) -> Result<(Vec<StreamEntry>, StreamReader)> {
        let mut reader = self.reader().await?;
        let mut entries: Vec<StreamEntry> = Vec::new();
        let last = |entries: &[StreamEntry]| entries.last().map_or(0, |entry| entry.number);
        while last(&entries) < self.turn.last_event {
            let Some(more) = reader.next().await? else {
                break;
            };
            entries.extend(more);
        }
        Ok((entries, reader))
    }

    /// The Response as far as it is there.
    pub async fn response(&self) -> Result<ResponseObject> {
        match self.entries().await {
            Ok((entries, _)) => Ok(response(&entries, &self.options)),
            Err(error) if error.code == ErrorCode::StreamExpired => self.of_history().await,
            Err(error) => Err(error),
        }
    }

    /// The Response of what is stored, where its stream is no longer kept.
    async fn of_history(&self) -> Result<ResponseObject> {
        let id = self.options.request_id.as_str();
        let chat = self
            .server
            .runtime
            .entries_around(self.who, id, EntryRange::All)
            .await?;
        let items = ItemReader::read(&chat).await?.into_iter();
        let own = items.filter(|stored| stored.turn.as_deref() == Some(id) && !stored.is_input);
        let mut answers: IndexMap<String, Vec<ResponseItem>> = IndexMap::new();
        for stored in own {
            if let ListedItem::Output(item) = stored.item {
                answers.entry(stored.message_id).or_default().push(item);
            }
        }
        let mut output = StoredReasoning::new(id);
        for (message_id, items) in answers {
            output.add(items, self.reasoning_parts(&chat, &message_id));
        }
        let mut response = response(self.end().as_slice(), &self.options);
        response.output = output.into_items();
        // Earlier versions have not noted what a turn has used.
        if self.turn.totals.usage.is_none() {
            response.usage = None;
        }
        Ok(response)
    }

    /// The last entry of its stream, as far as it is known without that.
    fn end(&self) -> Option<StreamEntry> {
        let end = serde_json::to_string(&self.turn.stream_end()?).ok()?;
        Some(StreamEntry {
            number: self.turn.last_event,
            text: end.into(),
        })
    }

    /// What the model of a stored answer wants back of its reasoning, where the request asked for it.
    fn reasoning_parts(&self, chat: &ChatEntries, message_id: &str) -> Vec<ReasoningPart> {
        if !self.options.response.has_encrypted_reasoning {
            return Vec::new();
        }
        let mut messages = chat.entries.iter().map(|entry| &entry.message);
        let answer = messages.find(|message| message.id == message_id);
        let parts = answer.and_then(|answer| answer.extras.get("reasoning_parts"));
        let parts = parts.map(Vec::<ReasoningPart>::deserialize);
        parts.and_then(Result::ok).unwrap_or_default()
    }

    /// Its stream, behind this event.
    pub async fn stream(
        self,
        given: &RequestParameters,
        after: Option<u64>,
    ) -> Result<Response, HttpError> {
        let (first, reader) = self.entries().await?;
        let count = event_count(&first, &self.options);
        if let Some(after) = after.filter(|after| *after >= count) {
            let message = format!(
                "starting_after is {after}, but this response has {count} events so far, numbered from 0"
            );
            return Err(Error::invalid("starting_after", message).into());
        }
        let options = FormatOptions {
            after_sequence: after,
            ..self.options
        };
        let place = rate_limits::stream_place(self.server, self.who).await?;
        let view = StreamView {
            reader,
            first,
            definition: format::find(FORMAT)?,
            format: (format::find(FORMAT)?.open)(&options),
            last_received: 0,
            backlog_end: self.turn.last_event,
            leaving: None,
            place,
        };
        Ok(sse::answer(view, self.server, given.peer.clone()))
    }

    /// Stops the turn and waits for its end.
    pub async fn cancel(mut self) -> Result<ResponseObject> {
        let id = self.options.request_id.clone();
        if self.turn.status == TurnStatus::Running {
            self.server.runtime.cancel(self.who, &id).await?;
            let mut reader = self.reader().await?;
            let ended = async {
                while reader.next().await?.is_some() {}
                Ok::<_, Error>(())
            };
            // One that takes longer is shown as it is.
            timeout(END, ended).await.unwrap_or(Ok(()))?;
            self.turn = self.server.runtime.turn(self.who, &id).await?;
        }
        self.response().await
    }
}
