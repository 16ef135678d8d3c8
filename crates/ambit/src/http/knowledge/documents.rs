//! Documents: added, shown, replaced and removed.

use super::super::input::{Id, NoQuery, PagedQuery, Path, PathId, Query, Text, filter};
use super::super::paging::{PageParameters, PageResponse};
use super::super::routes::{Routes, routes};
use super::super::{ErrorBody, HttpError};
use super::document_body::{DocumentFields, DocumentForm, SentDocuments, UnreadDocuments};
use super::{KnowledgeCaller, window};
use ambit_knowledge::{AcceptedDocument, Document, DocumentFilter, DocumentStatus, KnowledgeError};
use ambit_runtime::knowledge_client::DocumentAddition;
use axum::Json;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_documents,
        add_documents,
        list_all_documents,
        remove_documents,
        add_file,
        add_text,
        add_url,
        begin_file,
        begin_text,
        begin_url,
        show_document,
        change_document,
        remove_document,
        remove_document_of_collection
    ]
    // Bodies are read piece by piece, each file within the limit of files.
    .map_router(|router| router.layer(DefaultBodyLimit::disable()))
}

/// Which documents.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DocumentQuery {
    /// Those of this collection; where the path names one it counts.
    collection_id: Option<Id>,
    /// Those whose id, name and title have all of these words among them, whatever their case.
    keywords: Option<Text>,
    /// Those with this among their `metadata.tags`.
    tag: Option<Text>,
    /// Those of this status: `queued`, `extracting`, `chunking`, `embedding`, `ready` or `failed`.
    #[param(value_type = Option<String>)]
    status: Option<DocumentStatus>,
}

/// The documents to be removed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DocumentsToRemove {
    /// Their ids, with commas between them.
    document_ids: Text,
}

/// A document of a collection.
#[derive(Deserialize, IntoParams)]
struct DocumentPath {
    /// The collection.
    collection_id: Id,
    /// The document.
    document_id: Id,
}

/// Documents that were accepted; each is found once its job is done.
#[derive(Serialize, ToSchema)]
struct AcceptedDocuments {
    /// One for each, in the order in which they were sent.
    documents: Vec<AcceptedDocument>,
    /// Fields that have no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<String>,
}

/// How many documents were removed.
#[derive(Serialize, ToSchema)]
struct RemovedDocuments {
    /// How many of them were there.
    deleted_count: usize,
    /// How many were named.
    requested_count: usize,
}

impl DocumentQuery {
    fn filter(self) -> DocumentFilter {
        filter!(DocumentFilter from self: collection_id keywords tag; status: self.status)
    }
}

impl KnowledgeCaller {
    async fn documents(
        &self,
        filter: DocumentFilter,
        paging: PageParameters,
    ) -> Result<Json<PageResponse<Document>>, HttpError> {
        let all = self.base.documents(&self.reach, &filter).await?;
        Ok(Json(paging.listing(window(all, paging.window()))))
    }

    /// What was sent for a collection, if there is room for it: that is looked at before, and again when all of it is there, so
    /// that a refusal leaves nothing behind.
    async fn read_documents(
        &self,
        collection: &str,
        body: UnreadDocuments,
    ) -> Result<SentDocuments, HttpError> {
        let reach = &self.reach;
        let room = self.base.check_quota(reach, collection, 1, 0).await?;
        let sent = body.read(&room).await?;
        let count = sent.contents.len() as u64;
        let still = self
            .base
            .check_quota(reach, collection, count, sent.bytes());
        still.await?;
        Ok(sent)
    }

    /// Adds one document, as Yao's clients do it, and waits until it is found.
    async fn add_one(
        &self,
        collection: &str,
        mut sent: SentDocuments,
    ) -> Result<(StatusCode, Json<DocumentAddition>), HttpError> {
        let ignored = std::mem::take(&mut sent.ignored);
        let new = sent.new_document()?;
        let added = self.add_and_wait(collection, new).await?;
        let status = match added.is_late {
            true => StatusCode::ACCEPTED,
            false => StatusCode::OK,
        };
        Ok((status, Json(DocumentAddition { ignored, ..added })))
    }

