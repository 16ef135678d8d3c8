//! The spans of a stored trace: one for each of its nodes, and one for the memory that a hook has read or written.

use super::content::SpanContent;
use crate::app::TelemetryUser;
use crate::llm::TokenUsage;
use crate::trace::{
    AgentFacts, HookFacts, MemoryUse, ModelFacts, NodeView, SearchFacts, StepFacts, ToolFacts,
    TraceStatus, TraceTree,
};
use crate::trace_context::{ExternalSpanId, ExternalTrace, hashed};
use ambit_storage::clock::Millis;
use ambit_telemetry::otlp::conventions::{
    ConventionVersion, SpanFact, SpanType, attribute_name, provider_name, span_convention,
};
use ambit_telemetry::otlp::{Attribute, AttributeValue, Span};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;

/// What failed without a code of its own.
const OTHER_ERROR: &str = "_OTHER";
/// The options of a call that are told.
const OPTIONS: &[(&str, SpanFact)] = &[
    ("temperature", SpanFact::Temperature),
    ("top_p", SpanFact::TopP),
    ("top_k", SpanFact::TopK),
    ("max_tokens", SpanFact::MaxTokens),
    ("max_completion_tokens", SpanFact::MaxTokens),
    ("frequency_penalty", SpanFact::FrequencyPenalty),
    ("presence_penalty", SpanFact::PresencePenalty),
    ("seed", SpanFact::Seed),
    ("n", SpanFact::ChoiceCount),
];

/// Makes the spans of a trace.
pub(super) struct SpanBuilder<'a> {
    pub tree: &'a TraceTree,
    pub tenant: &'a str,
    pub user: TelemetryUser,
    pub version: ConventionVersion,
    pub content: &'a SpanContent,
}

/// What a span says of its step.
struct SpanDraft {
    of: SpanType,
    /// What stands behind the operation in its name.
    subject: String,
    facts: Vec<(SpanFact, AttributeValue)>,
}

/// What the models below an agent have used, and who answered last.
#[derive(Default)]
struct AgentTotals<'a> {
    usage: TokenUsage,
    provider: Option<&'a str>,
}

