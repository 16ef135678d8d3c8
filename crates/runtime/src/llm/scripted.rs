//! A model that says what its rules say: for tests and for demonstrations without a network.

mod conversation;
mod rule;
mod steps;

use super::connector::CommonModelOptions;
use super::endpoint::{ProxyClients, wrong_option};
use super::{
    AnswerPiece, AnswerStream, EncodedCall, ModelCall, ModelFailure, Provider, ProviderEntry,
    TokenUsage, stream,
};
use crate::config;
use crate::llm::Connector;
use async_trait::async_trait;
use conversation::ScriptedConversation;
use futures::stream::{StreamExt, iter};
use rule::{ChunkDelay, RuleSettings, ScriptedRule};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use steps::ScriptedStep;
use tokio::time::sleep;

/// The row of the table.
pub const ROW: ProviderEntry = ProviderEntry {
    kind: "scripted",
    open,
    by_address: &["image_url", "file"],
    options: None,
};

fn open(connector: &Connector, _: &ProxyClients) -> Result<Arc<dyn Provider>, ModelFailure> {
    let options = &connector.options.scripted;
    let numbered = options.rules.iter().enumerate();
    let rules = numbered.map(|(at, rule)| {
        ScriptedRule::new(rule)
            .map_err(|why| wrong_option(connector, &format!("rules[{at}]"), &why))
    });
    let usage = options.usage.as_ref().map(|usage| {
        token_usage(usage).ok_or_else(|| wrong_option(connector, "usage", "holds no token counts"))
    });
    Ok(Arc::new(ScriptedProvider {
        id: connector.id.clone(),
        model: options.model.clone(),
        rules: rules.collect::<Result<_, _>>()?,
        delay: options.delay,
        usage: usage.transpose()?,
    }))
}

config! {
    /// Options of a connector to a model that says what its rules say: for tests and demonstrations.
    pub struct ScriptedOptions {
        /// The model's name.
        model: String = "scripted",
        /// The first rule that holds answers; without one the model repeats what the user said.
        rules: Vec<RuleSettings>,
        /// How long each piece of an answer takes.
        delay: ChunkDelay,
        /// The tokens that a call counts, by OpenAI's names.
        usage: Option<BTreeMap<String, u64>>,
        include { common: CommonModelOptions }
    }
}

struct ScriptedProvider {
    id: String,
    model: String,
    rules: Vec<ScriptedRule>,
    delay: ChunkDelay,
    usage: Option<TokenUsage>,
}

#[async_trait]
impl Provider for ScriptedProvider {
    fn encode<'a>(&self, call: &'a ModelCall) -> Result<EncodedCall<'a>, ModelFailure> {
        let bytes = serde_json::to_vec(call);
        let bytes = bytes.map_err(|error| {
            ModelFailure::permanent(format!("the call cannot be written as JSON: {error}"))
        })?;
        Ok(EncodedCall {
            call,
            bytes: bytes.into(),
            encoder: "scripted/1",
            added: Vec::new(),
        })
    }

    async fn send(&self, encoded: &EncodedCall<'_>) -> Result<AnswerStream, ModelFailure> {
        let call = encoded.call;
        let mut conversation = ScriptedConversation::of(call);
        let rule = self.rules.iter().find(|rule| rule.holds(&conversation));
        conversation.system_match = rule
            .map(|rule| rule.system_match(&conversation))
            .unwrap_or_default();
        let rule = rule.map(|rule| &rule.settings);
        let ChunkDelay(delay) = rule.and_then(|rule| rule.delay).unwrap_or(self.delay);
        if let Some(error) = rule.and_then(|rule| rule.error.as_ref()) {
            sleep(delay).await;
            let failure = ModelFailure::of_status(error.status, &error.message);
            return Err(failure.of(&self.id));
        }
        let steps = steps::steps(rule, &conversation, self.usage.as_ref());
        let start = AnswerPiece::Start {
            id: Some(format!("scripted-{}", call.messages.len())),
            model: Some(self.model.clone()),
        };
        let id = self.id.clone();
        let spoken = iter(steps).then(move |step| delayed_step(step, delay));
        let spoken = spoken.map(move |piece| piece.map_err(|failure| failure.of(&id)));
        let pieces = iter([Ok(start)]).chain(spoken);
        Ok(stream::checked(call, pieces.boxed()))
    }
}

/// A step after its delay. Only chunks take time.
async fn delayed_step(step: ScriptedStep, delay: Duration) -> Result<AnswerPiece, ModelFailure> {
    match step {
        ScriptedStep::Chunk(piece) => {
            if !delay.is_zero() {
                sleep(delay).await;
            }
            Ok(piece)
        }
        ScriptedStep::Mark(piece) => Ok(piece),
        ScriptedStep::Cut => Err(stream::cut()),
    }
}

fn token_usage(counts: &BTreeMap<String, u64>) -> Option<TokenUsage> {
    let count = |key: &str| counts.get(key).and_then(|&count| i64::try_from(count).ok());
    let (prompt, completion) = (count("prompt_tokens"), count("completion_tokens"));
    let total = count("total_tokens");
    prompt.or(completion).or(total)?;
    let mut usage = TokenUsage::of(prompt.unwrap_or(0), completion.unwrap_or(0));
    usage.total_tokens = total.unwrap_or(usage.total_tokens);
    Some(usage)
}