    /// Adds one document, as Yao's clients do it, and does not wait.
    async fn begin_one(
        &self,
        collection: &str,
        mut sent: SentDocuments,
    ) -> Result<(StatusCode, Json<DocumentAddition>), HttpError> {
        let ignored = std::mem::take(&mut sent.ignored);
        let new = sent.new_document()?;
        let added = self.add(collection, new).await?;
        let answer = DocumentAddition { ignored, ..added };
        Ok((StatusCode::ACCEPTED, Json(answer)))
    }
}

/// The documents of a collection that the caller may read, the newest first.
#[utoipa::path(get, path = "/kb/collections/{collection_id}/documents", tag = "knowledge", params(("collection_id" = Id, Path), DocumentQuery, PageParameters),
    responses((status = 200, description = "A page of documents", body = PageResponse<Document>), (status = 404, body = ErrorBody)))]
async fn list_documents(
    caller: KnowledgeCaller,
    PathId(collection): PathId,
    PagedQuery { query, paging }: PagedQuery<DocumentQuery>,
) -> Result<Json<PageResponse<Document>>, HttpError> {
    let filter = DocumentFilter {
        collection_id: Some(collection.0),
        ..query.filter()
    };
    caller.documents(filter, paging).await
}

/// The documents of all collections that the caller may read, the newest first.
#[utoipa::path(get, path = "/kb/documents", tag = "knowledge", params(DocumentQuery, PageParameters),
    responses((status = 200, description = "A page of documents", body = PageResponse<Document>)))]
async fn list_all_documents(
    caller: KnowledgeCaller,
    PagedQuery { query, paging }: PagedQuery<DocumentQuery>,
) -> Result<Json<PageResponse<Document>>, HttpError> {
    caller.documents(query.filter(), paging).await
}