impl SpanBuilder<'_> {
    /// All spans, parents first.
    pub fn spans(&self) -> Vec<Span> {
        let about = &self.tree.info.about;
        let trace = ExternalTrace::of(&about.trace_id, self.tree.origin.context.clone());
        let common = self.common_attributes();
        let totals = self.agent_totals();
        let end = self.tree.info.created_at + self.tree.info.duration_ms.unwrap_or(0);
        let mut spans = Vec::with_capacity(self.tree.nodes.len());
        for node in &self.tree.nodes {
            let draft = self.draft(node, totals.get(node.id.as_str()));
            let mut parents = node.parent_ids.iter().map(|id| trace.span_id(id));
            let caller = trace.caller.as_ref();
            let parent_id = parents.next().or_else(|| caller.map(|it| it.span_id));
            let times = [node.start_at, node.end_at.unwrap_or(end)];
            let mut span = self.span(&trace, draft, times);
            span.id = trace.span_id(&node.id);
            span.parent_id = parent_id;
            span.links = parents.collect();
            span.has_failed = node.status == TraceStatus::Failed;
            span.attributes.extend(common.iter().cloned());
            let below = self.memory_spans(&trace, node, &common);
            spans.push(span);
            spans.extend(below);
        }
        spans
    }

    /// A span without its place in the trace.
    fn span(&self, trace: &ExternalTrace, draft: SpanDraft, times: [Millis; 2]) -> Span {
        let row = span_convention(draft.of);
        let name = [row.operation, &draft.subject];
        let name: Vec<&str> = name.into_iter().filter(|part| !part.is_empty()).collect();
        let operation = row.is_operation.then(|| {
            let operation = AttributeValue::Text(row.operation.to_owned());
            (SpanFact::Operation, operation)
        });
        let facts = operation.into_iter().chain(draft.facts);
        let named = facts.filter_map(|(fact, value)| {
            let name = attribute_name(draft.of, fact, self.version)?.into();
            Some(Attribute { name, value })
        });
        let [start, end] = times.map(nanoseconds);
        let caller = trace.caller.as_ref();
        Span {
            trace_id: trace.trace_id,
            id: ExternalSpanId::default(),
            parent_id: None,
            trace_state: caller.map(|it| it.state.clone()).unwrap_or_default(),
            name: name.join(" "),
            kind: row.kind,
            start,
            end: end.max(start),
            attributes: named.collect(),
            links: Vec::new(),
            has_failed: false,
        }
    }

    /// What every span of the trace says.
    fn common_attributes(&self) -> Vec<Attribute> {
        let about = &self.tree.info.about;
        let mut common = vec![
            Attribute::text("gen_ai.conversation.id", &*about.chat_id),
            Attribute::text("session.id", &*about.chat_id),
            Attribute::text("ambit.request_id", &*about.request_id),
        ];
        let named = |id: &str| match self.user {
            TelemetryUser::Plain => Some(id.to_owned()),
            TelemetryUser::Hashed => Some(hashed(id)),
            TelemetryUser::None => None,
        };
        let user = self.tree.origin.user_id.as_deref();
        let user = user.filter(|user| !user.is_empty()).and_then(named);
        common.extend(user.map(|user| Attribute::text("user.id", user)));
        let tenant = named(self.tenant);
        common.extend(tenant.map(|tenant| Attribute::text("ambit.tenant", tenant)));
        common
    }

    /// What the models below each agent have used.
    fn agent_totals(&self) -> HashMap<&str, AgentTotals<'_>> {
        let nodes = self.tree.nodes.iter();
        let by_id: HashMap<&str, &NodeView> = nodes.map(|node| (node.id.as_str(), node)).collect();
        let mut totals: HashMap<&str, AgentTotals<'_>> = HashMap::new();
        for node in &self.tree.nodes {
            let Some(StepFacts::Model(facts)) = &node.facts else {
                continue;
            };
            let mut above = node.parent_ids.first();
            while let Some(parent) = above.and_then(|id| by_id.get(id.as_str())) {
                if matches!(parent.facts, Some(StepFacts::Agent(_))) {
                    let total = totals.entry(parent.id.as_str()).or_default();
                    facts.usage.iter().for_each(|usage| total.usage.add(usage));
                    total.provider = Some(&facts.provider);
                }
                above = parent.parent_ids.first();
            }
        }
        totals
    }

    fn draft(&self, node: &NodeView, totals: Option<&AgentTotals<'_>>) -> SpanDraft {
        let mut draft = match &node.facts {
            Some(StepFacts::Agent(facts)) => agent(facts, totals),
            Some(StepFacts::Model(facts)) => self.model(facts, node),
            Some(StepFacts::Tool(facts)) => self.tool(facts, node),
            Some(StepFacts::Search(facts)) => search(facts),
            Some(StepFacts::Hook(facts)) => hook(facts),
            None => step(node),
        };
        let has_code = draft
            .facts
            .iter()
            .any(|(fact, _)| *fact == SpanFact::ErrorType);
        if node.status == TraceStatus::Failed && !has_code {
            draft.text(SpanFact::ErrorType, OTHER_ERROR);
        }
        draft
    }

    fn model(&self, facts: &ModelFacts, node: &NodeView) -> SpanDraft {
        let mut draft = SpanDraft::new(SpanType::ModelCall, &facts.model);
        draft.text(SpanFact::Provider, provider_name(&facts.provider));
        draft.text(SpanFact::RequestModel, &facts.model);
        draft.options(&facts.options);
        draft.some_text(SpanFact::ResponseId, facts.response_id.as_deref());
        draft.some_text(SpanFact::ResponseModel, facts.response_model.as_deref());
        if let Some(reason) = &facts.finish_reason {
            let reasons = AttributeValue::Texts(vec![reason.clone()]);
            draft.facts.push((SpanFact::FinishReasons, reasons));
        }
        if let Some(millis) = facts.first_chunk_ms.as_ref().and_then(Number::as_f64) {
            let seconds = AttributeValue::Decimal(millis / 1_000.0);
            draft.facts.push((SpanFact::TimeToFirstChunk, seconds));
        }
        facts.usage.iter().for_each(|usage| draft.usage(usage));
        draft.some_text(SpanFact::ErrorType, facts.error_code.as_deref());
        let reason = facts.finish_reason.as_deref();
        let content = self.content.model(&node.input, &node.output, reason);
        draft.some_text(SpanFact::Instructions, content.instructions.as_deref());
        draft.some_text(SpanFact::InputMessages, content.input.as_deref());
        draft.some_text(SpanFact::OutputMessages, content.output.as_deref());
        draft
    }

    fn tool(&self, facts: &ToolFacts, node: &NodeView) -> SpanDraft {
        let mut draft = SpanDraft::new(SpanType::ToolCall, &facts.tool);
        draft.text(SpanFact::ToolName, &facts.tool);
        draft.text(SpanFact::ToolCallId, &facts.call_id);
        let kind = if facts.is_external {
            "extension"
        } else {
            "function"
        };
        draft.text(SpanFact::ToolType, kind);
        if facts.is_external {
            draft.text(SpanFact::McpMethod, "tools/call");
        }
        draft.some_text(SpanFact::ErrorType, facts.error_code.as_deref());
        let (given, gave) = (
            self.content.tool(&node.input),
            self.content.tool(&node.output),
        );
        draft.some_text(SpanFact::ToolArguments, given.as_deref());
        draft.some_text(SpanFact::ToolResult, gave.as_deref());
        draft
    }

    /// The memory that a hook has used: reading and writing are one span each.
    fn memory_spans(
        &self,
        trace: &ExternalTrace,
        node: &NodeView,
        common: &[Attribute],
    ) -> Vec<Span> {
        let Some(StepFacts::Hook(facts)) = &node.facts else {
            return Vec::new();
        };
        let used = [
            (SpanType::MemorySearch, facts.memory_read),
            (SpanType::MemoryWrite, facts.memory_written),
        ];
        let used = used.into_iter();
        let used = used.filter_map(|(of, uses)| Some((of, uses?)));
        used.map(|(of, uses)| {
            let MemoryUse {
                start_at,
                end_at,
                calls,
            } = uses;
            let draft = SpanDraft::new(of, "");
            let mut span = self.span(trace, draft, [start_at, end_at]);
            let operation = span_convention(of).operation;
            span.id = trace.span_id(&format!("{}.{operation}", node.id));
            span.parent_id = Some(trace.span_id(&node.id));
            span.attributes.push(Attribute {
                name: "ambit.memory.calls".into(),
                value: AttributeValue::Number(calls.cast_signed()),
            });
            span.attributes.extend(common.iter().cloned());
            span
        })
        .collect()
    }
}

