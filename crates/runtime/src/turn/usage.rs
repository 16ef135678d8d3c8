//! What calls of models use: it is counted to the turn and booked with the conversation, even where nobody waits for a call's
//! end. It is noted in the turn's journal too, so that it counts once at whatever moment the process dies.

use super::model_call::ModelCallTrace;
use super::turn_parts::TurnParts;
use super::{Turn, model_input};
use crate::app::Connector;
use crate::call_metrics::count_tokens;
use crate::chats;
use crate::error::Result;
use crate::journal::{self, ModelCallUsage, TurnKeys};
use crate::llm::{ModelAnswer, ModelCall, ModelUsage, TokenUsage};
use crate::lock::lock;
use crate::search::UsageBooking;
use crate::stream::StreamWriter;
use ambit_storage::batch::BatchWrite;
use ambit_storage::clock::Millis;
use ambit_storage::storage::{Cost, UsageRecord};
use ambit_storage::{Context, LiveAgent};
use ambit_telemetry::Metrics;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How long calls that were cancelled may take to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the models of a turn have used, those of calls from inside it included, and how many of these calls have not ended.
pub(super) struct TurnUsage {
    /// The conversation with which it is booked.
    session: LiveAgent,
    /// With what it is booked instead, where the conversation is stored nowhere.
    apart: Option<LiveAgent>,
    keys: TurnKeys,
    /// The turn's stream, if there is a turn that may be taken up again.
    stream: Option<StreamWriter>,
    metrics: Arc<Metrics>,
    counted: Mutex<TurnUsageState>,
    running: TaskTracker,
}

#[derive(Default)]
struct TurnUsageState {
    totals: TurnUsageTotals,
    /// The tokens by who offers the model and what it is called.
    by_model: Vec<ModelUsage>,
    /// Notes that may not be durable yet, numbered in the order in which they came.
    notes: Vec<(u64, BatchWrite)>,
    /// The number of the last note.
    last: u64,
}

/// What the calls of a turn's models come to.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnUsageTotals {
    pub usage: TokenUsage,
    /// Millionths, by currency.
    pub cost: BTreeMap<String, i64>,
    /// How many calls have begun.
    pub calls: u64,
    /// When the first piece of an answer came that is no call's from inside the turn.
    pub first_token_at: Option<Millis>,
}

impl TurnUsageState {
    /// Counts what a call has used, which was of the model that its record names.
    fn add(&mut self, usage: &TokenUsage, record: Option<&UsageRecord>) {
        self.totals.usage.add(usage);
        if let Some(cost) = record.and_then(|record| record.cost.as_ref()) {
            let sum = self.totals.cost.entry(cost.currency.clone()).or_default();
            *sum = sum.saturating_add(cost.micros);
        }
        let provider = record.and_then(|record| record.provider_name.as_ref());
        let model = record.and_then(|record| record.model_name.as_ref());
        let mut known = self.by_model.iter_mut();
        let same = known
            .find(|known| (known.provider.as_ref(), known.model.as_ref()) == (provider, model));
        match same {
            Some(known) => known.usage.add(usage),
            None => self.by_model.push(ModelUsage {
                provider: provider.cloned(),
                model: model.cloned(),
                usage: usage.clone(),
            }),
        }
    }
}

/// Opens what the usage of a turn is booked with, where its conversation is stored nowhere.
pub(super) async fn open_apart(parts: &TurnParts) -> Result<Option<LiveAgent>> {
    let request = &parts.request;
    if request.is_stored() {
        return Ok(None);
    }
    let who = &request.authorized;
    let ambit = parts.loaded.acting_as(&who.caller());
    let opened = chats::open_without_chat(&ambit, who, &request.agent).await?;
    Ok(Some(opened))
}

impl TurnUsage {
    /// Nothing, so far.
    pub fn new(
        parts: &TurnParts,
        stream: Option<StreamWriter>,
        apart: Option<LiveAgent>,
    ) -> Arc<Self> {
        Arc::new(Self {
            session: parts.session.clone(),
            apart,
            keys: parts.keys(),
            stream,
            metrics: parts.core.metrics().clone(),
            counted: Mutex::default(),
            running: TaskTracker::new(),
        })
    }