/// Adds documents: files of a form, or a text or an address as JSON.
#[utoipa::path(post, path = "/kb/collections/{collection_id}/documents", tag = "knowledge", params(("collection_id" = Id, Path)), request_body(content((DocumentFields = "application/json"), (DocumentForm = "multipart/form-data"))),
    responses((status = 202, description = "The documents and their jobs", body = AcceptedDocuments), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn add_documents(
    caller: KnowledgeCaller,
    PathId(collection): PathId,
    _: NoQuery,
    body: UnreadDocuments,
) -> Result<(StatusCode, Json<AcceptedDocuments>), HttpError> {
    let mut sent = caller.read_documents(&collection.0, body).await?;
    let ignored = std::mem::take(&mut sent.ignored);
    let new = sent.new_documents()?;
    let (base, reach) = (&caller.base, &caller.reach);
    let documents = base.add_documents(reach, &collection.0, new).await?;
    let answer = AcceptedDocuments { documents, ignored };
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

macro_rules! one_document {
    ($($(#[$doc:meta])+ $name:ident, $path:literal, $how:ident;)+) => {$(
        $(#[$doc])+
        #[utoipa::path(post, path = $path, tag = "knowledge", params(("collection_id" = Id, Path)), request_body(content((DocumentFields = "application/json"), (DocumentForm = "multipart/form-data"))),
            responses((status = 200, description = "It is found", body = DocumentAddition), (status = 202, description = "It is being read", body = DocumentAddition),
                (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
        async fn $name(
            caller: KnowledgeCaller,
            PathId(collection): PathId,
            _: NoQuery,
            body: UnreadDocuments,
        ) -> Result<(StatusCode, Json<DocumentAddition>), HttpError> {
            let sent = caller.read_documents(&collection.0, body).await?;
            caller.$how(&collection.0, sent).await
        }
    )+};
}

one_document! {
    /// Adds a file of a form and waits until it is found.
    add_file, "/kb/collections/{collection_id}/documents/file", add_one;
    /// Adds a text and waits until it is found.
    add_text, "/kb/collections/{collection_id}/documents/text", add_one;
    /// Adds the page of an address and waits until it is found.
    add_url, "/kb/collections/{collection_id}/documents/url", add_one;
    /// Adds a file of a form.
    begin_file, "/kb/collections/{collection_id}/documents/file/async", begin_one;
    /// Adds a text.
    begin_text, "/kb/collections/{collection_id}/documents/text/async", begin_one;
    /// Adds the page of an address.
    begin_url, "/kb/collections/{collection_id}/documents/url/async", begin_one;
}

/// A document.
#[utoipa::path(get, path = "/kb/documents/{document_id}", tag = "knowledge", params(("document_id" = Id, Path)),
    responses((status = 200, description = "The document", body = Document), (status = 404, body = ErrorBody)))]
async fn show_document(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<Document>, HttpError> {
    Ok(Json(caller.base.document(&caller.reach, &id.0).await?))
}

/// Replaces a document's content, or changes what is known of it.
#[utoipa::path(put, path = "/kb/documents/{document_id}", tag = "knowledge", params(("document_id" = Id, Path)), request_body(content((DocumentFields = "application/json"), (DocumentForm = "multipart/form-data"))),
    responses((status = 202, description = "The document and its job", body = AcceptedDocuments), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn change_document(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
    body: UnreadDocuments,
) -> Result<(StatusCode, Json<AcceptedDocuments>), HttpError> {
    let room = caller.base.check_change(&caller.reach, &id.0).await?;
    let mut sent = body.read(&room).await?;
    let ignored = std::mem::take(&mut sent.ignored);
    let update = sent.update()?;
    let (base, reach) = (&caller.base, &caller.reach);
    let documents = vec![base.update_document(reach, &id.0, update).await?];
    let answer = AcceptedDocuments { documents, ignored };
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

/// Removes a document with all that is of it.
#[utoipa::path(delete, path = "/kb/documents/{document_id}", tag = "knowledge", params(("document_id" = Id, Path)),
    responses((status = 204, description = "Nothing of it is left"), (status = 202, description = "It is found no more; the job erases what is left", body = ambit_knowledge::Job), (status = 404, body = ErrorBody)))]
async fn remove_document(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Response, HttpError> {
    let job = caller.base.remove_document(&caller.reach, &id.0).await?;
    Ok(caller.removed(&job).await?)
}

/// Removes a document of a collection with all that is of it.
#[utoipa::path(delete, path = "/kb/collections/{collection_id}/documents/{document_id}", tag = "knowledge", params(DocumentPath),
    responses((status = 204, description = "Nothing of it is left"), (status = 202, description = "It is found no more; the job erases what is left", body = ambit_knowledge::Job), (status = 404, body = ErrorBody)))]
async fn remove_document_of_collection(
    caller: KnowledgeCaller,
    Path(path): Path<DocumentPath>,
    _: NoQuery,
) -> Result<Response, HttpError> {
    let (base, reach, collection) = (&caller.base, &caller.reach, &path.collection_id.0);
    let job = base.remove_document_of(reach, Some(collection), &path.document_id.0);
    Ok(caller.removed(&job.await?).await?)
}

/// Removes several documents; those that the caller has not are left out.
#[utoipa::path(delete, path = "/kb/documents", tag = "knowledge", params(DocumentsToRemove),
    responses((status = 200, description = "How many were removed", body = RemovedDocuments), (status = 400, body = ErrorBody)))]
async fn remove_documents(
    caller: KnowledgeCaller,
    Query(query): Query<DocumentsToRemove>,
) -> Result<Json<RemovedDocuments>, HttpError> {
    let ids: Vec<&str> = query.document_ids.0.split(',').map(str::trim).collect();
    let mut jobs = Vec::new();
    for id in &ids {
        match caller.base.remove_document(&caller.reach, id).await {
            Ok(job) => jobs.push(job),
            // A refusal would say nothing of those that are removed already.
            Err(KnowledgeError::NotFound { .. } | KnowledgeError::Denied { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    caller.all_finished_in_time(&jobs).await?;
    Ok(Json(RemovedDocuments {
        deleted_count: jobs.len(),
        requested_count: ids.len(),
    }))
}
