//! Which crate may depend on which.

use super::{Finding, Source};

/// The crates of this workspace.
const OURS: &[&str] = &["ambit*"];
/// The JavaScript engine and the TypeScript compiler.
const ENGINE: &[&str] = &["rquickjs*", "oxc*"];
/// HTTP servers.
const HTTP: &[&str] = &["axum*", "hyper*", "actix*", "tower-http"];

/// What a crate must not depend on: lists of names, a `*` at the end standing for any rest.
const FORBIDDEN: &[(&str, &[&[&str]])] = &[
    ("quickjs-heap", &[OURS, ENGINE, HTTP]),
    ("storage", &[OURS, ENGINE, HTTP]),
    ("extract", &[OURS, ENGINE, HTTP]),
    ("telemetry", &[OURS, ENGINE, HTTP]),
    (
        "search",
        &[&["ambit", "ambit-runtime*", "ambit-script*"], ENGINE, HTTP],
    ),
    (
        "knowledge",
        &[&["ambit", "ambit-runtime*", "ambit-script*"], ENGINE, HTTP],
    ),
    (
        "script",
        &[&["ambit", "ambit-runtime*", "ambit-storage*"], HTTP],
    ),
    ("runtime", &[&["ambit"], ENGINE, HTTP]),
    ("ambit", &[ENGINE]),
];

/// Every dependency in a wrong direction.
pub fn check(manifests: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in manifests {
        let folder = manifest.path.split('/').nth(1).unwrap_or_default();
        let Some((_, forbidden)) = FORBIDDEN.iter().find(|(name, _)| *name == folder) else {
            let what = "this crate has no row in the table of dependency directions (xtask/src/tidy/manifests.rs)";
            findings.push(Finding::new(&manifest.path, what));
            continue;
        };
        // A crate's tests may build it again with all its features.
        let own = format!("ambit-{folder}");
        let wrong = dependencies(&manifest.text)
            .into_iter()
            .filter(|name| *name != own)
            .filter(|name| forbidden.concat().iter().any(|rule| matches(rule, name)));
        findings.extend(
            wrong.map(|name| Finding::new(&manifest.path, format!("must not depend on {name}"))),
        );
    }
    findings
}

fn matches(rule: &str, name: &str) -> bool {
    match rule.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == rule,
    }
}

/// The names in all dependency tables of a manifest; a renamed crate under both names.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut within = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            within = table.ends_with("dependencies");
            if let Some((_, name)) = table.split_once("dependencies.") {
                within = true;
                names.push(plain(name));
            }
        } else if within && !line.starts_with('#') {
            if let Some((name, _)) = line.split_once(['=', '.']) {
                names.push(plain(name));
            }
            if let Some((_, package)) = line.split_once("package") {
                names.extend(package.split('"').nth(1).map(plain));
            }
        }
    }
    names
}

fn plain(name: &str) -> String {
    name.trim().trim_matches('"').replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, source};
    use super::check;

    fn findings(folder: &str, manifest: &str) -> Vec<Finding> {
        check(&[source(&format!("crates/{folder}/Cargo.toml"), manifest)])
    }

    #[test]
    fn storage_depends_on_no_crate_of_the_workspace() {
        let found = findings(
            "storage",
            "[dependencies]\nserde.workspace = true\nambit-script.workspace = true\n",
        );
        let expected = Finding::new(
            "crates/storage/Cargo.toml",
            "must not depend on ambit-script",
        );
        assert_eq!(found, [expected]);
    }

    #[test]
    fn other_tables_and_renamed_crates_are_seen() {
        let manifests = [
            "[dev-dependencies]\nambit-runtime = { path = \"../runtime\" }\n",
            "[target.'cfg(unix)'.dependencies]\nhelper = { package = \"ambit_runtime\", path = \"x\" }\n",
            "[dependencies.ambit-runtime]\npath = \"../runtime\"\n",
        ];
        for manifest in manifests {
            assert_eq!(findings("script", manifest).len(), 1, "{manifest}");
        }
    }

    #[test]
    fn runtime_knows_no_http_server_but_may_use_storage_and_script() {
        let allowed =
            "[dependencies]\nambit-storage.workspace = true\nambit-script.workspace = true\n";
        assert_eq!(findings("runtime", allowed), []);
        assert_eq!(
            findings("runtime", "[dependencies]\naxum = \"1\"\n").len(),
            1
        );
        assert_eq!(
            findings("runtime", "[dependencies]\nambit.workspace = true\n").len(),
            1
        );
    }

    #[test]
    fn a_package_table_is_no_dependency_table() {
        assert_eq!(
            findings(
                "storage",
                "[package]\nambit = \"x\"\n[lints]\nworkspace = true\n"
            ),
            []
        );
    }

    #[test]
    fn a_crate_without_a_row_is_a_finding() {
        assert_eq!(findings("common", "").len(), 1);
    }
}
