//! Models of an app in both databases, with rows.

use ambit_runtime::app::App;
use ambit_runtime::model::database::{self, AccessMode, ModelStore, SqlDialect};
use ambit_runtime::model::query::{QueryDsl, QueryParam, QueryRequest, ReadContext};
use ambit_runtime::model::{ColumnCipher, ModelBackend, TableModel, TableModels};
use ambit_runtime::{Authorized, Error};
use sea_query::{Alias, Expr, Query};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tempfile::TempDir;

/// One database.
pub struct Place {
    pub models: TableModels,
}

/// The models of these files in SQLite, and in PostgreSQL where a server is named; `name` is the test's.
pub async fn places(name: &str, files: &[(&str, Value)]) -> Vec<Place> {
    let mut stores = vec![ModelStore::Memory];
    if let Some(url) = std::env::var_os("TEST_POSTGRES_URL") {
        let url = url.into_string().unwrap();
        clean(&url, &format!("query_{name}_models")).await;
        stores.push(ModelStore::Postgres(format!(
            "{url}?ambit_schema=query_{name}"
        )));
    }
    let app = app(files);
    let mut places = Vec::new();
    for store in &stores {
        let models = app.models.iter().map(|(id, model)| {
            let model = model.clone().map_err(|problem| panic!("{id}: {problem:?}"));
            (id.clone(), model)
        });
        let with = ModelBackend {
            database: database::open(store).await.unwrap(),
            cipher: ColumnCipher::new("a secret of the tests, 32 letters long").unwrap(),
            roles: Vec::new(),
        };
        let place = Place {
            models: TableModels::new(models.collect(), with),
        };
        assert!(place.models.prepare().await.unwrap().is_empty());
        places.push(place);
    }
    places
}

async fn clean(url: &str, schema: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let drop_it = format!("DROP SCHEMA IF EXISTS {schema} CASCADE");
    client.batch_execute(&drop_it).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
}

fn app(files: &[(&str, Value)]) -> App {
    let folder = TempDir::new().unwrap();
    let write = |file: &str, text: &str| {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("app.yao", r#"{"name": "Test", "version": "1.0.0"}"#);
    for (id, model) in files {
        write(&format!("models/{id}.mod.yao"), &model.to_string());
    }
    App::load(folder.path(), &BTreeMap::new()).unwrap()
}

impl Place {
    pub fn dialect(&self) -> SqlDialect {
        self.models.database().dialect()
    }

    pub fn model(&self, id: &str) -> Arc<TableModel> {
        self.models.find(id, "").unwrap()
    }

    async fn write(&self, statement: database::SqlStatement) {
        let database = self.models.database();
        let mut transaction = database.begin(AccessMode::Write).await.unwrap();
        transaction.run(statement).await.unwrap();
        transaction.commit().await.unwrap();
    }

    /// Puts rows into a table as they are.
    pub async fn put(&self, id: &str, rows: &Value) {
        let model = self.model(id);
        for row in rows.as_array().unwrap() {
            let row = row.as_object().unwrap();
            let columns = row.keys().map(Alias::new);
            let values = row.iter().map(|(name, value)| {
                let column = model.column(name).unwrap();
                // Only its being there matters here.
                let bound = match column.is_readable() {
                    true => self.models.bind(&model, column, value),
                    false => column.plain(value),
                };
                Expr::val(bound.unwrap())
            });
            let mut insert = Query::insert();
            insert.into_table(Alias::new(&model.table)).columns(columns);
            insert.values(values).unwrap();
            self.write(self.dialect().write(&insert)).await;
        }
    }

    /// The rows that somebody gets, and what was left out.
    pub async fn load(&self, who: &Authorized, id: &str, param: &Value) -> Result<Loaded, Error> {
        let select = QueryParam::parse(&self.models, &self.model(id), param)?;
        let mut reading = ReadContext::new(&self.models, who);
        let mut transaction = self.models.database().begin(AccessMode::Read).await?;
        let rows = select.load(&mut *transaction, &mut reading).await?;
        Ok(Loaded {
            rows: Value::Array(rows),
            unmet: reading.unmet,
        })
    }

    /// The rows that a person gets who may see everything.
    pub async fn get(&self, id: &str, param: Value) -> Result<Value, String> {
        let loaded = self.load(&anyone(), id, &param).await;
        loaded
            .map(|loaded| loaded.rows)
            .map_err(|error| error.message)
    }

    /// One column of those rows.
    pub async fn column(&self, id: &str, name: &str, param: Value) -> Value {
        let rows = self.get(id, param).await.unwrap();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row[name].clone()).collect()
    }

    /// A page.
    pub async fn page(&self, id: &str, param: &Value) -> Value {
        let select = QueryParam::parse(&self.models, &self.model(id), param).unwrap();
        let who = anyone();
        let mut reading = ReadContext::new(&self.models, &who);
        let database = self.models.database();
        let mut transaction = database.begin(AccessMode::Read).await.unwrap();
        select
            .paginate(&mut *transaction, &mut reading)
            .await
            .unwrap()
    }

    /// What a QueryDSL gives to somebody.
    pub async fn query_as(&self, who: &Authorized, dsl: &Value) -> Result<Value, Error> {
        let dsl = self.dsl(dsl, &json!({}))?;
        let mut reading = ReadContext::new(&self.models, who);
        let mut transaction = dsl.begin(&self.models).await?;
        dsl.run(&mut *transaction, &mut reading).await
    }

    /// What a QueryDSL gives to a person who may see everything.
    pub async fn query(&self, dsl: Value) -> Result<Value, String> {
        let given = self.query_as(&anyone(), &dsl).await;
        given.map_err(|error| error.message)
    }

    /// A QueryDSL, read.
    pub fn dsl(&self, dsl: &Value, values: &Value) -> Result<QueryDsl, Error> {
        let values = values.as_object().unwrap().clone();
        self.given(dsl, &values).read()
    }

    /// What is wrong with a QueryDSL.
    pub fn lint(&self, dsl: &Value) -> Value {
        self.given(dsl, &Map::new()).lint()
    }

    fn given<'g>(&'g self, dsl: &'g Value, values: &'g Map<String, Value>) -> QueryRequest<'g> {
        QueryRequest {
            models: &self.models,
            near: "",
            dsl,
            values,
        }
    }
}

/// Rows, and why others were left out.
#[derive(Debug, PartialEq)]
pub struct Loaded {
    pub rows: Value,
    pub unmet: Vec<String>,
}

/// A person without limits.
pub fn anyone() -> Authorized {
    caller(json!({"user_id": "root"}))
}

/// A caller, as a token says it.
pub fn caller(authorized: Value) -> Authorized {
    serde_json::from_value(authorized).unwrap()
}
