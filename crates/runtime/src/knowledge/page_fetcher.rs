//! Pages that documents are made of: by `uses.fetch`, within the hosts that the app lists.

use super::step_asker::StepAsker;
use crate::error::Result;
use crate::net::{HttpRequest, HttpResponse};
use crate::search::answers;
use crate::uses::UsesTarget;
use ambit_knowledge::{FetchedPage, PageFetcher};
use async_trait::async_trait;
use serde_json::json;

/// Fetches pages.
pub struct AllowedPageFetcher(pub StepAsker);

#[async_trait]
impl PageFetcher for AllowedPageFetcher {
    async fn fetch(&self, url: &str) -> Result<FetchedPage, String> {
        let target = self.0.target("fetch").map_err(|error| error.message)?;
        match target {
            UsesTarget::Disabled => Err("fetching is disabled (uses.fetch)".to_owned()),
            UsesTarget::Builtin => self.fetch_here(url).await,
            other => {
                let answer = self.0.ask("fetch", &other, json!({"url": url})).await;
                let text = answers::fetched(&answer.map_err(|error| error.message)?);
                let text = text.map_err(|error| format!("uses.fetch: {error}"))?;
                Ok(FetchedPage {
                    media_type: Some("text/markdown; charset=utf-8".to_owned()),
                    bytes: text.into_bytes(),
                })
            }
        }
    }
}

impl AllowedPageFetcher {
    /// Reaches what messages may name, too.
    async fn fetch_here(&self, url: &str) -> Result<FetchedPage, String> {
        let (_, loaded) = self.0.loaded().map_err(|error| error.message)?;
        let request = HttpRequest {
            method: "GET".to_owned(),
            url: url.to_owned(),
            ..HttpRequest::default()
        };
        let answer = loaded.http.for_messages().send(request).await;
        let answer = answer.map_err(|refusal| refusal.message)?;
        if !(200..300).contains(&answer.status) {
            return Err(format!("the host answered {}", answer.status));
        }
        Ok(FetchedPage {
            media_type: media_type(&answer),
            bytes: answer.body,
        })
    }
}

fn media_type(answer: &HttpResponse) -> Option<String> {
    let mut headers = answer.headers.iter();
    let found = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.map(|(_, value)| value.clone())
}
