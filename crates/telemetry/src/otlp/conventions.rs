//! The names of OpenTelemetry's conventions for generative AI, in each version that can be chosen: one table of spans, one of
//! their attributes, one of metrics. Sources: `docs/gen-ai` of `open-telemetry/semantic-conventions` 1.41 and of
//! `open-telemetry/semantic-conventions-genai`, to which they moved then.

use super::SpanKind;
use crate::metric::MetricSpec;
use crate::table;

/// A version of the conventions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConventionVersion {
    /// The last one of the common conventions.
    #[default]
    V1_41,
    /// What has come of it since.
    Latest,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanType {
    /// An agent at work.
    Agent,
    /// A call of a model.
    ModelCall,
    /// A call of a tool.
    ToolCall,
    /// A search.
    Retrieval,
    /// Reading memory.
    MemorySearch,
    /// Writing memory.
    MemoryWrite,
    /// A hook.
    Hook,
    /// Any other step.
    Step,
}

/// A row of the table of spans.
#[derive(Clone, Copy, Debug)]
pub struct SpanConvention {
    /// The step.
    pub of: SpanType,
    /// What its name begins with: `gen_ai.operation.name`, where the conventions know the step.
    pub operation: &'static str,
    /// Whether `operation` is one of the conventions.
    pub is_operation: bool,
    /// What it is to those around it.
    pub kind: SpanKind,
}

const fn span(of: SpanType, operation: &'static str, kind: SpanKind) -> SpanConvention {
    SpanConvention {
        of,
        operation,
        is_operation: !matches!(of, SpanType::Hook | SpanType::Step),
        kind,
    }
}

/// The spans.
#[rustfmt::skip]
pub const SPANS: &[SpanConvention] = &[
    span(SpanType::Agent, "invoke_agent", SpanKind::Internal),
    span(SpanType::ModelCall, "chat", SpanKind::Client),
    span(SpanType::ToolCall, "execute_tool", SpanKind::Internal),
    span(SpanType::Retrieval, "retrieval", SpanKind::Client),
    span(SpanType::MemorySearch, "search_memory", SpanKind::Internal),
    span(SpanType::MemoryWrite, "upsert_memory", SpanKind::Internal),
    span(SpanType::Hook, "ambit.hook", SpanKind::Internal),
    span(SpanType::Step, "", SpanKind::Internal),
];

/// What is known of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanFact {
    /// What is done.
    Operation,
    /// The provider of the model.
    Provider,
    /// The id of the agent.
    AgentId,
    /// The name of the agent.
    AgentName,
    /// The code of the failure.
    ErrorType,
    /// The model that was asked for.
    RequestModel,
    /// An option of the call.
    Temperature,
    /// An option of the call.
    TopP,
    /// An option of the call.
    TopK,
    /// An option of the call.
    MaxTokens,
    /// An option of the call.
    FrequencyPenalty,
    /// An option of the call.
    PresencePenalty,
    /// An option of the call.
    Seed,
    /// An option of the call.
    ChoiceCount,
    /// The provider's id of the answer.
    ResponseId,
    /// The model that answered.
    ResponseModel,
    /// Why the answer ended.
    FinishReasons,
    /// Seconds to the first piece of the answer.
    TimeToFirstChunk,
    /// Tokens of the request.
    InputTokens,
    /// Tokens of the answer.
    OutputTokens,
    /// Of the request's those read from a cache.
    CacheReadTokens,
    /// Of the request's those written to a cache.
    CacheWriteTokens,
    /// Of the answer's those of thinking.
    ReasoningTokens,
    /// The tool.
    ToolName,
    /// The id of the call.
    ToolCallId,
    /// What runs the tool.
    ToolType,
    /// The method of a tool server.
    McpMethod,
    /// What is searched.
    DataSource,
    /// How many results are wanted at most.
    RetrievalLimit,
    /// Processor time.
    HookCpu,
    /// What kind of step a script says it is.
    NodeType,
    /// What the model was sent, without the instructions.
    InputMessages,
    /// What the model answered.
    OutputMessages,
    /// The instructions.
    Instructions,
    /// What a tool was called with.
    ToolArguments,
    /// What a tool gave.
    ToolResult,
}

/// A row of the table of attributes: what a fact about a step is called.
#[derive(Clone, Copy, Debug)]
pub struct AttributeConvention {
    /// The step.
    pub of: SpanType,
    /// The fact.
    pub fact: SpanFact,
    /// Its name in 1.41, if it has one there.
    pub v1_41: Option<&'static str>,
    /// Its name in the latest version.
    pub latest: Option<&'static str>,
}

