//! The console in Chromium, over the real server: the cases of `console/tests`.

use std::path::Path;
use std::process::Command;

/// Names the browser.
const CHROMIUM: &str = "TEST_CHROMIUM";

#[test]
fn every_case_of_the_console_holds_in_chromium() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console");
    assert!(
        sources.join("node_modules/installed").is_file(),
        "the packages of console/ are not installed: `cargo xtask console` does it"
    );
    let browser = std::env::var_os(CHROMIUM)
        .unwrap_or_else(|| panic!("{CHROMIUM} is not set; run the tests with `cargo xtask test`"));
    let mut cases = Command::new("npm");
    cases.args(["run", "--silent", "test:browser"]);
    cases.env("AMBIT_BINARY", env!("CARGO_BIN_EXE_ambit"));
    cases.env(CHROMIUM, browser);
    let output = cases.current_dir(sources).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    println!("{told}{}", String::from_utf8_lossy(&output.stderr));
    let failed = told.find("\nFAILED ").map_or("", |at| &told[at..]);
    assert!(
        output.status.success(),
        "{}; of a long log only the end may be left, so once more:{failed}",
        output.status
    );
    assert!(
        told.lines().any(|line| line.ends_with(" cases, 0 failed")),
        "no case ran"
    );
}
