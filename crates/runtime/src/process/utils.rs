//! Small helpers: `utils.str.UUID`.

use super::{ProcessFamily, listed};
use crate::uuid;
use futures::FutureExt;
use serde_json::Value;

const NAMES: &[&str] = &["utils.str.UUID"];

pub const UTILS: ProcessFamily = ProcessFamily {
    prefix: "utils",
    names: |_| listed(NAMES),
    has: |_, name| NAMES.contains(&name),
    run: |_| std::future::ready(Ok(Value::String(uuid::random()))).boxed(),
};
