//! A model that says what its rules say: for tests and for demonstrations without a network.

mod conversation;
mod rule;
mod steps;

use super::endpoint::{ProxyClients, text, wrong};
use super::{
    AnswerPiece, AnswerStream, ModelCall, ModelFailure, Provider, ProviderEntry, TokenUsage, stream,
};
use crate::llm::Connector;
use ambit_storage::memory::Ttl;
use async_trait::async_trait;
use conversation::ScriptedConversation;
use futures::stream::{StreamExt, iter};
use rule::ScriptedRule;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use steps::ScriptedStep;
use tokio::time::sleep;

/// The row of the table.
pub const ROW: ProviderEntry = ProviderEntry {
    kind: "scripted",
    open,
    by_address: &["image_url", "file"],
};

fn open(connector: &Connector, _: &ProxyClients) -> Result<Arc<dyn Provider>, ModelFailure> {
    let options = &connector.options;
    let rules = match options.get("rules") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(rules)) => {
            let numbered = rules.iter().enumerate();
            let read = numbered.map(|(at, rule)| {
                ScriptedRule::read(rule)
                    .map_err(|why| wrong(connector, &format!("rules[{at}]"), &why))
            });
            read.collect::<Result<_, _>>()?
        }
        Some(_) => return Err(wrong(connector, "rules", "is no list")),
    };
    let usage = options.get("usage").filter(|usage| !usage.is_null());
    let usage = usage
        .map(|usage| {
            usage_of(usage).ok_or_else(|| wrong(connector, "usage", "holds no token counts"))
        })
        .transpose()?;
    Ok(Arc::new(ScriptedProvider {
        id: connector.id.clone(),
        model: text(connector, "model").unwrap_or("scripted").to_owned(),
        rules,
        delay: delay(options.get("delay")).map_err(|why| wrong(connector, "delay", &why))?,
        usage,
    }))
}

struct ScriptedProvider {
    id: String,
    model: String,
    rules: Vec<ScriptedRule>,
    delay: Duration,
    usage: Option<TokenUsage>,
}

#[async_trait]
impl Provider for ScriptedProvider {
    async fn call(&self, call: &ModelCall) -> Result<AnswerStream, ModelFailure> {
        let conversation = ScriptedConversation::of(call);
        let rule = self.rules.iter().find(|rule| rule.holds(&conversation));
        let delay = rule.and_then(|rule| rule.delay).unwrap_or(self.delay);
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

fn usage_of(value: &Value) -> Option<TokenUsage> {
    let count = |key: &str| value.get(key).and_then(Value::as_i64);
    let (prompt, completion) = (count("prompt_tokens"), count("completion_tokens"));
    let total = count("total_tokens");
    prompt.or(completion).or(total)?;
    let mut usage = TokenUsage::of(prompt.unwrap_or(0), completion.unwrap_or(0));
    usage.total_tokens = total.unwrap_or(usage.total_tokens);
    let details = |key: &str| value.get(key).and_then(Value::as_object).cloned();
    usage.prompt_tokens_details = details("prompt_tokens_details").unwrap_or_default();
    usage.completion_tokens_details = details("completion_tokens_details").unwrap_or_default();
    Some(usage)
}

fn delay(value: Option<&Value>) -> Result<Duration, String> {
    match Ttl::of(value.unwrap_or(&Value::Null)) {
        Ok(Some(Ttl::After(millis))) => Ok(Duration::from_millis(millis.unsigned_abs())),
        Ok(None | Some(Ttl::Never)) => Ok(Duration::ZERO),
        Err(_) => Err("is no duration; write \"20ms\"".to_owned()),
    }
}
