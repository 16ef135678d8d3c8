//! The keys of `package.yao`.

use crate::app::prompts::read::PromptList;
use crate::app::read::{RawText, Setting, ValueKind};
use crate::app::search::SearchSettings;
use crate::app::{LimitSettings, Locales, StepUses};
use crate::chat::{GenerationOptions, ToolDefinition};
use crate::config;
use crate::config::Overrides;
use crate::llm::capabilities;
use crate::net::AllowedHost;
use crate::tool::ServerSelection;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

config! {
    /// `package.yao`: one agent. Texts are untranslated.
    pub struct PackageFile {
        /// What people call the agent; `{{ key }}` is translated, here and in other texts.
        #[required]
        name: String,
        /// What it does, for people and other agents.
        description: String,
        /// The address of its picture.
        avatar: String,
        /// A `worker` cannot be asked over HTTP and is not listed.
        #[key = "type"]
        kind: AgentKind = "assistant",
        /// The connector of its model: an id, or `use::<role>`; without it that of the role `default`. An agent without prompts and tools of its own does not ask its model.
        connector: String,
        /// Which connectors a client may choose from.
        connector_options: ConnectorChoice,
        /// What its model is called with where nothing else says it.
        options: AgentOptions,
        /// The modes that a request may name.
        modes: Vec<String>,
        /// The mode of requests that name none; a mode selects the prompts of its name.
        default_mode: String,
        /// Whether everybody sees the agent.
        public: Option<bool>,
        /// Who sees it beside its owner: nobody (`private`) or their team.
        share: Option<AgentShare>,
        /// Whether the prompts of all agents are left out.
        disable_global_prompts: bool,
        /// Its prompts, where there is no `prompts.yml`.
        prompts: PromptList,
        /// Collections of knowledge that its searches look into.
        kb: Option<AgentKnowledge> as ValueKind::Optional(&AgentKnowledge::KIND),
        /// Models that its searches look into.
        db: Option<AgentTables> as ValueKind::Optional(&AgentTables::KIND),
        /// Its tool servers.
        mcp: AgentTools,
        /// Who does the steps beside the model.
        uses: BTreeMap<String, String> as StepUses::KIND,
        /// Whether they do them even where the model can.
        force_uses: Option<bool>,
        /// How is searched for it.
        search: Option<Overrides<SearchSettings>> as ValueKind::Optional(&SearchSettings::KIND),
        /// Translations by language; they count before those of `locales/`.
        locales: Locales,
        /// The user who owns the agent.
        #[key = "__yao_created_by"]
        owner: Option<String>,
        /// The team of its owner.
        #[key = "__yao_team_id"]
        team: Option<String>,
        /// The tenant of its owner.
        #[key = "__yao_tenant_id"]
        tenant: Option<String>,
        /// What its scripts may use; the app's settings can only be narrowed.
        #[guard]
        runtime: AgentRuntime,
        /// Where its conversations are kept.
        context: ContextSettings,
        /// What clients may send.
        client: ClientSettings,
        given display_only: Map<String, Value> {
            /// Words to find the agent by.
            tags: ValueKind::TEXTS,
            /// Its place in lists.
            sort: ValueKind::Number,
            /// What an empty chat shows.
            placeholder: Placeholder::KIND,
            /// What it can do, for people and other agents.
            capabilities: ValueKind::Text,
            /// Whether people may change it.
            readonly: ValueKind::Boolean,
            /// Whether it comes with the app.
            built_in: ValueKind::Boolean,
            /// Whether people can mention it in a chat.
            mentionable: ValueKind::Boolean,
            /// Whether it can be run without a person.
            automated: ValueKind::Boolean,
            /// What it needs.
            dependencies: ValueKind::Any,
            /// When it was made.
            created_at: ValueKind::Either(&[ValueKind::Number, ValueKind::Text]),
            /// When it was changed.
            updated_at: ValueKind::Either(&[ValueKind::Number, ValueKind::Text]),
        }
        unused {
            hooks: ": hooks are found in src/index.ts only",
            script: ": hooks are found in src/index.ts only",
            source: ": hooks are found in src/index.ts only",
            option: ": options are \"options\"",
            version: " in Ambit",
            workflow: " in Ambit",
            sandbox: " in Ambit",
            computer: " in Ambit",
        }
    }

    /// What an agent is for.
    pub enum AgentKind {
        /// Talks to people.
        Assistant = "assistant",
        /// Works for other agents alone.
        Worker = "worker",
    }

    /// Who sees an agent beside its owner.
    pub enum AgentShare {
        /// Nobody.
        Private = "private",
        /// The owner's team.
        Team = "team",
    }

    /// What an empty chat shows.
    pub struct Placeholder {
        /// A heading.
        title: String,
        /// What the agent can do.
        description: String,
        /// Questions to start with.
        prompts: Vec<String>,
    }

    /// Which connectors a client may choose from.
    pub struct ConnectorChoice {
        /// Whether a client may choose at all.
        optional: bool,
        /// The connectors; without any, all whose models can do what `filters` names.
        connectors: Vec<String>,
        /// What their models must be able to do.
        filters: Vec<String> as ValueKind::List(&ValueKind::OneOf(capabilities::NAMES)),
    }

    /// What an agent's model is called with where nothing else says it.
    pub struct AgentOptions {
        /// The most messages of history that the model sees.
        history_size: Option<usize>,
        /// Tools that the client runs, unless a request declares its own.
        tools: Vec<ToolDefinition>,
        given generation: GenerationOptions {
            /// How much chance there is in the answer.
            temperature: ValueKind::Number,
            /// The most tokens of the answer.
            max_tokens: ValueKind::Count,
            /// The most tokens of the answer, with its thoughts.
            max_completion_tokens: ValueKind::Count,
            /// The share of likely words that are chosen from.
            top_p: ValueKind::Number,
            /// Texts at which the answer ends.
            stop: ValueKind::Either(&[ValueKind::Text, ValueKind::TEXTS]),
            /// How much words are avoided that were said.
            presence_penalty: ValueKind::Number,
            /// How much words are avoided that were said often.
            frequency_penalty: ValueKind::Number,
            /// How likely tokens are, by token.
            logit_bias: ValueKind::Map(&ValueKind::Number),
            /// Who asks, for the provider.
            user: ValueKind::Text,
            /// A number that makes answers repeatable.
            seed: ValueKind::Whole,
            /// The form of the answer: a name, or an object as OpenAI's.
            response_format: ValueKind::Either(&[ValueKind::Text, ValueKind::Map(&ValueKind::Any)]),
            /// Whether, or which, tools must be called: a name, or an object as OpenAI's.
            tool_choice: ValueKind::Either(&[ValueKind::Text, ValueKind::Map(&ValueKind::Any)]),
            /// How much the model thinks, such as `low` or `high`.
            reasoning_effort: ValueKind::Text,
        }
    }

    /// A tool that the client runs.
    pub struct ClientTool {
        /// What it is.
        #[required]
        #[key = "type"]
        kind: String as ValueKind::OneOf(&["function"]),
        /// The function.
        #[required]
        function: ClientFunction,
    }

    /// A function that the client runs.
    pub struct ClientFunction {
        /// Its name.
        #[required]
        name: String,
        /// What it does, for the model.
        description: String,
        /// JSON Schema of its arguments.
        parameters: Map<String, Value>,
        /// Whether the provider must keep to the schema.
        strict: bool,
    }

    /// Collections of knowledge that an agent's searches look into.
    pub struct AgentKnowledge {
        /// The collections.
        collections: Vec<String>,
        /// What is taken of them.
        options: AgentKnowledgeOptions,
    }

    /// What is taken of collections.
    pub struct AgentKnowledgeOptions {
        /// The most results.
        top_k: Option<usize>,
        /// How near a text must be, from 0 to 1.
        score_threshold: Option<f64>,
    }

    /// Models that an agent's searches look into.
    pub struct AgentTables {
        /// The models.
        models: Vec<String>,
        /// What is taken of them.
        options: AgentTablesOptions,
    }

    /// What is taken of models.
    pub struct AgentTablesOptions {
        /// The most rows.
        limit: Option<usize>,
        unused { offset: " in Ambit" }
    }

    /// An agent's tool servers.
    pub struct AgentTools {
        /// The servers: an id, `{server_id, tools?, resources?}`, `{<id>: [tools]}` or `{<id>: {tools, resources}}`.
        servers: Vec<ServerSelection>,
        /// How their tools are called.
        options: ToolOptions,
    }
}

