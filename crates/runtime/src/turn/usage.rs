//! What calls of models use: it is counted to the turn and booked with the conversation, even where nobody waits for a call's
//! end. It is noted in the turn's journal too, so that it counts once at whatever moment the process dies.

mod usage_meter;

pub(super) use usage_meter::UsageMeter;

use super::turn_parts::TurnParts;
use crate::access::Authorized;
use crate::app::Connector;
use crate::call_metrics::count_tokens;
use crate::chats;
use crate::error::Result;
use crate::journal::{self, ModelCallUsage, TurnKeys};
use crate::llm::{ModelAnswer, ModelUsage, TokenUsage};
use crate::lock::lock;
use crate::manifest::ModelCallEnd;
use crate::runtime_core::RuntimeCore;
use crate::search::UsageBooking;
use crate::stream::StreamWriter;
use crate::trace::call_end_entry;
use ambit_storage::address::LogKey;
use ambit_storage::batch::{BatchWrite, NewEntry};
use ambit_storage::clock::Millis;
use ambit_storage::storage::{Cost, UsageRecord};
use ambit_storage::{Context, LiveAgent};
use std::collections::BTreeMap;
use std::mem;
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
    core: Arc<RuntimeCore>,
    /// Who asks.
    who: Authorized,
    /// What is noted of calls behind the end of their turn, where these are made there.
    behind: Option<Mutex<Vec<NewEntry>>>,
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
        Arc::new(Self::of(parts, stream, apart))
    }

    /// The same of what is asked for a turn that has ended, the calls of which have so many numbers.
    pub fn behind(parts: &TurnParts, calls: u64) -> Arc<Self> {
        let usage = Self {
            behind: Some(Mutex::default()),
            ..Self::of(parts, None, None)
        };
        usage.skip_calls(calls);
        Arc::new(usage)
    }

    fn of(parts: &TurnParts, stream: Option<StreamWriter>, apart: Option<LiveAgent>) -> Self {
        Self {
            session: parts.session.clone(),
            apart,
            keys: parts.keys(),
            stream,
            core: parts.core.clone(),
            who: parts.request.authorized.clone(),
            behind: None,
            counted: Mutex::default(),
            running: TaskTracker::new(),
        }
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
        count_tokens(self.core.metrics(), &connector.id, &answer.usage);
        let cost = connector.cost(&record);
        self.book_record(answer.usage.clone(), record, cost)
    }

    /// The same for the vector of a query; its record names the connector.
    fn book_embedding(&self, usage: TokenUsage, record: UsageRecord) -> Result<()> {
        let connector = record.provider_name.as_deref().unwrap_or_default();
        count_tokens(self.core.metrics(), connector, &usage);
        let connector = self.core.loaded().app.model(connector).ok();
        let cost = connector.and_then(|connector| connector.cost(&record));
        self.book_record(usage, record, cost).map(drop)
    }

    /// Books a call of this cost; where that is not known it has the price that the application has for the model.
    fn book_record(
        &self,
        usage: TokenUsage,
        mut record: UsageRecord,
        cost: Option<Cost>,
    ) -> Result<Option<Cost>> {
        self.core.tell_tokens(&self.who, &usage);
        record.turn_id = Some(self.keys.request_id.clone());
        let priced = UsageRecord {
            cost,
            ..record.clone()
        };
        let booked = self.booked().usage().record(priced)?;
        let cost = booked.as_ref().and_then(|record| record.cost.clone());
        self.lock()
            .add(&usage, Some(booked.as_ref().unwrap_or(&record)));
        let used = ModelCallUsage {
            usage,
            record: booked,
        };
        self.note(journal::write_used(&self.keys.journal(), used)?);
        Ok(cost)
    }

    /// What an answer has cost that others book; nothing where tracking is off.
    pub fn cost(&self, answer: &ModelAnswer, connector: &Connector) -> Option<Cost> {
        let record = answer.record(&connector.kind)?;
        let booked = self.booked();
        let is_tracked = booked.ambit().settings().usage.is_tracked;
        let own = connector.cost(&record).filter(|_| is_tracked);
        own.or_else(|| booked.usage().cost(&record).ok()?)
    }

    /// Notes of what a call is made, in the log of the trace: that becomes durable with whatever is made durable next.
    pub fn note_call(&self, entries: Vec<NewEntry>) {
        let log = self.keys.trace();
        match &self.behind {
            Some(behind) => lock(behind).extend(entries),
            None => self.note(BatchWrite::Append { log, entries }),
        }
    }

    /// Notes what came of a call behind the end of its turn; that of others is in the rows of the trace.
    pub fn note_call_end(&self, number: u64, call_id: &str, end: &ModelCallEnd) -> Result<()> {
        if let Some(behind) = &self.behind {
            let entry = call_end_entry(&self.keys.trace(), number, call_id, end.clone())?;
            lock(behind).push(entry);
        }
        Ok(())
    }

    /// What was noted of calls behind the end of their turn, to be stored.
    pub fn take_behind(&self) -> Option<BatchWrite> {
        let entries = mem::take(&mut *lock(self.behind.as_ref()?));
        let log = self.keys.trace();
        let is_any = !entries.is_empty();
        is_any.then_some(BatchWrite::Append { log, entries })
    }

    /// The log of the trace.
    pub fn trace_log(&self) -> LogKey {
        self.keys.trace()
    }

    /// Stages a write with all that may be stored next.
    fn note(&self, note: BatchWrite) {
        let Some(stream) = &self.stream else {
            return;
        };
        let context = self.session.context();
        context.stage_with_history([note.clone()]);
        stream.stage_write(note.clone());
        let mut counted = self.lock();
        counted.last += 1;
        let last = counted.last;
        counted.notes.push((last, note));
    }

    /// So many calls have numbers already.
    pub fn skip_calls(&self, calls: u64) {
        let mut counted = self.lock();
        counted.totals.calls = counted.totals.calls.max(calls);
    }

    /// What searches count with.
    pub fn booking(self: &Arc<Self>) -> UsageBooking {
        let own = self.clone();
        Arc::new(move |usage, record| {
            if let Err(error) = own.book_embedding(usage, record) {
                let id = &own.keys.request_id;
                tracing::warn!(request.id = id, %error, "what a search has used is not booked");
            }
        })
    }

    /// The notes that may not be durable yet, for a batch apart from the turn's, and the number of the last.
    pub fn notes(&self) -> (Vec<BatchWrite>, u64) {
        let counted = self.lock();
        let notes = counted.notes.iter().map(|(_, note)| note.clone());
        (notes.collect(), counted.last)
    }

    /// The number of the last note.
    pub fn last_note(&self) -> u64 {
        self.lock().last
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
