//! What callers may call: roles, scopes and endpoints of an app, `openapi/roles.yml` and `openapi/scopes/`. What no rule grants is
//! denied; a rule that is not clear stops the server.

mod builtin;
mod endpoint;
mod explain;
mod files;
mod limits;
mod rules;
mod scope;

pub use endpoint::{Endpoint, Target};
pub use explain::explain;
pub use files::{is_rule, read};
pub use rules::{Rules, Ruling};
