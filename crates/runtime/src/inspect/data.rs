//! The models of an app and their rows, for those who look after its data: to read alone, and without what is encrypted.

mod description;

pub use description::{
    DataColumn, DataIndex, DataModel, DataModelDetails, DataModelList, DataPage, DataRelation,
};

use crate::access::{Authorized, DataAccess};
use crate::error::{Error, ErrorCode, Result};
use crate::model::database::{AccessMode, Transaction, end};
use crate::model::permission::limits;
use crate::model::query::{AnswerSize, ConditionContext, QueryParam, ReadContext, hidden};
use crate::model::{TableModel, TableModels};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Rows of a page.
const MOST: u64 = 1_000;

/// The models of an app as somebody sees them.
pub struct DataView<'a> {
    /// The models.
    pub models: &'a TableModels,
    /// Who looks.
    pub who: &'a Authorized,
    /// Whether models are for them whose rows belong to nobody in particular.
    pub is_operator: bool,
    /// A query, and the counting of the rows of all models, ends after this long.
    pub time: Duration,
    /// What an answer holds at most, with all that is loaded into its rows.
    pub size: AnswerSize,
}

impl<'a> DataView<'a> {
    /// What somebody sees. Operators have no tenant, and nothing limits their data.
    pub fn new(models: &'a TableModels, who: &'a Authorized) -> Self {
        Self {
            models,
            who,
            is_operator: who.tenant_id.is_none() && DataAccess::of(who).is_whole(),
            time: Duration::from_secs(5),
            size: AnswerSize {
                rows: 100_000,
                bytes: 16 << 20,
            },
        }
    }

    /// The models that are for the caller.
    pub async fn list(&self) -> Result<DataModelList> {
        let end = Instant::now() + self.time;
        let models = self.models.all().filter(|model| self.is_shown(model));
        let models: Vec<_> = models.collect();
        let mut items = Vec::with_capacity(models.len());
        for model in models {
            let rows = self.count_until(end, &model).await?;
            items.push(DataModel::new(&model, rows));
        }
        Ok(DataModelList { items })
    }

    /// The model with this id.
    pub fn get(&self, id: &str) -> Result<DataModelDetails> {
        let model = self.find(id)?;
        let is_open = |model: &TableModel| self.is_open(model);
        let about = ConditionContext {
            models: self.models,
            model: &model,
            depth: 0,
            may_reach: Some(&is_open),
        };
        let relations = about.relations();
        let relations = relations.map(|(name, relation)| DataRelation::of(name, relation));
        let relations = relations.collect();
        Ok(DataModelDetails::new(&model, relations))
    }

    /// A page of the rows that are for the caller and meet a QueryParam.
    pub async fn query(&self, id: &str, mut param: Map<String, Value>) -> Result<DataPage> {
        let model = self.find(id)?;
        if param.remove("limit").is_some_and(|limit| !limit.is_null()) {
            let id = &model.id;
            let message = format!("models.{id}: limit has no meaning for pages; give a pagesize");
            return Err(Error::invalid("limit", message));
        }
        let is_open = |model: &TableModel| self.is_open(model);
        let param = Value::Object(param);
        let select = QueryParam::parse_page(self.models, &model, &param, &is_open)?;
        check(&select)?;
        let page = timeout(self.time, self.page(&select)).await;
        match page {
            Ok(Err(error)) if error.code == ErrorCode::Timeout => Err(self.too_slow(id)),
            Ok(page) => page,
            Err(_) => Err(self.too_slow(id)),
        }
    }

    fn too_slow(&self, id: &str) -> Error {
        let time = self.time;
        let message = format!(
            "models.{id}: the query was ended after {time:?}; ask for less, or by columns that have an index"
        );
        Error::new(ErrorCode::Timeout, message)
    }

