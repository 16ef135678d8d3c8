//! The HTTP surface. A file of routes is one file beside this one and one row of `ROUTES`; a route that is in no row does not
//! exist. Whom it is granted where an app has no rules is said in `auth/access/default_rules.rs`, and everything else in its file.
//!
//! A handler takes what it needs as arguments, in this order: `ApiCaller { server, who }: ApiCaller`, `Path`, `Query` (or
//! `NoQuery`), and `JsonBody` last. It answers `Result<impl IntoResponse, HttpError>`. `#[utoipa::path]` above it is its place in
//! the document; paths there are below the base path, with `{name}` for what varies.

mod access;
mod act_as;
mod ag_ui;
mod agent_trials;
mod ai_sdk;
mod anthropic;
mod app;
mod app_agents;
mod assistants;
mod authorization;
mod body;
mod calls;
pub mod chat;
mod chat_search;
mod chats;
mod connection;
mod console;
mod contexts;
mod conversations;
mod data;
mod doctor;
mod error;
mod events;
mod health;
mod http_metrics;
mod idempotency;
mod input;
mod keys;
mod knowledge;
mod listing_routes;
mod mcp;
mod memory;
mod memory_search;
mod middleware;
mod models;
mod oauth_metadata;
mod open_connections;
mod openapi;
mod operations;
mod paging;
mod rate_limits;
mod response_headers;
mod response_items;
mod responses;
mod routes;
mod session;
mod sse;
mod sse_source;
mod store;
mod system;
mod tls;
mod traces;
mod transport;
mod turn;
mod unknown_route;
mod unread_body;
mod usage;
mod visible_agents;

pub use authorization::{ApiCaller, RouteAccess};
pub use connection::{ClientConnection, serve};
pub use console::{ConsoleFiles, PATH as CONSOLE_PATH};
pub use error::{ErrorBody, HttpError};
pub use input::{MAX_BODY_VALUES, OBJECT_VALUES};
pub use routes::Routes;
pub use tls::{ServerTls, TlsFiles};

use crate::auth::Authenticator;
use crate::auth::access::{EndpointPattern, RequestTarget};
use ambit_runtime::{Authorized, Runtime};
use ambit_storage::driver::Driver;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Extension, Router};
use operations::Operations;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use utoipa::openapi::OpenApi;

/// What all handlers share.
pub struct ServerState {
    /// The app and its turns.
    pub runtime: Runtime,
    /// Who is calling.
    pub auth: Authenticator,
    /// Where keys and other values of the server itself are kept.
    pub store: Arc<dyn Driver>,
    /// What may be set.
    pub settings: HttpSettings,
}

/// A server as handlers hold it.
pub type SharedState = Arc<ServerState>;

/// What may be set about serving.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// What all paths but those of operation begin with.
    pub base: String,
    /// Errors show stacks.
    pub is_development: bool,
    /// Everybody may read the measures.
    pub has_public_metrics: bool,
    /// What is no route is answered by the program around the server.
    pub is_embedded: bool,
    /// The web console.
    pub console: ConsoleFiles,
    /// Bytes of a request's body.
    pub body_limit: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// How often a silent stream shows that it lives.
    pub ping: Duration,
    /// How long a stream of OpenAI's shape keeps its headers back, so that a turn that fails at once has a status.
    pub status_wait: Duration,
    /// Bytes that a reader of a stream may fall behind.
    pub lag_limit: usize,
    /// Connections that are held at once; further clients are told that the server is full.
    pub connection_limit: usize,
    /// What connections are encrypted with; none where they are plain.
    pub tls: Option<Arc<ServerTls>>,
    /// The server has been told to stop and wants no new clients.
    pub is_stopping: Arc<AtomicBool>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            base: "/v1".to_owned(),
            is_development: false,
            has_public_metrics: false,
            is_embedded: false,
            console: ConsoleFiles::default(),
            body_limit: 4 << 20,
            body_time: Duration::from_secs(60),
            ping: Duration::from_secs(15),
            status_wait: Duration::from_millis(250),
            lag_limit: 4 << 20,
            connection_limit: usize::MAX,
            tls: None,
            is_stopping: Arc::default(),
        }
    }
}

/// Where a path stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutePlace {
    /// Below the base path.
    BelowBase,
    /// Beside the base path.
    BesideBase,
}

/// The routes of one file.
pub struct RouteGroup {
    /// Who may call them.
    pub right: RouteAccess,
    /// Where their paths stand.
    pub place: RoutePlace,
    /// The routes.
    pub routes: fn() -> Routes,
}

impl RouteGroup {
    /// Routes below the base path.
    const fn of(right: RouteAccess, routes: fn() -> Routes) -> Self {
        Self {
            right,
            place: RoutePlace::BelowBase,
            routes,
        }
    }