impl AttributeConvention {
    /// The name in a version.
    pub fn name(&self, version: ConventionVersion) -> Option<&'static str> {
        match version {
            ConventionVersion::V1_41 => self.v1_41,
            ConventionVersion::Latest => self.latest,
        }
    }
}

macro_rules! attributes {
    ($($of:ident { $($fact:ident: $v1_41:tt $(/ $latest:tt)?;)* })*) => {
        /// The attributes.
        pub const ATTRIBUTES: &[AttributeConvention] = &[$($(AttributeConvention {
            of: SpanType::$of,
            fact: SpanFact::$fact,
            v1_41: attributes!(@name $v1_41),
            latest: attributes!(@latest $v1_41 $($latest)?),
        },)*)*];
    };
    (@name -) => { None };
    (@name $name:literal) => { Some($name) };
    (@latest $same:tt) => { attributes!(@name $same) };
    (@latest $v1_41:tt $latest:tt) => { attributes!(@name $latest) };
}

attributes! {
    Agent {
        Operation: "gen_ai.operation.name";
        Provider: "gen_ai.provider.name" / -;
        AgentId: "gen_ai.agent.id" / -;
        AgentName: "gen_ai.agent.name";
        ErrorType: "error.type";
        InputTokens: "gen_ai.usage.input_tokens";
        OutputTokens: "gen_ai.usage.output_tokens";
        CacheReadTokens: "gen_ai.usage.cache_read.input_tokens" / -;
        CacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens" / -;
        ReasoningTokens: "gen_ai.usage.reasoning.output_tokens";
    }
    ModelCall {
        Operation: "gen_ai.operation.name";
        Provider: "gen_ai.provider.name";
        ErrorType: "error.type";
        RequestModel: "gen_ai.request.model";
        Temperature: "gen_ai.request.temperature";
        TopP: "gen_ai.request.top_p";
        TopK: "gen_ai.request.top_k";
        MaxTokens: "gen_ai.request.max_tokens";
        FrequencyPenalty: "gen_ai.request.frequency_penalty";
        PresencePenalty: "gen_ai.request.presence_penalty";
        Seed: "gen_ai.request.seed";
        ChoiceCount: "gen_ai.request.choice.count";
        ResponseId: "gen_ai.response.id";
        ResponseModel: "gen_ai.response.model";
        FinishReasons: "gen_ai.response.finish_reasons";
        TimeToFirstChunk: "gen_ai.response.time_to_first_chunk";
        InputTokens: "gen_ai.usage.input_tokens";
        OutputTokens: "gen_ai.usage.output_tokens";
        CacheReadTokens: "gen_ai.usage.cache_read.input_tokens";
        CacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens" / "gen_ai.usage.cache_write.input_tokens";
        ReasoningTokens: "gen_ai.usage.reasoning.output_tokens";
        InputMessages: "gen_ai.input.messages";
        OutputMessages: "gen_ai.output.messages";
        Instructions: "gen_ai.system_instructions";
    }
    ToolCall {
        Operation: "gen_ai.operation.name";
        ErrorType: "error.type";
        ToolName: "gen_ai.tool.name";
        ToolCallId: "gen_ai.tool.call.id";
        ToolType: "gen_ai.tool.type";
        McpMethod: "mcp.method.name";
        ToolArguments: "gen_ai.tool.call.arguments";
        ToolResult: "gen_ai.tool.call.result";
    }
    Retrieval {
        Operation: "gen_ai.operation.name";
        ErrorType: "error.type";
        DataSource: "gen_ai.data_source.id";
        RetrievalLimit: - / "gen_ai.retrieval.top_k";
    }
    MemorySearch {
        Operation: "gen_ai.operation.name";
    }
    MemoryWrite {
        Operation: "gen_ai.operation.name";
    }
    Hook {
        ErrorType: "error.type";
        HookCpu: "ambit.hook.cpu_ms";
    }
    Step {
        ErrorType: "error.type";
        NodeType: "ambit.node.type";
    }
}

/// The row of a span.
pub fn span_convention(of: SpanType) -> &'static SpanConvention {
    let row = SPANS.iter().find(|row| row.of == of);
    // A test finds every type in the table.
    row.unwrap_or(&SPANS[SPANS.len() - 1])
}

/// What a fact about a step is called in a version, if it is told there.
pub fn attribute_name(
    of: SpanType,
    fact: SpanFact,
    version: ConventionVersion,
) -> Option<&'static str> {
    let row = ATTRIBUTES
        .iter()
        .find(|row| row.of == of && row.fact == fact);
    row?.name(version)
}

/// What the labels of a metric say in the conventions' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricSubject {
    /// Calls of models, by connector.
    ModelCall,
    /// Tokens of one kind, by connector.
    Tokens(&'static str),
    /// Tokens of the request and of the answer, by connector and kind.
    TokenTypes,
    /// Work of an agent.
    Agent,
    /// Calls of tools.
    ToolCall,
}

