//! What the tables write is what is committed; `cargo xtask generate` writes it.

use ambit_runtime::ctx::{CLASSES, GLOBALS, declarations, reference};
use std::path::Path;

fn committed(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_declarations_equal_what_the_tables_write() {
    assert!(
        committed("types/index.d.ts") == declarations(),
        "run `cargo xtask generate`"
    );
}

#[test]
fn the_reference_page_equals_what_the_tables_write() {
    assert!(
        committed("docs/ctx.md") == reference(),
        "run `cargo xtask generate`"
    );
}

#[test]
fn every_method_has_one_row_with_a_name_and_a_line_about_it() {
    for class in CLASSES {
        let methods: Vec<&str> = class
            .methods
            .iter()
            .flat_map(|all| all.iter())
            .map(|method| method.name())
            .collect();
        let mut sorted = methods.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(
            sorted.len(),
            methods.len(),
            "{} has a method twice",
            class.name
        );
    }
    let rows = CLASSES.iter().flat_map(|class| class.methods.iter());
    for method in rows.chain(GLOBALS).flat_map(|all| all.iter()) {
        assert!(
            method.doc.ends_with('.') && !method.doc.contains('\n'),
            "{}",
            method.name()
        );
        assert!(method.signature.contains("): "), "{}", method.signature);
    }
}