    /// Routes of operation, beside the base path.
    const fn beside(right: RouteAccess, routes: fn() -> Routes) -> Self {
        Self {
            right,
            place: RoutePlace::BesideBase,
            routes,
        }
    }
}

/// Every file of routes.
pub const ROUTES: &[RouteGroup] = &[
    RouteGroup::beside(RouteAccess::Anybody, health::routes),
    RouteGroup::beside(RouteAccess::Ruled, openapi::routes),
    RouteGroup::beside(RouteAccess::Measures, http_metrics::routes),
    RouteGroup::beside(RouteAccess::Anybody, oauth_metadata::routes),
    RouteGroup::of(RouteAccess::Ruled, access::routes),
    RouteGroup::of(RouteAccess::Ruled, act_as::routes),
    RouteGroup::of(RouteAccess::Ruled, ag_ui::routes),
    RouteGroup::of(RouteAccess::Ruled, agent_trials::routes),
    RouteGroup::of(RouteAccess::Ruled, ai_sdk::routes),
    RouteGroup::of(RouteAccess::Ruled, app::routes),
    RouteGroup::of(RouteAccess::Ruled, app_agents::routes),
    RouteGroup::of(RouteAccess::Ruled, assistants::routes),
    RouteGroup::of(RouteAccess::Ruled, calls::routes),
    RouteGroup::of(RouteAccess::Ruled, chat::routes),
    RouteGroup::of(RouteAccess::Ruled, chats::routes),
    RouteGroup::of(RouteAccess::Ruled, contexts::routes),
    RouteGroup::of(RouteAccess::Ruled, conversations::routes),
    RouteGroup::of(RouteAccess::Ruled, data::routes),
    RouteGroup::of(RouteAccess::Ruled, doctor::routes),
    RouteGroup::of(RouteAccess::Ruled, events::routes),
    RouteGroup::of(RouteAccess::Ruled, keys::routes),
    RouteGroup::of(RouteAccess::Ruled, knowledge::routes),
    RouteGroup::of(RouteAccess::McpServer, mcp::routes),
    RouteGroup::of(RouteAccess::Ruled, memory::routes),
    RouteGroup::of(RouteAccess::Ruled, memory_search::routes),
    RouteGroup::of(RouteAccess::Ruled, anthropic::routes),
    RouteGroup::of(RouteAccess::Ruled, models::routes),
    RouteGroup::of(RouteAccess::Ruled, responses::routes),
    RouteGroup::of(RouteAccess::Session, session::routes),
    RouteGroup::of(RouteAccess::Ruled, store::routes),
    RouteGroup::of(RouteAccess::Ruled, system::routes),
    RouteGroup::of(RouteAccess::Ruled, traces::routes),
    RouteGroup::of(RouteAccess::Ruled, turn::routes),
    RouteGroup::of(RouteAccess::Ruled, usage::routes),
];

/// The server as a service; `serve` puts it on a listener.
pub fn router(server: SharedState) -> Router {
    server.runtime.judge_reloads(server.auth.reload_check());
    let limits = server.auth.limits().clone();
    let count = move |who: &Authorized, tokens| limits.count_tokens(who, tokens);
    server.runtime.hear_tokens(Box::new(count));
    assemble(server, ROUTES)
}

fn assemble(server: SharedState, rows: &[RouteGroup]) -> Router {
    let base = &server.settings.base;
    let mut router = Router::new();
    for row in rows {
        let check = from_fn_with_state((server.clone(), row.right), authorization::check);
        let guarded = (row.routes)().into_router().route_layer(check);
        router = match row.place {
            RoutePlace::BelowBase => router.nest(base, guarded),
            RoutePlace::BesideBase => router.merge(guarded),
        };
    }
    if !server.settings.is_embedded {
        router = router.fallback(unknown_route::answer);
    }
    router = router.merge(console::router(&server));
    router
        .method_not_allowed_fallback(unknown_route::no_method)
        .layer(Extension(Operations::of(rows)))
        .layer(from_fn(unread_body::read))
        .layer(from_fn_with_state(server.clone(), middleware::finish))
        .layer(from_fn_with_state(server.clone(), response_headers::add))
        .with_state(server)
}

/// Returns the OpenAPI document of a server with this base path.
pub fn document(base: &str) -> OpenApi {
    let mut document = openapi::head();
    for row in ROUTES {
        let prefix = match row.place {
            RoutePlace::BelowBase => base,
            RoutePlace::BesideBase => "",
        };
        for route in (row.routes)().into_operations() {
            route.add_to(&mut document, prefix);
        }
    }
    let document = openapi::with_plain_parts(document);
    let document = openapi::with_named_kinds(openapi::with_open_unions(document));
    let document = openapi::with_free_objects(document);
    let document = openapi::with_headers(openapi::with_failures(document));
    openapi::with_bodies(document)
}

