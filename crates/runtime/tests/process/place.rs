//! An app in a folder of its own, and what its agent's hook finds.

use ambit_runtime::chat::ChatMessage;
use ambit_runtime::model;
use ambit_runtime::{Authorized, TurnRequest};
use ambit_runtime::{Runtime, RuntimeSettings, StartedTurn};
use ambit_storage::Stores;
use ambit_storage::driver::DriverOptions;
use serde_json::{Map, Value};
use tempfile::TempDir;

/// A runtime and its app's folder.
pub struct Place {
    pub runtime: Runtime,
    pub app: TempDir,
}

/// The agent has no prompts, so that no model is called.
const PACKAGE: (&str, &str) = ("assistants/hello/package.yao", r#"{"name": "Hello"}"#);

/// An app of these files; the hook `Next` of its agent answers with this expression, or with what it throws.
pub async fn place(files: &[(&str, &str)], expression: &str) -> Place {
    place_over(files, expression, model::ModelSettings::default()).await
}

/// The same with its models in this place.
pub async fn place_over(
    files: &[(&str, &str)],
    expression: &str,
    models: model::ModelSettings,
) -> Place {
    let hooks = format!(
        "const run = async (ctx: any): Promise<any> => ({expression});
        export async function Next(ctx: any) {{
            try {{ return {{ data: {{ value: (await run(ctx)) ?? null }} }}; }}
            catch (error: any) {{ return {{ data: {{ error: [error.code, error.message] }} }}; }}
        }}"
    );
    let folder = TempDir::new().unwrap();
    let base = [
        ("app.yao", r#"{"name": "Test", "version": "1.0.0"}"#),
        PACKAGE,
        ("assistants/hello/src/index.ts", &hooks),
    ];
    for (file, text) in base.iter().chain(files) {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    let runtime = Runtime::open(RuntimeSettings {
        models,
        ..RuntimeSettings::new(folder.path(), stores)
    });
    let runtime = runtime.await.unwrap();
    Place {
        runtime,
        app: folder,
    }
}

/// A caller of this name.
pub fn person(name: &str) -> Authorized {
    Authorized {
        user_id: Some(name.to_owned()),
        ..Authorized::default()
    }
}

impl Place {
    /// What the hook answers somebody.
    pub async fn answer(&self, who: &Authorized) -> Value {
        let ended = self.end(who).await;
        let next = ended["next"].as_object();
        let next = next.unwrap_or_else(|| panic!("the hook failed: {ended:?}"));
        let answer = next.get("value").or(next.get("error"));
        answer.cloned().unwrap_or_default()
    }

    /// Begins a turn of theirs.
    pub async fn start(&self, who: &Authorized) -> StartedTurn {
        let request = TurnRequest {
            authorized: who.clone(),
            agent: "hello".to_owned(),
            messages: vec![ChatMessage::user("hi")],
            ..TurnRequest::default()
        };
        self.runtime.start(request).await.unwrap()
    }

    /// The end of a turn of theirs.
    pub async fn end(&self, who: &Authorized) -> Map<String, Value> {
        let mut started = self.start(who).await;
        let mut last = Value::Null;
        while let Some(entries) = started.stream.next().await.unwrap() {
            for entry in entries {
                last = serde_json::from_str(&entry.text).unwrap();
            }
        }
        last["props"]["data"].as_object().unwrap().clone()
    }
}

/// What the hook of an app answers Ann: the value of the expression, or `[code, message]`.
pub async fn value(files: &[(&str, &str)], expression: &str) -> Value {
    place(files, expression).await.answer(&person("ann")).await
}
