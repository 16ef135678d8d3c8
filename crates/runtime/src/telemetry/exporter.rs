//! Sending stored traces of turns that have ended: one node at a time for each store, in the order in which the turns ended, as
//! often as it takes.

use super::CollectorWarnings;
use super::content::SpanContent;
use super::trace_to_send::TraceToSend;
use crate::chats;
use crate::error::{ErrorCode, Result};
use crate::journal::TurnKeys;
use crate::otlp::{Collector, Delivery, OtlpExport, UnstoredTrace};
use crate::runtime_core::RuntimeCore;
use crate::unsent_turn::{TurnPlace, UnsentNote};
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::{Millis, backoff};
use ambit_storage::directory::RowFilter;
use ambit_storage::driver::Driver;
use ambit_storage::lease::{Lease, OnBusy};
use ambit_telemetry::otlp::{Span, traces_request};
use ambit_telemetry::table;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// From one look to the next, where no turn ends here.
const LOOK: Duration = Duration::from_secs(1);
/// The wait behind a first failure of a collector, and the longest; it may itself ask for longer ones.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_ASKED: Duration = Duration::from_secs(300);
/// A request is sent when it holds so many spans, or bytes of their attributes, and behind a whole trace.
const SPANS: usize = 512;
const BYTES: usize = 1 << 20;

/// Sends traces for as long as the runtime is there.
pub(crate) async fn export_traces(core: Weak<RuntimeCore>) {
    let mut exporter = TraceExporter::default();
    loop {
        let turn_ended = {
            let Some(core) = core.upgrade() else {
                return;
            };
            let Some(telemetry) = &core.telemetry else {
                return;
            };
            exporter.look(&core, telemetry).await;
            telemetry.turn_ended.clone()
        };
        tokio::select! {
            () = sleep(LOOK) => {}
            () = turn_ended.notified() => {}
        }
    }
}

/// Sends what there is to send.
#[derive(Default)]
pub(crate) struct TraceExporter {
    /// Requests that have failed in a row.
    failures: u32,
    /// Until when the collector is left alone.
    pause: Option<Instant>,
    /// When the first turn ended that could not be sent.
    waiting: Option<Millis>,
    warnings: CollectorWarnings,
}

/// A trace, and the note by which it was found; one that is stored nowhere has none.
struct UnsentTrace {
    note: Option<UnsentNote>,
    spans: Vec<Span>,
    ended_at: Millis,
}

/// What became of traces.
#[derive(Default)]
struct DeliveredTraces {
    /// The collector has them, or will never take them.
    done: Vec<UnsentTrace>,
    /// They are sent later.
    left: Vec<UnsentTrace>,
}

/// Traces that go into one request.
#[derive(Default)]
struct TraceBatch {
    traces: Vec<UnsentTrace>,
    spans: usize,
    bytes: usize,
}

/// What traces are sent through.
#[derive(Clone, Copy)]
struct CollectorLink<'a> {
    core: &'a RuntimeCore,
    telemetry: &'a OtlpExport,
    collector: &'a Collector,
}

/// A store, and what its traces are sent through.
struct StoreExport<'a> {
    link: CollectorLink<'a>,
    content: &'a SpanContent,
    store: &'a str,
    driver: &'a dyn Driver,
}

impl TraceExporter {
    /// Sends all that is there, unless the collector is to be left alone.
    pub async fn look(&mut self, core: &RuntimeCore, telemetry: &OtlpExport) {
        let Some(collector) = &telemetry.traces else {
            return;
        };
        if !self.is_pausing() {
            self.waiting = None;
            let link = CollectorLink {
                core,
                telemetry,
                collector,
            };
            self.export_unstored(link).await;
            let content = SpanContent::of(&core.loaded().app);
            for (store, driver) in core.stores.drivers() {
                let from = StoreExport {
                    link,
                    content: &content,
                    store,
                    driver: driver.as_ref(),
                };
                if self.is_pausing() {
                    break;
                }
                if let Err(error) = self.export(&from, driver).await {
                    tracing::warn!(store.name = store, %error, "traces of ended turns could not be sent; they are sent later");
                }
            }
        }
        let now = core.stores.options().clock.now();
        let lag = self.waiting.map_or(0, |since| (now - since).max(0));
        let lag = lag as f64 / 1_000.0;
        core.metrics().set(&table::TELEMETRY_LAG_SECONDS, [], lag);
    }