/// Every route: its method, and its path with `:name` for what varies and `*` for a last part that may have slashes, below the base path
/// where it stands there.
pub fn operations() -> Vec<(String, String)> {
    let all = Operations::of(ROUTES);
    let pairs = all.iter();
    let pairs = pairs.map(|operation| (operation.method.clone(), operation.path.clone()));
    pairs.collect()
}

/// Whether a request is one of them.
pub fn has_route(target: &RequestTarget) -> bool {
    let mut known = operations().into_iter();
    known.any(|(method, path)| {
        let endpoint = EndpointPattern::of(&method, &path);
        endpoint.is_ok_and(|endpoint| endpoint.matches(target))
    })
}

#[cfg(test)]
mod tests {
    use super::connection::{self, ClientListener};
    use super::open_connections::OpenConnections;
    use super::routes::routes;
    use super::{
        HttpSettings, RouteAccess, RouteGroup, Routes, ServerState, SharedState, assemble, router,
    };
    use crate::auth::rate_limits::RateLimiter;
    use crate::auth::{AuthConfig, Authenticator};
    use ambit_runtime::{Authorized, Runtime, RuntimeSettings};
    use ambit_storage::Stores;
    use ambit_storage::driver::DriverOptions;
    use axum::Router;
    use futures::future::join_all;
    use std::net::SocketAddr;
    use std::pin::pin;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::yield_now;

    #[utoipa::path(get, path = "/panic", responses((status = 200)))]
    async fn panics() {
        panic!("details that are nobody's business");
    }

    fn routes() -> Routes {
        routes![panics]
    }

    async fn server(folder: &tempfile::TempDir) -> SharedState {
        std::fs::write(folder.path().join("app.yao"), "{}").unwrap();
        let stores = Arc::new(Stores::builder(DriverOptions::default()).build().unwrap());
        let store = stores.index().unwrap().driver().clone();
        let runtime = Runtime::open(RuntimeSettings::new(folder.path(), stores));
        let runtime = runtime.await.unwrap();
        let config = AuthConfig::of(&runtime.app()).unwrap();
        Arc::new(ServerState {
            auth: Authenticator::new(config, &store),
            runtime,
            store,
            settings: HttpSettings::default(),
        })
    }

    /// Serves until the test ends.
    async fn serve(router: Router) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let never = std::future::pending();
        let listener = ClientListener::new(listener, OpenConnections::new(8), None).unwrap();
        tokio::spawn(connection::run(listener, router, never));
        address
    }

    async fn get(address: SocketAddr, path: &str) -> String {
        let mut client = TcpStream::connect(address).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// Waits until more than so many pages are built or waited for.
    async fn until_one_waits(limits: &RateLimiter, built: usize) {
        while limits.page_build_count() == built {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_is_read_whole_waits_while_as_many_are_built_for_the_caller() {
        let folder = tempfile::tempdir().unwrap();
        let server = server(&folder).await;
        let address = serve(router(server.clone())).await;
        let limits = server.auth.limits();
        let developer = Authorized {
            user_id: Some("dev".to_owned()),
            ..Authorized::default()
        };
        for path in [
            "/v1/contexts/x/items",
            "/v1/trace/traces/x/nodes",
            "/v1/chat/requests/x/calls",
            "/v1/calls/x.call-0/manifest",
            "/v1/calls/x.call-0/blocks/0",
            "/v1/calls/x.call-0/tools/0",
            "/v1/calls/x.call-0/request",
        ] {
            let held = join_all((0..4).map(|_| limits.page_build(&developer))).await;
            let mut answer = pin!(get(address, path));
            tokio::select! {
                answer = &mut answer => panic!("{path} does not wait: {answer}"),
                () = until_one_waits(limits, held.len()) => {}
            }
            drop(held);
            let answer = answer.await;
            assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
        }
    }

    #[tokio::test]
    async fn a_handler_that_panics_is_an_error_without_details() {
        let folder = tempfile::tempdir().unwrap();
        let rows = [RouteGroup::beside(RouteAccess::Anybody, routes)];
        let address = serve(assemble(server(&folder).await, &rows)).await;
        let answer = get(address, "/panic").await;
        assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
        let expected = r#"{"error":{"message":"the server failed; its log says why","type":"server_error","code":"internal","#;
        assert!(answer.contains(expected), "{answer}");
        assert!(!answer.contains("business"), "{answer}");
    }
}
