//! The server inside an application of one's own.

use crate::auth::{AuthConfig, Authenticator};
use crate::http::{self, HttpSettings, ServerState};
use crate::library::Ambit;
use ambit_runtime::{Error, ErrorCode, Result};
use axum::Router;
use std::sync::Arc;

/// Returns the routes that `ambit serve` has, to be merged into a router of axum's.
///
/// A layer around them may say who is calling: it puts an [`Authorized`](crate::Authorized) into the request's extensions, whose
/// claim `roles` and the app's access rules then decide what is granted. Without it the `auth` of the app's
/// `openapi/openapi.yao` tells callers apart. An app without `auth` has no callers, except when it was opened for
/// [development](crate::AmbitBuilder::development): then requests that name this machine as their host are its developer's.
///
/// The routes serve the whole app, to callers that they tell apart themselves: a handle that
/// [`acting_as`](Ambit::acting_as) or [`for_tenant`](Ambit::for_tenant) has limited is refused.
///
/// # Errors
///
/// Fails where the handle is limited, where the app's access rules are not clear, or where its store has no index.
///
/// # Examples
///
/// ```
/// use axum::Router;
/// use axum::routing::get;
///
/// # #[tokio::main]
/// # async fn main() -> ambit::Result<()> {
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");
/// # let ambit = ambit::Ambit::builder(folder).in_memory().open().await?;
/// let app: Router = Router::new()
///     .route("/", get(async || "The shop is open."))
///     .merge(ambit::server::router(&ambit)?);
/// # ambit.close().await
/// # }
/// ```
pub fn router(ambit: &Ambit) -> Result<Router> {
    if ambit.is_limited() {
        let message = "the server serves every caller of the app: give it the handle that the app was opened with, not one that is limited to a caller or a tenant";
        return Err(Error::invalid("ambit", message));
    }
    let runtime = ambit.runtime().clone();
    let unclear = |problem| {
        let message = format!("who may call is not clear: {problem}");
        Error::new(ErrorCode::ConfigError, message)
    };
    let config = AuthConfig::of(&runtime.app()).map_err(unclear)?;
    let store = runtime.stores().index()?.driver().clone();
    let is_development = runtime.is_development();
    let settings = HttpSettings {
        base: config.base.clone(),
        is_development,
        is_embedded: true,
        ..HttpSettings::default()
    };
    let auth = Authenticator::new(config, &store).allow_development(is_development);
    Ok(http::router(Arc::new(ServerState {
        runtime,
        auth,
        store,
        settings,
    })))
}
