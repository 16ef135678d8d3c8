//! Every recorded stream in every format. `recorded/NAME.jsonl` is a log; beside it is what must come of it.

use crate::expected;
use crate::log::frames;
use crate::recorded_logs::{logs, options, sse};
use ambit::format::{FORMATS, find};
use serde_json::json;

#[test]
fn recorded_streams_come_out_as_expected() {
    for row in FORMATS {
        if ["cui-native", "cui-desktop"].contains(&row.name) {
            continue;
        }
        for (path, log) in logs() {
            let beside = |ending: &str| {
                let name = path.file_stem().unwrap().to_str().unwrap();
                path.with_file_name(format!("{name}.{}.{ending}", row.name))
            };
            let body = json!((row.body)(&log, &options()));
            let body = serde_json::to_string_pretty(&body).unwrap();
            expected::check(&beside("json"), &(body + "\n"));
            if row.needs_beginning {
                expected::check(&beside("sse"), &sse(row, &log));
            }
        }
    }
}

#[test]
fn cui_clients_get_the_log_as_it_is_stored() {
    for name in ["cui-web", "cui-native", "cui-desktop"] {
        for (_, log) in logs() {
            let (frames, end) = frames(find(name).unwrap(), &log);
            let expected: Vec<Vec<String>> = log
                .iter()
                .map(|entry| vec![entry.text.to_string()])
                .collect();
            assert_eq!(frames, expected);
            assert_eq!(end, Vec::<String>::new());
            let web = json!((find("cui-web").unwrap().body)(&log, &options()));
            assert_eq!(json!((find(name).unwrap().body)(&log, &options())), web);
        }
    }
}
