//! Every operation that there is, and whom each is granted.

use super::{RouteAccess, RouteGroup, RoutePlace, SharedState};
use crate::auth::CallerAccess;
use crate::auth::access::{EndpointPattern, RequestTarget};
use std::sync::Arc;

/// An operation: its method, and its path with `:name` for what varies and `*` for a last part that may have slashes, below the base
/// path where it stands there.
#[derive(Clone, Debug)]
pub struct Operation {
    pub method: String,
    pub path: String,
    pattern: Option<EndpointPattern>,
    right: RouteAccess,
    place: RoutePlace,
}

impl Operation {
    fn has_path(&self, path: &str, place: RoutePlace) -> bool {
        let target = RequestTarget::of(&self.method, path);
        let pattern = self.pattern.as_ref().zip(target);
        self.place == place && pattern.is_some_and(|(pattern, target)| pattern.matches(&target))
    }
}

/// The operations of a server.
#[derive(Clone)]
pub struct Operations(Arc<Vec<Operation>>);

impl Operations {
    /// Those of these rows.
    pub fn of(rows: &[RouteGroup]) -> Self {
        Self(Arc::new(rows.iter().flat_map(operations).collect()))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Operation> {
        self.0.iter()
    }

    /// Whether one of them has this path there.
    pub fn have_path(&self, path: &str, place: RoutePlace) -> bool {
        self.iter().any(|operation| operation.has_path(path, place))
    }

    /// The methods of the route that has this path there; none where several have it, or none has.
    pub fn methods(&self, path: &str, place: RoutePlace) -> Vec<&str> {
        let found = self
            .iter()
            .filter(|operation| operation.has_path(path, place));
        let found: Vec<&Operation> = found.collect();
        if found.windows(2).any(|pair| pair[0].path != pair[1].path) {
            return Vec::new();
        }
        let methods = found.into_iter().map(|operation| operation.method.as_str());
        methods.collect()
    }

    /// Those that a caller may do, as `GET /contexts`: at some of their paths at least, as rules may be about one of them alone.
    pub fn granted(&self, server: &SharedState, access: &CallerAccess) -> Vec<String> {
        let targets = access.granted_targets();
        let granted = self.iter().filter(|operation| {
            let is_its = |pattern: &EndpointPattern| targets.iter().any(|it| pattern.matches(it));
            let is_ruled = || {
                access.may(&operation.method, &operation.path)
                    || operation.pattern.as_ref().is_some_and(is_its)
            };
            match operation.right {
                RouteAccess::Anybody | RouteAccess::Session => true,
                RouteAccess::Measures => server.settings.has_public_metrics || is_ruled(),
                RouteAccess::Ruled => is_ruled(),
                RouteAccess::McpServer => {
                    server.runtime.app().settings.mcp_server.enabled && is_ruled()
                }
            }
        });
        let names = granted.map(|operation| format!("{} {}", operation.method, operation.path));
        names.collect()
    }
}

/// The operations of a row.
fn operations(row: &RouteGroup) -> Vec<Operation> {
    let mut found = Vec::new();
    for route in (row.routes)().into_operations() {
        let path = match route.path.split_once("{*") {
            Some((before, _)) => format!("{before}*"),
            None => route.path.clone(),
        };
        let path = path.replace('{', ":").replace('}', "");
        found.extend(route.methods().map(|method| Operation {
            method: method.to_owned(),
            path: path.clone(),
            // One that cannot be read is granted as a whole or not at all.
            pattern: EndpointPattern::of(method, &path).ok(),
            right: row.right,
            place: row.place,
        }));
    }
    found
}
