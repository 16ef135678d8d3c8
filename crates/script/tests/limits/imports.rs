//! Modules for which there is no memory when they are imported.

use crate::watch::{Code, alone, code_of};
use ambit_script::{Engine, EngineSettings, HostApi, NoHost, ProgramSource, RunLimits, ScriptRun};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

const HEAP: usize = 16 << 20;

/// Holds so many bytes while it imports a module, and imports it again without them.
const ENTRY: &str = "export async function Create(size: number): Promise<any> {
    let held: any = new Uint8Array(size);
    try { await import('./outer'); return held.length; } catch {}
    held = null;
    await import('./outer').catch(() => {});
}";

/// So many variables need some memory at once at each step: when they are read, linked and evaluated.
const VARIABLES: usize = 9_000;

#[tokio::test]
async fn g117_a_module_for_which_there_is_no_memory_fails_alone() {
    let _alone = alone().await;
    let engine = Engine::new(&EngineSettings::default(), HostApi::default()).unwrap();
    let mut inner = String::new();
    for number in 0..VARIABLES {
        write!(inner, "export let v{number} = {number};").unwrap();
    }
    let files = [
        ("index.ts", ENTRY),
        ("outer.ts", "import './inner'; export const outer = 1;"),
        ("inner.ts", &inner),
    ];
    let files: BTreeMap<_, _> = files
        .map(|(file, text)| (file.to_owned(), text.to_owned()))
        .into();
    let source = ProgramSource {
        file: "index.ts".to_owned(),
        folder: String::new(),
    };
    let program = engine.load(&files, &source).unwrap();
    let mut ends = Vec::new();
    // From no memory for it to enough.
    for left in (0..3 << 20).step_by(24 << 10) {
        let run = ScriptRun {
            program: Arc::clone(&program),
            function: "Create".to_owned(),
            arguments: vec![json!(HEAP - left).into()],
            host: Arc::new(NoHost),
            limits: RunLimits {
                heap: HEAP,
                ..RunLimits::default()
            },
            within: None,
        };
        let ended = engine.run(run).await;
        let is_imported = matches!(&ended, Ok(run) if run.value == Some(json!(HEAP - left)));
        assert!(is_imported || code_of(&ended) == Code::Heap, "{ended:?}");
        ends.push(is_imported);
    }
    assert!(ends.contains(&true) && ends.contains(&false));
}
