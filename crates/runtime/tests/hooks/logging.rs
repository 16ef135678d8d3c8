//! `console` and `log`: what the log of the server gets.

use crate::support::Stage;
use ambit_runtime::Error;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, Once};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The lines of all runs: scripts run on threads of their own, so that only one collector for the process hears them.
static LINES: Mutex<Vec<BTreeMap<&'static str, String>>> = Mutex::new(Vec::new());

struct Collector;

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("ambit_")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = event.metadata().level().to_string();
        fields.0.insert("level", level);
        LINES.lock().unwrap().push(fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Begins to collect, at the first stage of all.
pub fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Collector).unwrap());
}

/// The lines so far that say this.
pub fn with_message(message: &str) -> Vec<BTreeMap<&'static str, String>> {
    let all = LINES.lock().unwrap();
    let own = all.iter().filter(|line| line["message"] == message);
    own.cloned().collect()
}

/// Runs these statements in the turn of a request.
async fn run(stage: &Stage, request: &str, statements: &str) -> Result<(), Error> {
    let text = format!("export function Create(ctx) {{ {statements} }}");
    let mut scope = (*stage.scope()).clone();
    scope.properties.request_id = request.to_owned();
    let hooks = stage.hooks(&text).unwrap();
    let created = hooks.create(&scope.into(), &[], json!({})).await;
    created.map(drop)
}

/// The level and the text of each line of a run of these statements.
async fn lines(stage: &Stage, request: &str, statements: &str) -> Vec<(String, String)> {
    run(stage, request, statements).await.unwrap();
    let all = LINES.lock().unwrap();
    let own = all.iter().filter(|line| {
        line.get("request.id")
            .is_some_and(|id| id.contains(request))
    });
    own.map(|line| {
        assert!(line["agent.id"].contains("pet"));
        let hook = line["hook"].as_str();
        assert!(matches!(hook, "Create" | "scripts.pets"), "{hook}");
        (line["level"].clone(), line["message"].clone())
    })
    .collect()
}

#[tokio::test]
async fn every_line_has_its_level_and_says_whose_it_is() {
    let statements = "console.log('a', {b: [1]}, null, 2); console.info('i'); console.warn('w'); console.error('e'); console.debug('d');
        log.Trace('t'); log.Debug('%s', 'd'); log.Info('%d pets', 3, 'more'); log.Warn({a: 1}); log.Error('100%%');
        try { log.Fatal('f'); } catch {}";
    let expected = [
        ("INFO", "a {\"b\":[1]} null 2"),
        ("INFO", "i"),
        ("WARN", "w"),
        ("ERROR", "e"),
        ("DEBUG", "d"),
        ("DEBUG", "t"),
        ("DEBUG", "d"),
        ("INFO", "3 pets more"),
        ("WARN", "{\"a\":1}"),
        ("ERROR", "100%"),
        ("ERROR", "f"),
    ];
    let found = lines(&Stage::new(), "levels", statements).await;
    assert_eq!(
        found,
        expected.map(|(level, text)| (level.to_owned(), text.to_owned()))
    );
}

#[tokio::test]
async fn a_run_that_writes_too_much_is_told_once() {
    let stage = Stage::new().limited("log", json!(10));
    let found = lines(
        &stage,
        "limit",
        "console.log('12345'); console.log('123456'); console.log('x'); console.log('1234567');",
    )
    .await;
    let warning = "a run writes at most 10 bytes of log; more is left out";
    let expected = [("INFO", "12345"), ("WARN", warning), ("INFO", "x")];
    assert_eq!(
        found,
        expected.map(|(level, text)| (level.to_owned(), text.to_owned()))
    );
}

#[tokio::test]
async fn processes_write_under_their_name_and_count_to_the_runs_lines() {
    let mut stage = Stage::new().limited("log", json!(10));
    let text = "export function Say(text) { console.log(text); }";
    stage.scripts.insert("pets".to_owned(), text.to_owned());
    let statements = "console.log('12345'); Process('scripts.pets.Say', '678'); Process('scripts.pets.Say', '9ab');";
    let found = lines(&stage, "within", statements).await;
    let warning = "a run writes at most 10 bytes of log; more is left out";
    let expected = [("INFO", "12345"), ("INFO", "678"), ("WARN", warning)];
    assert_eq!(
        found,
        expected.map(|(level, text)| (level.to_owned(), text.to_owned()))
    );
    let all = LINES.lock().unwrap();
    let said = all.iter().find(|line| line["message"] == "678");
    assert_eq!(said.unwrap()["hook"], "scripts.pets");
}

/// Why a run of these statements has failed, as the log says it.
async fn failure(stage: &Stage, request: &str, statements: &str) -> String {
    run(stage, request, statements).await.unwrap_err();
    let all = LINES.lock().unwrap();
    let is_its = |line: &&BTreeMap<&str, String>| {
        line["message"] == "a hook failed" && line["request.id"] == request
    };
    all.iter().find(is_its).unwrap()["error.message"].clone()
}

#[tokio::test]
async fn the_line_of_a_failure_has_nothing_that_its_run_has_read() {
    let mut stage = Stage::new();
    let text = "export function Read() { return [{ name: 'canary4711' }]; }";
    stage.scripts.insert("rows".to_owned(), text.to_owned());
    for (request, read) in [
        ("of memory", "ctx.memory.user.Get('name')"),
        ("of a list", "ctx.memory.user.ArrayAll('list')[0].name"),
        ("of rows", "Process('scripts.rows.Read')[0].name"),
    ] {
        let statements = format!(
            "ctx.memory.user.Set('name', 'canary4711'); ctx.memory.user.Push('list', [{{ name: 'canary4711' }}]);
             throw new Error('cannot serve ' + {read});"
        );
        let why = failure(&stage, request, &statements).await;
        assert_eq!(why, "cannot serve …", "{request}");
    }
}
