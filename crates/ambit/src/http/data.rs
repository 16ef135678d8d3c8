//! The models of the app and their rows, to read alone.

use super::input::{BodyFields, Id, JsonBody, NoQuery, PathId};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError, SharedState};
use crate::auth::CallerAccess;
use ambit_runtime::Authorized;
use ambit_runtime::inspect::data::{DataModelDetails, DataModelList, DataPage, DataView};
use ambit_runtime::model::TableModels;
use axum::Json;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The routes.
pub fn routes() -> Routes {
    routes![list_data_models, show_data_model, query_data_model]
}

/// What the caller sees. Operators may also look at the app's agents or at the system. In development mode the developer looks after
/// all, and acts as others to see what they see.
fn view<'a>(
    server: &SharedState,
    access: &CallerAccess,
    models: &'a TableModels,
    who: &'a Authorized,
) -> DataView<'a> {
    let view = DataView::new(models, who);
    let is_operating = access.may("GET", "/app/agents") || access.may("GET", "/system");
    let is_developer = server.auth.is_development() && who.acted_by().is_none();
    DataView {
        is_operator: (view.is_operator && is_operating)
            || (is_developer && who.tenant_id.is_none()),
        ..view
    }
}

/// The models whose rows belong to people, teams and tenants; for operators all of the app.
#[utoipa::path(get, path = "/data/models", tag = "data",
    responses((status = 200, body = DataModelList), (status = 503, body = ErrorBody)))]
async fn list_data_models(
    ApiCaller { server, who }: ApiCaller,
    access: CallerAccess,
    _: NoQuery,
) -> Result<Json<DataModelList>, HttpError> {
    let models = server.runtime.table_models();
    Ok(Json(view(&server, &access, &models, &who).list().await?))
}

/// What a model is made of.
#[utoipa::path(get, path = "/data/models/{id}", tag = "data", params(("id" = Id, Path)),
    responses((status = 200, body = DataModelDetails), (status = 404, body = ErrorBody)))]
async fn show_data_model(
    ApiCaller { server, who }: ApiCaller,
    access: CallerAccess,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<DataModelDetails>, HttpError> {
    let models = server.runtime.table_models();
    Ok(Json(view(&server, &access, &models, &who).get(&id.0)?))
}

/// What is asked of rows: a QueryParam, whose fields are checked with the model's columns.
#[derive(Deserialize)]
#[serde(transparent)]
struct DataQuery(Map<String, Value>);

impl BodyFields for DataQuery {
    const MAY_BE_ABSENT: bool = true;
}

impl PartialSchema for DataQuery {
    fn schema() -> RefOr<Schema> {
        let objects = || ArrayBuilder::new().items(ObjectBuilder::new());
        let whole = || {
            let number = ObjectBuilder::new().schema_type(Type::Integer);
            number.minimum(Some(1_u64))
        };
        let object = ObjectBuilder::new()
            .property("select", ArrayBuilder::new().items(String::schema()))
            .property("wheres", objects())
            .property("orders", objects())
            .property("withs", ObjectBuilder::new())
            .property("page", whole())
            .property("pagesize", whole());
        object.into()
    }
}

impl ToSchema for DataQuery {}

/// A page of the rows that the caller may see. What is encrypted is hidden, and a query that takes longer than 5 s is ended.
#[utoipa::path(post, path = "/data/models/{id}/query", tag = "data", params(("id" = Id, Path)), request_body = DataQuery,
    responses((status = 200, description = "The page", body = DataPage), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 413, body = ErrorBody), (status = 503, body = ErrorBody), (status = 504, body = ErrorBody)))]
async fn query_data_model(
    ApiCaller { server, who }: ApiCaller,
    access: CallerAccess,
    PathId(id): PathId,
    _: NoQuery,
    body: JsonBody<DataQuery>,
) -> Result<Json<DataPage>, HttpError> {
    let models = server.runtime.table_models();
    let DataQuery(param) = body.value;
    let view = view(&server, &access, &models, &who);
    Ok(Json(view.query(&id.0, param).await?))
}
