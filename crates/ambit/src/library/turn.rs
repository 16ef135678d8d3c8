//! A request to an agent, before it is sent.

use super::response::Response;
use super::response_stream::ResponseStream;
use super::session::AgentSession;
use crate::format;
use ambit_runtime::RequestOrigin;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::{Result, TurnRequest};
use ambit_storage::lease::OnBusy;
use futures::future::BoxFuture;
use serde_json::Value;

/// A turn that is about to begin. Awaited it gives the whole answer; [`stream`](Self::stream) gives it as it is made.
#[must_use = "a turn begins when it is awaited or streamed"]
pub struct TurnBuilder {
    /// Opens the conversation, where it is not open yet.
    session: BoxFuture<'static, Result<AgentSession>>,
    request: TurnRequest,
}

impl TurnBuilder {
    pub(super) fn new(session: BoxFuture<'static, Result<AgentSession>>, message: String) -> Self {
        let request = TurnRequest {
            messages: vec![ChatMessage::user(message)],
            origin: RequestOrigin {
                accept: format::DEFAULT.to_owned(),
                referer: "api".to_owned(),
                ..RequestOrigin::default()
            },
            ..TurnRequest::default()
        };
        Self { session, request }
    }

    /// Has the model behind this connector answer, where the agent lets its clients choose (`connector_options.optional`).
    pub fn connector(mut self, id: impl Into<String>) -> Self {
        self.request.call.connector = Some(id.into());
        self
    }

    /// Adds to what hooks find in `ctx.metadata`.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.request.metadata.insert(name.into(), value.into());
        self
    }

    /// Says what happens where the conversation has a turn running; without it the request is refused.
    pub fn on_busy(mut self, on_busy: OnBusy) -> Self {
        self.request.on_busy = on_busy;
        self
    }

    /// Changes anything else that a request can say. Who asks, which agent and in which conversation stay as they are.
    pub fn with(mut self, change: impl FnOnce(&mut TurnRequest)) -> Self {
        change(&mut self.request);
        self
    }

    /// Begins the turn and returns its stream. The turn goes on to its end whether the stream is read or not.
    ///
    /// # Errors
    ///
    /// Fails where the request is refused: its message was vetoed, or the conversation has a turn running.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures::TryStreamExt;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> ambit::Result<()> {
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");
    /// # let ambit = ambit::Ambit::builder(folder).in_memory().open().await?;
    /// let agent = ambit.agent("welcome")?.for_user("ann").await?;
    /// let mut text = agent.respond("Hello").stream().await?.text();
    /// while let Some(piece) = text.try_next().await? {
    ///     print!("{piece}");
    /// }
    /// # ambit.close().await
    /// # }
    /// ```
    pub async fn stream(self) -> Result<ResponseStream> {
        let session = self.session.await?;
        let identity = session.context().identity().clone();
        let request = TurnRequest {
            authorized: session.authorized().clone(),
            agent: identity.agent_name().to_owned(),
            chat: None,
            identity: Some(identity),
            ..self.request
        };
        let started = session.ambit().runtime().start(request).await?;
        Ok(ResponseStream::new(session, started))
    }
}

impl IntoFuture for TurnBuilder {
    type Output = Result<Response>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.stream().await?.response().await })
    }
}