    fn is_pausing(&self) -> bool {
        self.pause.is_some_and(|until| until > Instant::now())
    }

    /// Sends the traces of turns that have stored nothing.
    async fn export_unstored(&mut self, link: CollectorLink<'_>) {
        while !self.is_pausing() {
            let traces = link.telemetry.unstored.take(SPANS);
            if traces.is_empty() {
                return;
            }
            let traces = traces.into_iter().map(|trace| UnsentTrace {
                note: None,
                spans: trace.spans,
                ended_at: trace.ended_at,
            });
            let delivered = self.deliver(link, traces.collect()).await;
            let left = delivered.left.into_iter().map(|trace| UnstoredTrace {
                spans: trace.spans,
                ended_at: trace.ended_at,
            });
            link.telemetry.unstored.put_back(left.collect());
        }
    }

    /// Sends the traces of a store, unless another node does.
    async fn export(&mut self, from: &StoreExport<'_>, driver: &Arc<dyn Driver>) -> Result<()> {
        if UnsentNote::page(from.driver, None).await?.is_empty() {
            return Ok(());
        }
        let key = Space::unsent_turns().lease();
        let lease = match Lease::take(driver.clone(), key, OnBusy::Reject).await {
            Err(ambit_storage::Error::Busy { .. }) => return Ok(()),
            taken => taken?,
        };
        let exported = self.export_pages(from, &lease).await;
        lease.release().await?;
        exported
    }

    async fn export_pages(&mut self, from: &StoreExport<'_>, lease: &Lease) -> Result<()> {
        let mut after = None;
        loop {
            // Whoever had the lease before may have sent what was there then.
            let page = UnsentNote::page(from.driver, after).await?;
            let mut batch = TraceBatch::default();
            for note in page.notes {
                match from.spans(&note).await {
                    Ok(spans) => batch.add(note, spans),
                    Err(error) if error.code == ErrorCode::Unavailable => return Err(error),
                    Err(error) => {
                        tracing::warn!(request.id = note.request_id(), %error, "a trace cannot be read to be sent");
                    }
                }
                if batch.is_full() && !self.send(from, lease, std::mem::take(&mut batch)).await? {
                    return Ok(());
                }
            }
            let is_sent = self.send(from, lease, batch).await?;
            match page.next {
                Some(next) if is_sent => after = Some(next),
                _ => return Ok(()),
            }
        }
    }

    /// Sends traces, and removes their notes where they are taken. False where the collector is to be left alone.
    async fn send(
        &mut self,
        from: &StoreExport<'_>,
        lease: &Lease,
        batch: TraceBatch,
    ) -> Result<bool> {
        let delivered = self.deliver(from.link, batch.traces).await;
        let notes = delivered.done.iter().filter_map(|it| it.note.as_ref());
        let removed: Vec<BatchWrite> = notes.map(UnsentNote::removal).collect();
        if !removed.is_empty() {
            let batch = Batch::of(removed).checking(lease.check());
            from.driver.commit(batch).await?;
        }
        Ok(delivered.left.is_empty())
    }

