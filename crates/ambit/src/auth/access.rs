//! What callers may call: roles, scopes and endpoints of an app, `openapi/roles.yml` and `openapi/scopes/`. What no rule grants is
//! denied; a rule that is not clear stops the server.

mod default_rules;
mod endpoint;
mod explain;
mod limits;
mod question;
mod read_rules;
mod rules;
mod rules_view;
mod scope;

pub use endpoint::{EndpointPattern, RequestTarget};
pub use explain::explain;
pub use question::{AskedCaller, read_caller, read_target, unknown_caller};
pub use read_rules::{RoleSettings, ScopeSettings, ScopesFile, is_rule, read};
pub use rules::{AccessDecision, AccessRules};
pub use rules_view::RulesView;
