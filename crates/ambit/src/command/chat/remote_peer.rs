//! A server elsewhere.

use super::{ChatAnswer, unknown_agent};
use crate::command::http_client::{check_address, client, unreachable};
use crate::command_error::{CommandError, Result};
use crate::settings::token;
use futures::StreamExt;
use futures::stream::{BoxStream, iter, unfold};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

/// A server, and the agent there.
pub struct RemotePeer {
    client: Client,
    base: String,
    agent: String,
    token: Option<String>,
}

impl RemotePeer {
    pub fn new(url: &str, agent: &str) -> Result<Self> {
        check_address(url)?;
        let client = client()?.build();
        Ok(Self {
            client: client.map_err(|error| unreachable(&error))?,
            base: url.trim_end_matches('/').to_owned(),
            agent: agent.to_owned(),
            token: token(),
        })
    }

    pub async fn ask(&self, chat: Option<&str>, text: &str) -> Result<ChatAnswer> {
        let body = json!({
            "model": self.agent,
            "chat_id": chat,
            "stream": true,
            "messages": [{"role": "user", "content": text}],
        });
        let request = self.client.post(self.route("chat/completions"));
        let response = self.sent(request.json(&body)).await?;
        let is_unknown = response.status() == StatusCode::NOT_FOUND;
        let response = match self.accepted(response).await {
            Err(CommandError::Refused(message)) if is_unknown => {
                return Err(self.not_found(message).await);
            }
            accepted => accepted?,
        };
        let header = |name: &str| {
            let value = response.headers().get(name);
            value
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        let (Some(request_id), Some(chat)) = (header("x-ambit-request"), header("x-ambit-chat"))
        else {
            let reason = format!("{} does not answer like an Ambit server", self.base);
            return Err(CommandError::option("--url", reason));
        };
        Ok(ChatAnswer {
            request_id,
            chat,
            chunks: chunks(response),
        })
    }

    pub async fn cancel(&self, request_id: &str) -> Result<()> {
        let route = self.route(&format!("chat/requests/{request_id}/cancel"));
        self.send(self.client.post(route)).await.map(drop)
    }

    pub async fn references(&self, request_id: &str) -> Result<Value> {
        let route = self.route(&format!("chat/references/{request_id}"));
        let response = self.send(self.client.get(route)).await?;
        response.json().await.map_err(|error| unreachable(&error))
    }

    /// Why something is not there; where it is the agent, with those that are.
    async fn not_found(&self, message: String) -> CommandError {
        match self.agents().await {
            Ok(agents) if !agents.contains(&self.agent) => unknown_agent(&message, &agents),
            _ => CommandError::Refused(message),
        }
    }

    /// The agents that the caller may use.
    async fn agents(&self) -> Result<Vec<String>> {
        let response = self.send(self.client.get(self.route("models"))).await?;
        let models: Value = response.json().await.map_err(|error| unreachable(&error))?;
        let models = models["data"].as_array().into_iter().flatten();
        let ids = models.filter_map(|model| model["id"].as_str().map(str::to_owned));
        Ok(ids.collect())
    }

    fn route(&self, path: &str) -> String {
        let base = &self.base;
        match base.ends_with("/v1") {
            true => format!("{base}/{path}"),
            false => format!("{base}/v1/{path}"),
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let response = self.sent(request).await?;
        self.accepted(response).await
    }

    async fn sent(&self, request: RequestBuilder) -> Result<Response> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.send().await.map_err(|error| unreachable(&error))
    }

    /// The response, or what it says is wrong.
    async fn accepted(&self, response: Response) -> Result<Response> {
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body: Value = response.json().await.unwrap_or_default();
        let message = body["error"]["message"].as_str();
        let message = message.map_or_else(|| format!("the server answers {status}"), str::to_owned);
        Err(CommandError::Refused(match (status, &self.token) {
            (StatusCode::UNAUTHORIZED, None) => {
                "the server answers nobody whom it does not know; set AMBIT_TOKEN to a token or an API key for it".to_owned()
            }
            (StatusCode::UNAUTHORIZED, Some(_)) => format!("{message}; AMBIT_TOKEN holds what was sent"),
            _ => message,
        }))
    }
}

/// The payloads of the response's events.
fn chunks(response: Response) -> BoxStream<'static, Result<String>> {
    let steps = unfold(Some((response, Vec::new())), |reading| async {
        let (mut response, mut waiting) = reading?;
        match response.chunk().await {
            Ok(Some(bytes)) => {
                waiting.extend_from_slice(&bytes);
                let payloads = whole_lines(&mut waiting);
                Some((iter(payloads), Some((response, waiting))))
            }
            Ok(None) => None,
            Err(error) => Some((iter(vec![Err(unreachable(&error))]), None)),
        }
    });
    steps.flatten().boxed()
}

/// Takes the payloads of the lines that have come whole.
fn whole_lines(waiting: &mut Vec<u8>) -> Vec<Result<String>> {
    let Some(last) = waiting.iter().rposition(|byte| *byte == b'\n') else {
        return Vec::new();
    };
    let rest = waiting.split_off(last + 1);
    let text = String::from_utf8_lossy(waiting).into_owned();
    *waiting = rest;
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|payload| *payload != "[DONE]")
        .map(|payload| Ok(payload.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::whole_lines;

    #[test]
    fn a_line_that_comes_in_parts_is_taken_when_it_is_whole() {
        let mut waiting = b"id: 1\ndata: {\"a\":1}\n\n: ping\nda".to_vec();
        let taken: Vec<String> = whole_lines(&mut waiting)
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert_eq!(taken, ["{\"a\":1}"]);
        waiting.extend_from_slice("ta: é\n\ndata: [DONE]\n\n".as_bytes());
        let taken: Vec<String> = whole_lines(&mut waiting)
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert_eq!(taken, ["é"]);
        assert!(waiting.is_empty());
    }
}