impl Setting for ToolDefinition {
    const KIND: ValueKind = ClientTool::KIND;

    fn read(value: Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }
}

impl Setting for ServerSelection {
    const KIND: ValueKind = SERVER;

    fn read(value: Value) -> Option<Self> {
        Some(Self::of_entry(&value))
    }
}

/// A tool server of an agent.
const SERVER: ValueKind = ValueKind::Either(&[
    ValueKind::Text,
    ValueKind::With(
        "server_id",
        &ServerChoice::KIND,
        &ValueKind::Map(&ValueKind::Either(&[ValueKind::TEXTS, ServerParts::KIND])),
    ),
]);

config! {
    /// A tool server, and what of it the agent uses.
    pub struct ServerChoice {
        /// The server.
        #[required]
        server_id: String,
        include { parts: ServerParts }
    }

    /// What of a tool server an agent uses; `*` stands for any characters.
    pub struct ServerParts {
        /// Its tools; without the key all of them.
        #[guard]
        tools: Option<Vec<String>>,
        /// Its resources; without the key all of them.
        #[guard]
        resources: Option<Vec<String>>,
    }

    /// How an agent's tools are called.
    pub struct ToolOptions {
        /// Whether the model sees the results and goes on.
        tool_loop: bool = true,
        /// The most rounds of calls.
        max_turn: usize = 5,
        /// Whether the calls of a round run at once.
        parallel: bool = true,
        /// Who gets to know that a server cannot be reached: the `model`, or the step, which then fails (`fail`).
        tool_error: ToolErrorPolicy = "model",
        /// How long a call may take; the server's own limit counts if it is lower.
        timeout: Duration = "60s",
        /// The most tools that the model is offered.
        max_tools: usize = 64,
        /// The most examples of each tool that the model sees.
        samples: usize = 3,
    }

    /// What becomes of a call whose server cannot be reached.
    pub enum ToolErrorPolicy {
        /// The model is told.
        Model = "model",
        /// The step fails.
        Fail = "fail",
    }

    /// What an agent's scripts may use; the app's settings can only be narrowed.
    pub struct AgentRuntime {
        /// Limits lower than the app's.
        limits: Overrides<LimitSettings>,
        /// Hosts out of the app's; without the key all of them.
        #[guard]
        http: Option<Vec<AllowedHost>>,
    }

    /// Where an agent's conversations are kept. Texts may have `$CTX.USER_ID`, `TEAM_ID`, `TENANT_ID` and `CLAIM.<name>`.
    pub struct ContextSettings {
        /// The group that its sessions belong to.
        group: Option<String>,
        /// Where the history is kept.
        history: HistoryPlacement,
        /// Where usage is counted.
        usage: Placement,
        /// How long conversations are made shorter.
        truncation: TruncationSettings,
    }

    /// Where the history of conversations is kept.
    pub struct HistoryPlacement {
        /// Whether what is known of messages is kept with them.
        store_meta: bool,
        include { placement: Placement }
    }

    /// Whose a storage is, in place of the session's identity, and which drivers keep it.
    pub struct Placement {
        /// The chat.
        chat: Option<RawText>,
        /// The user.
        user: Option<RawText>,
        /// The group.
        group: Option<RawText>,
        /// The names of the stores that keep it.
        drivers: Option<Vec<String>>,
    }

    /// How long conversations are made shorter; off without a strategy and a threshold.
    pub struct TruncationSettings {
        /// What stands in the place of older messages: nothing, one summary, or a line for each exchange.
        strategy: Option<TruncationName>,
        /// The tokens of a request above which messages are cut.
        threshold: Option<u64>,
        /// The share of the threshold that is kept free, below 1; 0.2 where nothing says it.
        buffer: Option<f64>,
        /// The most messages that are kept: 10, or 5 with summaries.
        keep_messages: Option<usize>,
        /// Whether instructions are kept.
        preserve_system: Option<bool>,
    }

    /// What stands in the place of older messages.
    pub enum TruncationName {
        /// Nothing.
        Simple = "simple",
        /// One summary.
        Summarise = "summarise",
        /// A line for each exchange.
        Symbolise = "symbolise",
    }

    /// What clients may send.
    pub struct ClientSettings {
        /// Whether clients of Anthropic's Messages may ask it though it has hooks or tool servers, of which they see nothing.
        messages: bool,
        /// The roles of messages that a client may send beside `user`.
        roles: Vec<String> = ["assistant", "tool"] as ValueKind::List(&ValueKind::OneOf(&["assistant", "tool", "system", "developer"])),
        /// The key of `ctx.memory.chat` whose value clients of AG-UI share: they see it change, and may replace it.
        state: Option<String>,
    }
}
