//! A folder with stores, what is in them, and the program run there.

use ambit_storage::driver::{self, Driver, DriverOptions};
use ambit_storage::storage::{Message, UsageRecord};
use ambit_storage::{Agent, Ambit, LiveAgent, Stores};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// An agent by name.
pub struct Named(pub &'static str);

impl Agent for Named {
    fn name(&self) -> &str {
        self.0
    }
}

/// What the program said, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A folder of its own.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    pub fn url(&self, file: &str) -> String {
        format!("sqlite:{}", self.path(file).display())
    }

    /// The installation over `main.db`.
    pub async fn open(&self, agents: &[&'static str]) -> Ambit {
        self.open_with(agents, &[("sqlite", "main.db")]).await
    }

    /// The installation over these files by name, everything being kept in all of them.
    pub async fn open_with(&self, agents: &[&'static str], files: &[(&str, &str)]) -> Ambit {
        let mut builder = Stores::builder(DriverOptions::default());
        for (name, file) in files {
            builder = builder.driver(*name, self.driver(file).await);
        }
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let stores = builder.default_drivers(&names).build().unwrap();
        let builder = Ambit::builder(stores);
        let with =
            |builder: ambit_storage::AmbitBuilder, name: &&'static str| builder.agent(Named(name));
        agents.iter().fold(builder, with).build()
    }

    pub async fn driver(&self, file: &str) -> Arc<dyn Driver> {
        driver::open(&self.url(file), DriverOptions::default())
            .await
            .unwrap()
    }

    /// Makes the store of this file, as a server does at its start.
    pub fn make_store(&self, file: &str) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async { self.driver(file).await.close().await.unwrap() });
    }

    /// The program over `main.db`.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        let store = self.url("main.db");
        self.run_as(&[&["--store", &store], arguments].concat())
    }

    /// The program with these arguments alone.
    pub fn run_as(&self, arguments: &[&str]) -> Ran {
        told(self.command(arguments).output().unwrap())
    }

    /// The program, to be started; it reads nothing and its environment names no store.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_ambit"), arguments)
    }

    /// Another program, to be started as that.
    pub fn command_of(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("AMBIT_STORE")
            .env_remove("AMBIT_MODELS")
            .env_remove("AMBIT_APP")
            .env_remove("AMBIT_MODEL_KEY")
            .stdin(Stdio::null());
        command
    }

    /// The id of the one context that these filters find.
    pub fn id(&self, filters: &[&str]) -> String {
        let ran = self.run(&[&["context", "ls", "--json"], filters].concat());
        let rows = ran.json();
        assert_eq!(rows.len(), 1, "{ran:?}");
        rows[0]["id"].as_str().unwrap().to_owned()
    }
}

impl Ran {
    /// What ended well and printed this.
    pub fn printed(out: &str) -> Self {
        Self {
            code: 0,
            out: out.to_owned(),
            err: String::new(),
        }
    }

    /// What was refused with these words.
    pub fn refused(err: &str) -> Self {
        Self {
            code: 1,
            out: String::new(),
            err: format!("ambit: {err}\n"),
        }
    }

    /// What is said where no context has this id in stores at these places.
    pub fn no_context(id: &str, places: &[PathBuf]) -> Self {
        let places = places.iter().map(|place| place.display().to_string());
        let places: Vec<String> = places.collect();
        Self::refused(&format!(
            "context \"{id}\" not found in {}, tenant \"default\"; `ambit context ls` lists contexts; their ids have 20 letters and digits",
            places.join(", ")
        ))
    }

    /// The lines of the output, each a JSON object.
    pub fn json(&self) -> Vec<Value> {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// A server that ends with its test.
pub struct Serving {
    process: Child,
    /// Where its routes are.
    pub base: String,
}

impl Serving {
    /// Runs this command of `serve` until it says where it listens.
    pub fn of(mut serve: Command) -> Self {
        let mut serving = Self {
            process: serve.stdout(Stdio::piped()).spawn().unwrap(),
            base: String::new(),
        };
        let mut printed = BufReader::new(serving.process.stdout.as_mut().unwrap());
        let mut greeting = String::new();
        printed.read_line(&mut greeting).unwrap();
        let (_, base) = greeting.trim_end().rsplit_once(" on ").unwrap();
        serving.base = base.to_owned();
        serving
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

pub fn told(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The session of this user with this agent.
pub async fn session(ambit: &Ambit, agent: &str, user: &str) -> LiveAgent {
    let agent = ambit.agent(agent).unwrap();
    agent.for_user_id(user).await.unwrap()
}

/// A conversation of `texts`, by turns of a person and a model, saved.
pub async fn say(agent: &LiveAgent, texts: &[&str]) {
    for (at, text) in texts.iter().enumerate() {
        let message = if at % 2 == 0 {
            Message::user(*text)
        } else {
            Message::assistant(*text)
        };
        agent.history().add_message(message).await.unwrap();
    }
    agent.context().save().await.unwrap();
}

/// A model call of this many tokens, half of them asked and half answered, saved.
pub async fn spend(agent: &LiveAgent, model: &str, tokens: i64) {
    let record = UsageRecord {
        prompt_tokens: tokens / 2,
        completion_tokens: tokens / 2,
        model_name: Some(model.to_owned()),
        ..UsageRecord::default()
    };
    agent.context().usage().record(record).unwrap();
    agent.context().save().await.unwrap();
}
