//! Pages that documents are made of: by `uses.fetch`, within the hosts that the app lists.

use super::step_asker::StepAsker;
use crate::net::NetErrorKind;
use crate::search::answers;
use crate::uses::{UsesAsker, UsesRequest, UsesTarget};
use ambit_knowledge::{CollectionOwner, FetchedPage, PageFetcher};
use futures::future::BoxFuture;
use serde_json::json;

/// Where somebody allows it.
const WHERE: &str =
    ": ambit.capabilities.http of app.yao lists hosts, a private one with `private` and `messages`";

/// Fetches pages.
pub struct AllowedPageFetcher(pub StepAsker);

impl PageFetcher for AllowedPageFetcher {
    fn fetch<'a>(
        &'a self,
        url: &'a str,
        owner: &'a CollectionOwner,
    ) -> BoxFuture<'a, Result<FetchedPage, String>> {
        Box::pin(async move {
            let target = self.0.target("fetch").map_err(|error| error.message)?;
            match target {
                UsesTarget::Disabled => Err("fetching is disabled (uses.fetch)".to_owned()),
                UsesTarget::Builtin => self.fetch_here(url).await,
                other => {
                    let wanted = UsesRequest::of("fetch", json!({"url": url}));
                    let asker = self.0.acting_for_owner(owner);
                    let answer = asker.ask(&other, wanted).await;
                    let answer = answer.map_err(|failure| failure.to_string())?;
                    let text = answers::fetched(&answer);
                    let text = text.map_err(|error| format!("uses.fetch: {error}"))?;
                    Ok(FetchedPage {
                        media_type: Some("text/markdown; charset=utf-8".to_owned()),
                        bytes: text.into_bytes(),
                    })
                }
            }
        })
    }
}

impl AllowedPageFetcher {
    /// Reaches what messages may name, too.
    async fn fetch_here(&self, url: &str) -> Result<FetchedPage, String> {
        let (_, loaded) = self.0.loaded().map_err(|error| error.message)?;
        let answer = loaded.http.for_messages().get(url).await;
        let answer = answer.map_err(|refusal| match refusal.kind {
            NetErrorKind::Denied => format!("{}{WHERE}", refusal.message),
            _ => refusal.message,
        })?;
        let media_type = answer.content_type();
        Ok(FetchedPage {
            media_type: (!media_type.is_empty()).then(|| media_type.to_owned()),
            bytes: answer.body,
        })
    }
}
