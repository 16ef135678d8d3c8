//! What callers may call: roles, scopes and endpoints of an app, `openapi/roles.yml` and `openapi/scopes/`. What no rule grants is
//! denied; a rule that is not clear stops the server.

mod default_rules;
mod endpoint;
mod explain;
mod limits;
mod read_rules;
mod rules;
mod scope;

pub use endpoint::{EndpointPattern, RequestTarget};
pub use explain::explain;
pub use read_rules::{RoleSettings, ScopeSettings, ScopesFile, is_rule, read};
pub use rules::{AccessDecision, AccessRules};
