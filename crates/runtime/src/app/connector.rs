//! `connectors/**.conn.yao`: models and stores by name.

mod fallback;

use super::Connector;
use super::loader::AppLoader;
use super::problem::{FileProblem, Severity};
use super::read::{Setting, ValueKind};
use crate::config;
use crate::llm::PROVIDERS;
use ambit_storage::suggestion;
use fallback::FallbackList;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Types that answer as a model does.
pub const MODELS: &[&str] = &models();

const fn models() -> [&'static str; PROVIDERS.len()] {
    let mut kinds = [""; PROVIDERS.len()];
    let mut at = 0;
    while at < PROVIDERS.len() {
        kinds[at] = PROVIDERS[at].kind;
        at += 1;
    }
    kinds
}

/// Types that keep data.
pub const STORES: &[&str] = &["redis", "sqlite3", "postgres"];

config! {
    /// `connectors/**.conn.yao`: a model, or a place that keeps data, by name.
    #[secret]
    pub struct ConnectorFile {
        /// What people call it.
        label: String,
        /// The provider of a model, or the kind of store.
        #[required]
        #[key = "type"]
        kind: String,
        /// How it is reached; which keys there are depends on the type.
        options: Map<String, Value> as ValueKind::By("type", &[
            (&["scripted"], ScriptedOptions::KIND),
            (MODELS, ProviderOptions::KIND),
            (STORES, StoreLocation::KIND),
        ]),
        unused { LANG: " in Ambit", VERSION: " in Ambit", version: " in Ambit" }
    }

    /// Options of a connector to a model of a provider.
    #[secret]
    pub struct ProviderOptions {
        /// The model, as the provider calls it.
        model: String,
        /// The key of the provider.
        key: String,
        /// The provider's address; a bare origin gets the usual path.
        host: String,
        /// The same as `host`.
        proxy: String,
        /// A proxy for requests to the provider.
        http_proxy: String,
        /// Headers to send.
        headers: BTreeMap<String, String>,
        /// How the model thinks, in Anthropic's words.
        thinking: Option<ThinkingOptions>,
        /// The most tokens of an answer.
        max_tokens: Option<u64>,
        /// How much chance there is in an answer.
        temperature: Option<f64>,
        /// What is added to each request.
        extra_body: Map<String, Value>,
        /// How long the provider may say nothing.
        timeout: Duration = "120s",
        include { common: CommonModelOptions }
        unused { azure: ": name the deployment's own address in \"host\"", version: " in Ambit" }
    }

    /// Options of all connectors to models.
    pub struct CommonModelOptions {
        /// What the model can do; one that names nothing is taken to have all abilities.
        capabilities: CapabilitySettings,
        /// The connectors that are asked when this one fails, in order.
        fallback: Vec<String>,
        unused { price: ": usage is counted in tokens" }
    }

    /// How a model thinks.
    pub struct ThinkingOptions {
        /// `enabled`, `adaptive` or `disabled`.
        #[key = "type"]
        kind: String,
        /// The most tokens of thoughts.
        budget_tokens: Option<u64>,
    }

    /// What a model can do.
    pub struct CapabilitySettings {
        /// Pictures: whether, or in whose form.
        vision: Option<Value> as ValueKind::Either(&[ValueKind::Boolean, ValueKind::OneOf(&["openai", "claude"])]),
        /// Calls of tools.
        tool_calls: Option<bool>,
        /// Sound.
        audio: Option<bool>,
        /// Thinking that can be steered.
        reasoning: Option<bool>,
        /// Answers in pieces.
        streaming: Option<bool>,
        /// Answers in JSON.
        json: Option<bool>,
        /// Pictures and sound.
        multimodal: Option<bool>,
        /// The tokens of a request.
        max_input_tokens: Option<u64>,
        /// The tokens of an answer.
        max_output_tokens: Option<u64>,
    }

    /// Options of a connector to a model that says what its rules say: for tests and demonstrations.
    pub struct ScriptedOptions {
        /// The model's name.
        model: String = "scripted",
        /// The first rule that holds answers; without one the model repeats what the user said.
        rules: Vec<RuleSettings>,
        /// How long each piece of an answer takes.
        delay: Option<Duration>,
        /// The tokens that a call counts, by OpenAI's names.
        usage: BTreeMap<String, u64>,
        include { common: CommonModelOptions }
    }

    /// A rule of a scripted model.
    pub struct RuleSettings {
        /// When the rule holds; all must be true.
        #[key = "match"]
        conditions: RuleConditions,
        /// The text, with `{{last_user}}`, `{{last_tool_result}}`, `{{tool_names}}`, `{{message_count}}` and `{{request}}`.
        reply: Option<String>,
        /// The thoughts.
        reasoning: Option<String>,
        /// Calls of tools.
        tool_calls: Vec<RuleToolCall>,
        /// A value that is the text.
        json: Option<Value>,
        /// Why the answer ends.
        finish_reason: Option<String>,
        /// A failure in place of an answer.
        error: Option<RuleFailure>,
        /// After so many pieces the answer breaks off.
        cut_after: Option<usize>,
        /// How long each piece takes.
        delay: Option<Duration>,
    }

    /// When a rule holds.
    pub struct RuleConditions {
        /// What the user's last text matches.
        last_user: Option<String> as ValueKind::Pattern,
        /// What the instructions match.
        system: Option<String> as ValueKind::Pattern,
        /// Whether the last message is a tool's result.
        has_tool_result: Option<bool>,
        /// How many rounds of tools there were.
        round: Option<usize>,
        /// The tools that are offered.
        tools: Option<Vec<String>>,
        /// How often the rule is used at most.
        times: Option<u64>,
    }

    /// A call of a tool.
    pub struct RuleToolCall {
        /// The tool.
        #[required]
        name: String,
        /// The call's id; a counted one without it.
        id: String,
        /// The arguments.
        arguments: Value,
    }

    /// A failure as a server would answer it.
    pub struct RuleFailure {
        /// The status.
        status: usize = 500,
        /// What it says.
        message: String,
    }

    /// Options of a connector to a place that keeps data.
    #[secret]
    pub struct StoreLocation {
        /// The host.
        host: Value,
        /// The port.
        port: Value,
        /// The user.
        user: Value,
        /// The password.
        pass: Value,
        /// The database: its name, or its number in Redis.
        db: Value,
        /// The file, below the app's folder, of the type `sqlite3`.
        file: Value,
        open "Other keys are not looked at."
    }
}