    /// What was used so far.
    pub fn tokens(&self) -> TokenUsage {
        self.lock().totals.usage.clone()
    }

    /// What the calls so far come to.
    pub fn totals(&self) -> TurnUsageTotals {
        self.lock().totals.clone()
    }

    /// Counts a call that begins, and returns its number in the turn, from 0.
    pub fn begin_call(&self) -> u64 {
        let mut counted = self.lock();
        let number = counted.totals.calls;
        counted.totals.calls += 1;
        number
    }

    /// Notes when the answer has begun; the first time counts.
    pub fn note_first_token(&self, at: Millis) {
        self.lock().totals.first_token_at.get_or_insert(at);
    }

    /// What was used so far of each model, in the order of their first calls.
    pub fn by_model(&self) -> Vec<ModelUsage> {
        self.lock().by_model.clone()
    }

    /// Counts and books what a call has used, and notes it: that becomes durable with whatever is made durable next. Returns what
    /// it has cost, where that is known.
    pub fn book(
        &self,
        answer: &ModelAnswer,
        connector: &Connector,
        purpose: Option<&str>,
    ) -> Result<Option<Cost>> {
        let Some(mut record) = answer.record(&connector.kind) else {
            return Ok(None);
        };
        record.purpose = purpose.map(str::to_owned);
        count_tokens(&self.metrics, &connector.id, &answer.usage);
        self.book_record(answer.usage.clone(), record)
    }

    /// The same for the vector of a query; its record names the connector.
    fn book_embedding(&self, usage: TokenUsage, record: UsageRecord) -> Result<()> {
        let connector = record.provider_name.as_deref().unwrap_or_default();
        count_tokens(&self.metrics, connector, &usage);
        self.book_record(usage, record).map(drop)
    }

    fn book_record(&self, usage: TokenUsage, mut record: UsageRecord) -> Result<Option<Cost>> {
        record.turn_id = Some(self.keys.request_id.clone());
        let booked = self.booked().usage().record(record.clone())?;
        let cost = booked.as_ref().and_then(|record| record.cost.clone());
        self.lock()
            .add(&usage, Some(booked.as_ref().unwrap_or(&record)));
        let context = self.session.context();
        let used = ModelCallUsage {
            usage,
            record: booked,
        };
        let Some(stream) = &self.stream else {
            return Ok(cost);
        };
        let note = journal::write_used(&self.keys.journal(), used)?;
        context.stage_with_history([note.clone()]);
        stream.stage_write(note.clone());
        let mut counted = self.lock();
        counted.last += 1;
        let last = counted.last;
        counted.notes.push((last, note));
        Ok(cost)
    }

    /// What searches count with.
    pub fn booking(self: &Arc<Self>) -> UsageBooking {
        let own = self.clone();
        Arc::new(move |usage, record| {
            if let Err(error) = own.book_embedding(usage, record) {
                let id = &own.keys.request_id;
                tracing::warn!(turn.id = id, %error, "what a search has used is not booked");
            }
        })
    }

    /// The notes that may not be durable yet, for a batch apart from the turn's, and the number of the last.
    pub fn notes(&self) -> (Vec<BatchWrite>, u64) {
        let counted = self.lock();
        let notes = counted.notes.iter().map(|(_, note)| note.clone());
        (notes.collect(), counted.last)
    }

    /// The notes up to this one are durable.
    pub fn clear_notes(&self, last: u64) {
        self.lock().notes.retain(|(number, _)| *number > last);
    }

    /// Counts what an earlier attempt has used, and books what of it was not saved.
    pub fn resume(&self, used: &ModelCallUsage) -> Result<()> {
        let mut counted = self.lock();
        counted.add(&used.usage, used.record.as_ref());
        counted.totals.calls += 1;
        drop(counted);
        if let Some(record) = &used.record {
            self.booked().usage().record_again(record)?;
        }
        Ok(())
    }

    /// What is booked apart from the conversation, if that is stored nowhere.
    pub fn apart(&self) -> Option<&Context> {
        self.apart.as_ref().map(LiveAgent::context)
    }

    fn booked(&self) -> &Context {
        self.apart().unwrap_or(self.session.context())
    }