    async fn page(&self, select: &QueryParam) -> Result<DataPage> {
        let model = &select.model;
        let mut reading = ReadContext::new(self.models, self.who);
        reading.left = self.size;
        reading.hides_secrets = true;
        let mut transaction = self.begin(model).await?;
        let read = select.paginate(transaction.as_mut(), &mut reading).await;
        let page = end(transaction, read).await?;
        let mut page: DataPage = serde_json::from_value(page).map_err(|error| {
            Error::internal(format!("a page of rows has another form: {error}"))
        })?;
        if select.columns.is_empty() {
            page.data
                .iter_mut()
                .for_each(|row| add_passwords(model, row));
        }
        page.limited_by = limits(model, self.who);
        page.limited_by.append(&mut reading.unmet);
        Ok(page)
    }

    /// How many rows the caller sees; nothing where that cannot be counted by then.
    async fn count_until(&self, end: Instant, model: &Arc<TableModel>) -> Result<Option<u64>> {
        // A count that is dropped costs PostgreSQL a connection.
        if Instant::now() >= end {
            return Ok(None);
        }
        match timeout_at(end, self.count(model)).await {
            Ok(Ok(count)) => Ok(Some(count)),
            // It is so for all of them.
            Ok(Err(error)) if error.code == ErrorCode::Unavailable => Err(error),
            Ok(Err(_)) | Err(_) => Ok(None),
        }
    }

    async fn count(&self, model: &Arc<TableModel>) -> Result<u64> {
        let mut reading = ReadContext::new(self.models, self.who);
        let mut transaction = self.begin(model).await?;
        let select = QueryParam::of(model);
        let count = select.count(transaction.as_mut(), &mut reading).await;
        end(transaction, count).await
    }

    async fn begin(&self, model: &TableModel) -> Result<Box<dyn Transaction>> {
        let begun = self.models.begin(model, AccessMode::Read).await;
        let mut transaction = begun.map_err(|error| self.told(model, error))?;
        if let Some(limit) = transaction.dialect().time_limit(self.time) {
            transaction.run(limit).await?;
        }
        Ok(transaction)
    }

    /// Why a model cannot be used, which may be that of another one.
    fn told(&self, model: &TableModel, error: Error) -> Error {
        if self.is_operator || error.code == ErrorCode::Unavailable {
            return error;
        }
        let id = &model.id;
        let message = format!("models.{id} cannot be used as it is; an operator is told why");
        Error::new(error.code, message)
    }

    /// Whether a model's rows are for the caller at all: those that belong to people, teams and tenants, as far as they are theirs.
    fn is_open(&self, model: &TableModel) -> bool {
        model.options.permission.is_some() || self.is_operator
    }

    /// Ambit's own tables are no data of the app.
    fn is_shown(&self, model: &TableModel) -> bool {
        self.is_open(model) && !model.options.is_system
    }

    /// One that is not for the caller is not there.
    fn find(&self, id: &str) -> Result<Arc<TableModel>> {
        let found = self.models.find(id, "").ok();
        let found = found.filter(|model| self.is_shown(model));
        found.ok_or_else(|| Error::not_found("model", id))
    }
}

/// Passwords are read by nobody; that there are some is no secret.
fn add_passwords(model: &TableModel, row: &mut Map<String, Value>) {
    for column in &model.columns {
        if !column.is_readable() {
            row.insert(column.name.clone(), hidden());
        }
    }
}

/// Refuses what makes no sense for pages, and conditions that would tell what is hidden.
fn check(select: &QueryParam) -> Result<()> {
    let id = &select.model.id;
    if let Some(column) = select.secret_condition() {
        let message = format!(
            "models.{id}: column \"{}\" is encrypted and hidden here: no condition can be on it",
            column.name
        );
        return Err(Error::invalid("wheres", message));
    }
    if select.hangs_on_secret() {
        let message = format!(
            "models.{id}: a relation hangs on an encrypted column, which is hidden here: no condition or order can go through it"
        );
        return Err(Error::invalid("rel", message));
    }
    if select.pagesize.is_some_and(|size| size > MOST) {
        let message = format!("models.{id}: pagesize must be at most {MOST}");
        return Err(Error::invalid("pagesize", message));
    }
    Ok(())
}
