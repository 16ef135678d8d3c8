//! An app's models over a fresh database of each kind.

use ambit_runtime::Authorized;
use ambit_runtime::app::App;
use ambit_runtime::model::database::{AccessMode, Database, LazyDatabase, SqlDialect};
use ambit_runtime::model::{ColumnCipher, ModelBackend, ModelStore, TableModels, rows, system};
use ambit_runtime::{Error, ErrorCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// The secret of encrypted columns.
pub const SECRET: &str = "a key that has thirty-two letters or more";

/// A fresh place for models.
pub struct Place {
    pub store: ModelStore,
    _folder: TempDir,
}

impl Place {
    fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        Self {
            store: ModelStore::Sqlite(folder.path().join("models.db")),
            _folder: folder,
        }
    }

    fn postgres() -> Self {
        Self::on_server("TEST_POSTGRES_URL")
            .expect("TEST_POSTGRES_URL is set, as `cargo xtask test` does")
    }

    /// In memory.
    pub fn memory() -> Self {
        Self {
            store: ModelStore::Memory,
            _folder: TempDir::new().unwrap(),
        }
    }

    /// On a server that is not there.
    pub fn away() -> Self {
        Self {
            store: ModelStore::Postgres("postgres://nobody@127.0.0.1:1/nothing".to_owned()),
            ..Self::memory()
        }
    }

    /// On the server that the variable names.
    fn on_server(variable: &str) -> Option<Self> {
        let server = std::env::var_os(variable)?.into_string().ok()?;
        let join = if server.contains('?') { '&' } else { '?' };
        let schema = rand::random::<u64>();
        Some(Self {
            store: ModelStore::Postgres(format!("{server}{join}ambit_schema=m{schema:016x}")),
            _folder: TempDir::new().unwrap(),
        })
    }

    /// The models of an app of these files over it.
    pub fn open(&self, files: &[(&str, &str)]) -> Bed {
        self.open_with(SECRET, files)
    }

    /// The same with this secret.
    pub fn open_with(&self, secret: &str, files: &[(&str, &str)]) -> Bed {
        let cipher = ColumnCipher::new(secret).unwrap();
        Bed::new(self.store.clone(), cipher, files)
    }

    /// The same where nobody has set a secret.
    pub fn without_key(&self, files: &[(&str, &str)]) -> Bed {
        Bed::new(self.store.clone(), ColumnCipher::default(), files)
    }
}

/// Runs a case on both databases, and behind a proxy that lends connections where there is one.
pub async fn both(case: impl AsyncFn(&Place)) {
    let databases = [Place::sqlite(), Place::postgres()];
    let proxied = Place::on_server("TEST_PGBOUNCER_URL");
    for place in databases.into_iter().chain(proxied) {
        case(&place).await;
    }
}

/// Runs a case on both databases, with the models of these files.
pub async fn with(files: &[(&str, &str)], case: impl AsyncFn(&Bed)) {
    both(async |place| {
        let bed = place.open(files);
        case(&bed).await;
        bed.models.database().close().await.unwrap();
    })
    .await;
}

/// An app of these files.
pub fn app(files: &[(&str, &str)]) -> App {
    let folder = TempDir::new().unwrap();
    let base = [("app.yao", r#"{"name": "Test"}"#)];
    for (file, text) in base.iter().chain(files) {
        write(folder.path(), file, text);
    }
    App::load(folder.path(), &BTreeMap::new()).unwrap()
}

/// Writes a file of an app.
pub fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Models that can be called.
pub struct Bed {
    pub models: TableModels,
}

impl Bed {
    fn new(store: ModelStore, cipher: ColumnCipher, files: &[(&str, &str)]) -> Self {
        Self::over(Arc::new(LazyDatabase::new(store)), cipher, files)
    }

    /// The models of an app of these files over a database.
    pub fn over(database: Arc<dyn Database>, cipher: ColumnCipher, files: &[(&str, &str)]) -> Self {
        let app = app(files);
        let models = app.models.iter().map(|(id, model)| {
            let model = model.clone();
            (id.clone(), model.map_err(|it| it.for_user("model", id)))
        });
        let roles = app.access.0.get(system::ROLES_FILE);
        let with = ModelBackend {
            database,
            cipher,
            roles: roles.map(system::roles).unwrap_or_default(),
        };
        Self {
            models: TableModels::new(models.collect(), with),
        }
    }

    /// What a method answers somebody; an error as `[code, message]`.
    pub async fn call_as(&self, who: &Authorized, name: &str, arguments: Value) -> Value {
        self.result(who, name, arguments)
            .await
            .unwrap_or_else(|error| json!([error.code.as_str(), error.message]))
    }

    /// What a method answers somebody without constraints.
    pub async fn call(&self, name: &str, arguments: Value) -> Value {
        self.call_as(&person("ann"), name, arguments).await
    }

    /// The same with the whole error.
    pub async fn result(
        &self,
        who: &Authorized,
        name: &str,
        arguments: Value,
    ) -> Result<Value, Error> {
        let (id, method) = name.rsplit_once('.').unwrap();
        let method = rows::find(method).unwrap();
        let model = self.models.find(id, "")?;
        let arguments = arguments.as_array().unwrap();
        let answer = self.models.call(&model, method, who, arguments).await;
        answer.map(|answer| answer.value)
    }

    /// Brings the tables to what their models say, then changes them as whoever runs the database does, by a statement for its kind, which is
    /// the answer.
    pub async fn change_tables(&self, sql: impl Fn(SqlDialect) -> &'static str) -> SqlDialect {
        assert_eq!(self.unfit().await, BTreeMap::new());
        let begun = self.models.database().begin(AccessMode::Write).await;
        let mut writing = begun.unwrap();
        let dialect = writing.dialect();
        let sql = sql(dialect).to_owned();
        writing.run(sql.into()).await.unwrap();
        writing.commit().await.unwrap();
        dialect
    }

    /// Why each model cannot be used whose table cannot be brought to what it says.
    pub async fn unfit(&self) -> BTreeMap<String, (ErrorCode, String)> {
        let unfit = self.models.prepare().await.unwrap().iter();
        let unfit =
            unfit.map(|(id, error)| (id.clone(), (error.code.clone(), error.message.clone())));
        unfit.collect()
    }
}

/// Lets pets have short names alone, which their model does not say.
pub fn short_names(dialect: SqlDialect) -> &'static str {
    match dialect {
        SqlDialect::Sqlite => {
            "CREATE TRIGGER short BEFORE INSERT ON \"pet\" WHEN length(NEW.\"name\") > 8
             BEGIN SELECT RAISE(ABORT, 'canary4711 is too long'); END"
        }
        SqlDialect::Postgres => {
            "ALTER TABLE \"pet\" ADD CONSTRAINT short CHECK (length(\"name\") < 9)"
        }
    }
}

/// Somebody of this name without constraints.
pub fn person(name: &str) -> Authorized {
    who(json!({"user_id": name}))
}

/// A caller as tokens describe them.
pub fn who(claims: Value) -> Authorized {
    serde_json::from_value(claims).unwrap()
}