fn agent(facts: &AgentFacts, totals: Option<&AgentTotals<'_>>) -> SpanDraft {
    let name = match facts.name.as_str() {
        "" => &facts.id,
        name => name,
    };
    let mut draft = SpanDraft::new(SpanType::Agent, name);
    draft.text(SpanFact::AgentId, &facts.id);
    draft.text(SpanFact::AgentName, name);
    let provider = totals.and_then(|totals| totals.provider);
    draft.some_text(SpanFact::Provider, provider.map(provider_name));
    let usage = facts.usage.as_ref();
    if let Some(usage) = usage.or_else(|| totals.map(|totals| &totals.usage)) {
        draft.usage(usage);
    }
    draft.some_text(SpanFact::ErrorType, facts.error_code.as_deref());
    draft
}

fn search(facts: &SearchFacts) -> SpanDraft {
    let sources = facts.sources.join(",");
    let mut draft = SpanDraft::new(SpanType::Retrieval, &sources);
    draft.text(SpanFact::DataSource, &sources);
    if let Some(limit) = facts.limit {
        let limit = AttributeValue::Number(i64::try_from(limit).unwrap_or(i64::MAX));
        draft.facts.push((SpanFact::RetrievalLimit, limit));
    }
    draft
}

fn hook(facts: &HookFacts) -> SpanDraft {
    let subject = format!("{} {}", facts.agent, facts.hook);
    let mut draft = SpanDraft::new(SpanType::Hook, &subject);
    if let Some(millis) = facts.cpu_ms.as_ref().and_then(Number::as_f64) {
        let millis = AttributeValue::Decimal(millis);
        draft.facts.push((SpanFact::HookCpu, millis));
    }
    draft.some_text(SpanFact::ErrorType, facts.error_code.as_deref());
    draft
}

fn step(node: &NodeView) -> SpanDraft {
    let name = [&node.label, &node.kind];
    let name = name.into_iter().find(|name| !name.is_empty());
    let mut draft = SpanDraft::new(SpanType::Step, name.map_or("step", |name| name));
    draft.text(SpanFact::NodeType, &node.kind);
    draft
}

impl SpanDraft {
    fn new(of: SpanType, subject: &str) -> Self {
        Self {
            of,
            subject: subject.to_owned(),
            facts: Vec::new(),
        }
    }

    /// A text that says something.
    fn text(&mut self, fact: SpanFact, text: &str) {
        if !text.is_empty() {
            let text = AttributeValue::Text(text.to_owned());
            self.facts.push((fact, text));
        }
    }

    fn some_text(&mut self, fact: SpanFact, text: Option<&str>) {
        self.text(fact, text.unwrap_or_default());
    }

    fn options(&mut self, options: &Map<String, Value>) {
        for (name, fact) in OPTIONS {
            let Some(value) = options.get(*name) else {
                continue;
            };
            let is_whole = !matches!(
                fact,
                SpanFact::Temperature
                    | SpanFact::TopP
                    | SpanFact::FrequencyPenalty
                    | SpanFact::PresencePenalty
            );
            let value = match value.as_i64().filter(|_| is_whole) {
                Some(number) => Some(AttributeValue::Number(number)),
                None => value.as_f64().map(AttributeValue::Decimal),
            };
            self.facts.extend(value.map(|value| (*fact, value)));
        }
    }

    fn usage(&mut self, usage: &TokenUsage) {
        let all = [
            (SpanFact::InputTokens, usage.prompt_tokens),
            (SpanFact::OutputTokens, usage.completion_tokens),
        ];
        let details = [
            (SpanFact::CacheReadTokens, usage.cached_tokens()),
            (SpanFact::CacheWriteTokens, usage.cache_creation_tokens()),
            (SpanFact::ReasoningTokens, usage.reasoning_tokens()),
        ];
        let details = details.map(|(fact, tokens)| (fact, tokens.unwrap_or(0)));
        let details = details.into_iter().filter(|(_, tokens)| *tokens > 0);
        for (fact, tokens) in all.into_iter().chain(details) {
            self.facts.push((fact, AttributeValue::Number(tokens)));
        }
    }
}

fn nanoseconds(millis: Millis) -> u64 {
    u64::try_from(millis).unwrap_or(0).saturating_mul(1_000_000)
}