    /// A call that has begun; it ends when this is dropped.
    pub fn begin(&self) -> TaskTrackerToken {
        self.running.token()
    }

    /// Waits until nothing of the calls that were cancelled runs any more, so that what they used is known.
    pub async fn wait_for_calls(&self) {
        self.running.close();
        // One that does not let go counts with what is known of it now.
        let _ = timeout(PATIENCE, self.running.wait()).await;
    }

    fn lock(&self) -> MutexGuard<'_, TurnUsageState> {
        lock(&self.counted)
    }
}

/// One answer as it comes. Dropped before its end, it books what was used until then: as the provider said, else estimated.
pub(super) struct UsageMeter<'a> {
    pub answer: ModelAnswer,
    call: &'a ModelCall,
    connector: &'a Connector,
    purpose: Option<&'static str>,
    usage: Arc<TurnUsage>,
    trace: ModelCallTrace,
    is_finished: bool,
}

impl<'a> UsageMeter<'a> {
    /// For a call that the provider has begun to answer.
    pub fn start(
        turn: &Turn,
        call: &'a ModelCall,
        connector: &'a Connector,
        trace: ModelCallTrace,
    ) -> Self {
        Self {
            answer: ModelAnswer::default(),
            call,
            connector,
            purpose: turn.context.purpose,
            usage: turn.journal.usage.clone(),
            trace,
            is_finished: false,
        }
    }

    /// The answer came to its end, and is the caller's to book.
    pub fn finish(mut self) -> ModelAnswer {
        self.is_finished = true;
        std::mem::take(&mut self.answer)
    }
}

impl Drop for UsageMeter<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        self.answer.usage = estimated(self.call, &self.answer);
        self.trace.note(&self.answer, None);
        if let Err(error) = self.usage.book(&self.answer, self.connector, self.purpose) {
            let id = &self.usage.keys.request_id;
            tracing::warn!(turn.id = id, %error, "what a cancelled call has used is not booked");
        }
    }
}

/// What a call that was broken off has used: what the provider has said so far may be less than what it has sent.
fn estimated(call: &ModelCall, answer: &ModelAnswer) -> TokenUsage {
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let reported = &answer.usage;
    let request = match reported.prompt_tokens {
        0 => count(model_input::tokens(&call.messages) + model_input::of_tools(&call.tools)),
        tokens => tokens,
    };
    let has_answered = *answer
        != ModelAnswer {
            id: answer.id.clone(),
            model: answer.model.clone(),
            usage: reported.clone(),
            ..ModelAnswer::default()
        };
    let answered = match has_answered {
        true => count(model_input::tokens(&[answer.message()])),
        false => 0,
    };
    let total = TokenUsage::of(request, reported.completion_tokens.max(answered));
    TokenUsage {
        total_tokens: total.total_tokens.max(reported.total_tokens),
        prompt_tokens_details: reported.prompt_tokens_details.clone(),
        completion_tokens_details: reported.completion_tokens_details.clone(),
        ..total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChatMessage;

    #[test]
    fn what_a_provider_has_said_counts_before_an_estimate() {
        let call = ModelCall {
            messages: vec![ChatMessage::user("one two three four")],
            ..ModelCall::default()
        };
        let answer = |text: &str, usage: TokenUsage| ModelAnswer {
            text: text.to_owned(),
            usage,
            ..ModelAnswer::default()
        };
        let silent = estimated(&call, &answer("", TokenUsage::default()));
        assert!(silent.prompt_tokens > 4, "{silent:?}");
        assert_eq!(silent, TokenUsage::of(silent.prompt_tokens, 0));
        let spoken = estimated(&call, &answer("one two three four", TokenUsage::default()));
        assert_eq!(spoken.prompt_tokens, silent.prompt_tokens);
        assert!(spoken.completion_tokens > 4, "{spoken:?}");
        assert_eq!(
            estimated(&call, &answer("one", TokenUsage::of(70, 90))),
            TokenUsage::of(70, 90)
        );
        let begun = estimated(&call, &answer("one two three four", TokenUsage::of(70, 1)));
        assert_eq!(begun, TokenUsage::of(70, spoken.completion_tokens));
    }
}