/// A row of the table of metrics: what is counted here, and what the conventions call it.
#[derive(Clone, Copy, Debug)]
pub struct MetricConvention {
    /// What is counted.
    pub source: &'static MetricSpec,
    /// What it is about.
    pub subject: MetricSubject,
    /// Its name in 1.41, if it has one there.
    pub v1_41: Option<&'static str>,
    /// Its name in the latest version.
    pub latest: Option<&'static str>,
}

impl MetricConvention {
    /// The name in a version.
    pub fn name(&self, version: ConventionVersion) -> Option<&'static str> {
        match version {
            ConventionVersion::V1_41 => self.v1_41,
            ConventionVersion::Latest => self.latest,
        }
    }
}

const fn seconds(
    source: &'static MetricSpec,
    subject: MetricSubject,
    v1_41: Option<&'static str>,
    latest: &'static str,
) -> MetricConvention {
    MetricConvention {
        source,
        subject,
        v1_41,
        latest: Some(latest),
    }
}

const fn tokens(kind: &'static str, latest: &'static str) -> MetricConvention {
    MetricConvention {
        source: &table::MODEL_TOKENS.0,
        subject: MetricSubject::Tokens(kind),
        v1_41: None,
        latest: Some(latest),
    }
}

/// The metrics.
#[rustfmt::skip]
pub const METRIC_NAMES: &[MetricConvention] = &[
    seconds(&table::MODEL_CALL_SECONDS.0, MetricSubject::ModelCall,
        Some("gen_ai.client.operation.duration"), "gen_ai.client.inference.duration"),
    seconds(&table::MODEL_FIRST_TOKEN_SECONDS.0, MetricSubject::ModelCall,
        Some("gen_ai.client.operation.time_to_first_chunk"), "gen_ai.client.inference.time_to_first_chunk"),
    MetricConvention {
        source: &table::MODEL_CALL_TOKENS.0,
        subject: MetricSubject::TokenTypes,
        v1_41: Some("gen_ai.client.token.usage"),
        latest: None,
    },
    tokens("input", "gen_ai.client.inference.usage.input_tokens"),
    tokens("output", "gen_ai.client.inference.usage.output_tokens"),
    tokens("cached", "gen_ai.client.inference.usage.cache_read.input_tokens"),
    tokens("cache_write", "gen_ai.client.inference.usage.cache_write.input_tokens"),
    tokens("reasoning", "gen_ai.client.inference.usage.reasoning.output_tokens"),
    seconds(&table::TURN_SECONDS.0, MetricSubject::Agent, None, "gen_ai.invoke_agent.duration"),
    seconds(&table::TOOL_CALL_SECONDS.0, MetricSubject::ToolCall, None, "gen_ai.execute_tool.duration"),
];

/// The row of a table of providers: what the conventions call a kind of connector.
const PROVIDERS: &[(&str, &str)] = &[("gemini", "gcp.gemini")];

/// What the conventions call the provider of a kind of connector.
pub fn provider_name(kind: &str) -> &str {
    let row = PROVIDERS.iter().find(|(own, _)| *own == kind);
    row.map_or(kind, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_is_one_row_of_a_span_that_is_there() {
        for (at, row) in ATTRIBUTES.iter().enumerate() {
            assert_eq!(span_convention(row.of).of, row.of);
            let mut others = ATTRIBUTES[..at].iter();
            let is_twice = others.any(|it| it.of == row.of && it.fact == row.fact);
            assert!(!is_twice, "{row:?}");
            assert!(row.v1_41.is_some() || row.latest.is_some(), "{row:?}");
        }
    }

    #[test]
    fn versions_differ_where_the_conventions_have_changed() {
        let names = |of, fact| {
            [ConventionVersion::V1_41, ConventionVersion::Latest]
                .map(|version| attribute_name(of, fact, version))
        };
        let written = names(SpanType::ModelCall, SpanFact::CacheWriteTokens);
        assert_eq!(
            written,
            [
                Some("gen_ai.usage.cache_creation.input_tokens"),
                Some("gen_ai.usage.cache_write.input_tokens")
            ]
        );
        let gone = [
            SpanFact::AgentId,
            SpanFact::Provider,
            SpanFact::CacheReadTokens,
            SpanFact::CacheWriteTokens,
        ];
        for fact in gone {
            let [before, now] = names(SpanType::Agent, fact);
            assert!(before.is_some() && now.is_none(), "{fact:?}");
        }
        let limit = names(SpanType::Retrieval, SpanFact::RetrievalLimit);
        assert_eq!(limit, [None, Some("gen_ai.retrieval.top_k")]);
    }
}
