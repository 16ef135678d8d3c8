//! Searching knowledge as a tool: what `POST /kb/search` finds.

use super::arguments;
use super::context::McpContext;
use super::tool_answer::{ToolAnswer, ToolFailure};
use crate::http::ApiCaller;
use crate::http::input::{BodyFields, Id, Whole};
use crate::http::knowledge::{self, SearchBody};
use ambit_runtime::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// What is looked for, and where.
#[derive(Deserialize, ToSchema)]
pub struct KnowledgeSearchArguments {
    /// What is looked for.
    query: String,
    /// Ids of collections; all that the caller may use where nobody says.
    #[schema(value_type = Option<Vec<String>>)]
    collections: Option<Vec<Id>>,
    /// At most so many passages, 1 to 100; 10 where nobody says.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 100)]
    limit: Option<Whole<1, 100>>,
}

impl BodyFields for KnowledgeSearchArguments {
    fn check(&self) -> Result<()> {
        match self.query.trim().is_empty() {
            true => Err(Error::invalid("query", "query is required")),
            false => Ok(()),
        }
    }
}

/// Finds passages.
pub async fn search(context: Arc<McpContext>, given: Map<String, Value>) -> ToolAnswer {
    let asked: KnowledgeSearchArguments = arguments::read(&given)?;
    let who = context.caller_of("POST", "/kb/search");
    let caller = ApiCaller {
        server: context.server.clone(),
        who: who.ok_or(ToolFailure::Unknown)?,
    };
    let body = SearchBody::of(asked.query, asked.collections, asked.limit);
    let found = knowledge::search(&caller, body).await?;
    let mut answer = json!({"items": found.items});
    if let Some(error) = found.error {
        answer["error"] = error.into();
    }
    Ok(answer)
}
