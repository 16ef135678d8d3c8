//! The caller of a stream, whose right to it is judged again while it is open: keys are revoked, tokens expire, and what was
//! shared is taken back.

use crate::auth::CallerAccess;
use crate::http::{ApiCaller, HttpError, SharedState};
use ambit_runtime::{Authorized, Error, ErrorCode, Result};
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;
use futures::{StreamExt, stream};
use std::future::{Future, ready};
use std::hash::{BuildHasher, RandomState};
use tokio::time::sleep;

/// Who asks for a stream, and the request by which that is judged again.
pub struct StreamCaller {
    /// The server.
    pub server: SharedState,
    /// Who calls.
    pub who: Authorized,
    request: Parts,
}

impl FromRequestParts<SharedState> for StreamCaller {
    type Rejection = HttpError;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &SharedState,
    ) -> Result<Self, HttpError> {
        let ApiCaller { server, who } = ApiCaller::from_request_parts(parts, server).await?;
        let request = parts.clone();
        Ok(Self {
            server,
            who,
            request,
        })
    }
}

impl StreamCaller {
    /// The stream, which breaks off when the credentials of its caller have ended or grant something else.
    pub fn guard(self, answer: Response) -> Response {
        self.guard_by(answer, |_, _| ready(Ok(())))
    }

    /// The same for a stream of something that the caller may lose sight of, which `look` tells.
    pub fn guard_by<Look, Seen>(self, answer: Response, look: Look) -> Response
    where
        Look: Fn(SharedState, Authorized) -> Seen + Send + 'static,
        Seen: Future<Output = Result<()>> + Send + 'static,
    {
        // Nobody in particular has no right that could end.
        if self.who == Authorized::default() {
            return answer;
        }
        answer.map(|body| until(body, self.refused(look)))
    }

    /// Waits until the stream is refused. A store or an issuer that cannot be asked refuses nothing.
    async fn refused<Look, Seen>(mut self, look: Look)
    where
        Look: Fn(SharedState, Authorized) -> Seen + Send + 'static,
        Seen: Future<Output = Result<()>> + Send + 'static,
    {
        let ping = self.server.settings.ping;
        // Streams that begin together are not to be judged together.
        let chance = RandomState::new().hash_one(()) as f64 / u64::MAX as f64;
        let mut wait = ping.mul_f64(0.5 + chance / 2.0);
        loop {
            sleep(wait).await;
            wait = ping;
            let judged = match self.authorize().await {
                Ok(()) => look(self.server.clone(), self.who.clone()).await,
                refused => refused,
            };
            if let Err(error) = judged
                && is_refusal(&error.code)
            {
                let user = self.who.user_id.as_deref();
                tracing::info!(user.id = user, error.code = %error.code, "a stream is ended, for its caller may no longer read it: {error}");
                return;
            }
        }
    }

    async fn authorize(&mut self) -> Result<()> {
        let access = CallerAccess::from_request_parts(&mut self.request, &self.server).await;
        let access = access.map_err(|HttpError(error)| *error)?;
        let (method, path) = (self.request.method.as_str(), self.request.uri.path());
        let who = access.authorize(method, path)?;
        // What the stream shows was chosen for the caller as they were.
        match who == self.who {
            true => Ok(()),
            false => {
                let message = "the credentials stand for another caller or other rights by now";
                Err(Error::new(ErrorCode::Unauthenticated, message))
            }
        }
    }
}

fn is_refusal(code: &ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Unauthenticated | ErrorCode::PermissionDenied | ErrorCode::NotFound
    )
}

/// A body that breaks off when this is done: a stream that was refused must not look like one that has ended.
fn until(body: Body, refused: impl Future<Output = ()> + Send + 'static) -> Body {
    let guarded = (body.into_data_stream(), Box::pin(refused));
    Body::from_stream(stream::unfold(Some(guarded), |guarded| async {
        let (mut body, mut refused) = guarded?;
        tokio::select! {
            biased;
            () = &mut refused => {
                let broken = std::io::Error::other("the caller may no longer read the stream");
                Some((Err(axum::Error::new(broken)), None))
            }
            next = body.next() => next.map(|bytes| (bytes, Some((body, refused)))),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::is_refusal;
    use ambit_runtime::ErrorCode;

    #[test]
    fn only_a_clear_refusal_ends_a_stream() {
        for (code, expected) in [
            (ErrorCode::Unauthenticated, true),
            (ErrorCode::PermissionDenied, true),
            (ErrorCode::NotFound, true),
            (ErrorCode::Unavailable, false),
            (ErrorCode::Timeout, false),
            (ErrorCode::Internal, false),
        ] {
            assert_eq!(is_refusal(&code), expected, "{code:?}");
        }
    }
}
