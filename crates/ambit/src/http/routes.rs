//! The routes of a file, and their descriptions for the OpenAPI document. Descriptions are built when the document is asked for,
//! so that a server listens sooner.

use super::SharedState;
use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
// Hidden, and what utoipa's own routers use too: nothing public tells a handler's tags and schemas.
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{Components, HttpMethod, OpenApi, RefOr, Schema};

/// Routes with their handlers.
#[derive(Default)]
pub struct Routes {
    router: Router<SharedState>,
    operations: Vec<RouteOperation>,
}

/// A handler as it is described.
pub struct RouteOperation {
    /// Its path below the place of its file, with `{name}` for what varies.
    pub path: String,
    methods: Vec<HttpMethod>,
    operation: fn() -> Operation,
    tags: fn() -> Vec<&'static str>,
    schemas: fn(&mut Vec<(String, RefOr<Schema>)>),
}

/// The routes of these handlers, each with `#[utoipa::path]` above it.
macro_rules! routes {
    ($($handler:ident),+ $(,)?) => {
        pastey::paste! {
            $crate::http::Routes::default()$(.with::<[<__path_ $handler>], _, _>($handler))+
        }
    };
}
pub(super) use routes;

impl Routes {
    /// The same with a handler. `P` is the type that `#[utoipa::path]` makes beside it.
    pub fn with<P, H, A>(mut self, handler: H) -> Self
    where
        P: utoipa::Path + Tags<'static> + SchemaReferences,
        H: Handler<A, SharedState>,
        A: 'static,
    {
        let operation = RouteOperation {
            path: P::path(),
            methods: P::methods(),
            operation: P::operation,
            tags: P::tags,
            schemas: P::schemas,
        };
        let filters = operation.methods.iter().map(|it| filter_and_name(it).0);
        if let Some(filter) = filters.reduce(MethodFilter::or) {
            self.router = self.router.route(&operation.path, on(filter, handler));
        }
        self.operations.push(operation);
        self
    }

    /// Adds the routes of another file.
    pub fn merge(mut self, others: Self) -> Self {
        self.router = self.router.merge(others.router);
        self.operations.extend(others.operations);
        self
    }

    /// Changes the router, such as by a layer around its handlers.
    pub fn map_router(
        mut self,
        change: impl FnOnce(Router<SharedState>) -> Router<SharedState>,
    ) -> Self {
        self.router = change(self.router);
        self
    }

    /// Returns the handlers.
    pub fn into_router(self) -> Router<SharedState> {
        self.router
    }

    /// Returns what they are described as, by path and method.
    pub fn into_operations(mut self) -> Vec<RouteOperation> {
        self.operations
            .sort_by(|a, b| (&a.path, &a.methods).cmp(&(&b.path, &b.methods)));
        self.operations
    }
}

impl RouteOperation {
    /// Its methods, in capitals.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> {
        self.methods.iter().map(|method| filter_and_name(method).1)
    }

    /// Adds it to a document, its path below `prefix`.
    pub fn add_to(&self, document: &mut OpenApi, prefix: &str) {
        let mut operation = (self.operation)();
        let tags = (self.tags)().into_iter().map(str::to_owned);
        operation.tags.get_or_insert_default().extend(tags);
        let path = format!("{prefix}{}", self.path);
        document
            .paths
            .add_path_operation(path, self.methods.clone(), operation);
        let mut schemas = Vec::new();
        (self.schemas)(&mut schemas);
        let components = document.components.get_or_insert_with(Components::new);
        components.schemas.extend(schemas);
    }
}

/// What the router takes for a method, and what people call it.
fn filter_and_name(method: &HttpMethod) -> (MethodFilter, &'static str) {
    match method {
        HttpMethod::Get => (MethodFilter::GET, "GET"),
        HttpMethod::Put => (MethodFilter::PUT, "PUT"),
        HttpMethod::Post => (MethodFilter::POST, "POST"),
        HttpMethod::Delete => (MethodFilter::DELETE, "DELETE"),
        HttpMethod::Options => (MethodFilter::OPTIONS, "OPTIONS"),
        HttpMethod::Head => (MethodFilter::HEAD, "HEAD"),
        HttpMethod::Patch => (MethodFilter::PATCH, "PATCH"),
        HttpMethod::Trace => (MethodFilter::TRACE, "TRACE"),
    }
}