    /// Sends traces in one request, or each by itself where the collector refuses one of them.
    async fn deliver(
        &mut self,
        link: CollectorLink<'_>,
        traces: Vec<UnsentTrace>,
    ) -> DeliveredTraces {
        let mut delivered = DeliveredTraces::default();
        let mut waiting = vec![traces];
        while let Some(traces) = waiting.pop() {
            let spans: Vec<Span> = traces.iter().flat_map(|it| it.spans.clone()).collect();
            let delivery = match spans.is_empty() {
                true => Delivery::Taken(0),
                false => {
                    let request = traces_request(&link.telemetry.service, &spans);
                    link.collector.send(request).await
                }
            };
            match delivery {
                Delivery::Refused(_) if traces.len() > 1 => {
                    // What is wrong with one is no reason to lose the others.
                    waiting.extend(traces.into_iter().rev().map(|trace| vec![trace]));
                    continue;
                }
                Delivery::Failed { why, retry_after } => {
                    link.count("failed", spans.len() as u64);
                    self.leave_alone(&why, retry_after);
                    self.waiting = traces.first().map(|trace| trace.ended_at);
                    waiting.push(traces);
                    delivered.left = waiting.into_iter().rev().flatten().collect();
                    break;
                }
                Delivery::Refused(why) => {
                    link.count("refused", spans.len() as u64);
                    self.warnings.tell("traces", &why);
                }
                Delivery::Taken(refused) => {
                    let count = spans.len() as u64;
                    let refused = refused.min(count);
                    link.count("sent", count - refused);
                    link.count("refused", refused);
                    (self.failures, self.pause) = (0, None);
                }
            }
            delivered.done.extend(traces);
        }
        delivered
    }

    fn leave_alone(&mut self, why: &str, retry_after: Option<Duration>) {
        self.failures += 1;
        let pause = backoff(FIRST_PAUSE, LONGEST_PAUSE, self.failures);
        let pause = pause.max(retry_after.unwrap_or_default().min(LONGEST_ASKED));
        self.pause = Some(Instant::now() + pause);
        self.warnings.tell("traces", why);
    }
}

impl StoreExport<'_> {
    /// The spans of a turn; none where its trace is gone, or is another store's to send.
    async fn spans(&self, note: &UnsentNote) -> Result<Vec<Span>> {
        let core = self.link.core;
        let loaded = core.loaded();
        let (space, driver) = match &note.turn.place {
            TurnPlace::Temporary(space) => {
                let driver = core.stores.temporary()?.driver().clone();
                (space.clone(), driver)
            }
            TurnPlace::Row(row) => {
                let filter = RowFilter {
                    id: Some(row.clone()),
                    ..RowFilter::tenant(note.turn.tenant.as_str())
                };
                let Some(row) = chats::first(&loaded.ambit, &filter).await? else {
                    return Ok(Vec::new());
                };
                // Each store of a chain has the note; the first one has the word.
                if row
                    .placement
                    .first()
                    .is_some_and(|first| first != self.store)
                    && row.placement.iter().any(|name| name == self.store)
                {
                    return Ok(Vec::new());
                }
                let driver = core.stores.chain(&row.placement)?.driver().clone();
                (Space::of(&row.tenant, &row.identity), driver)
            }
        };
        let trace = TraceToSend {
            driver: driver.as_ref(),
            log: TurnKeys::new(space, note.request_id()).trace(),
            tenant: &note.turn.tenant,
        };
        trace.spans(&loaded.app, self.content).await
    }
}

impl CollectorLink<'_> {
    fn count(&self, result: &str, spans: u64) {
        if spans > 0 {
            let metrics = self.core.metrics();
            metrics.add(&table::TELEMETRY_SPANS, [result], spans as f64);
        }
    }
}

impl TraceBatch {
    fn add(&mut self, note: UnsentNote, spans: Vec<Span>) {
        self.spans += spans.len();
        self.bytes += spans.iter().map(Span::size).sum::<usize>();
        self.traces.push(UnsentTrace {
            ended_at: note.turn.ended_at,
            note: Some(note),
            spans,
        });
    }

    fn is_full(&self) -> bool {
        self.spans >= SPANS || self.bytes >= BYTES
    }
}