/// Reads all connectors.
pub fn load(loader: &mut AppLoader) -> BTreeMap<String, Result<Arc<Connector>, FileProblem>> {
    let mut lists = Vec::new();
    let files = loader.items("connectors", &[".conn.yao"]);
    let found = files.into_iter().map(|(id, file)| {
        let connector = file.and_then(|file| one(loader, &id, &file, &mut lists));
        (id, connector)
    });
    let mut found: BTreeMap<_, _> = found.collect();
    fallback::judge(loader, &mut found, &lists);
    let shared = found.into_iter();
    shared
        .map(|(id, connector)| (id, connector.map(Arc::new)))
        .collect()
}

fn one(
    loader: &mut AppLoader,
    id: &str,
    file: &str,
    lists: &mut Vec<FallbackList>,
) -> Result<Connector, FileProblem> {
    let (read, node) = loader.read::<ConnectorFile>(file)?;
    lists.extend(FallbackList::of(id, file, &node));
    let kind = read.kind;
    if !MODELS.contains(&kind.as_str()) && !STORES.contains(&kind.as_str()) {
        let known = || MODELS.iter().chain(STORES).copied();
        let hint = suggestion::hint(&kind, known());
        let known: Vec<&str> = known().collect();
        let known = known.join(", ");
        let message = format!("nothing can use this connector: its type is none of {known}{hint}");
        let problem = FileProblem::new(Severity::Notice, file, message);
        loader.problems.push(problem);
    }
    let common = CommonModelOptions::read(read.options.clone().into());
    Ok(Connector {
        id: id.to_owned(),
        kind,
        label: read.label,
        fallback: common.unwrap_or_default().fallback,
        options: read.options,
    })
}
