//! What cannot be loaded, and what is said of it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use crate::support::{ENTRY, engine, load};
use ambit_script::LoadError;

fn refused(files: &[(&str, &str)]) -> String {
    load(&engine(), files)
        .err()
        .map(|error| error.to_string())
        .unwrap()
}

/// Files, and what is said when the first of them is loaded.
#[rustfmt::skip]
const REFUSED: &[(&[(&str, &str)], &str)] = &[
        (
            &[(
                ENTRY,
                "\nimport { a } from './a';\nexport const Create = () => a;",
            )],
            "assistants/pet/src/index.ts:2:1: cannot import \"./a\": there is no file assistants/pet/src/a.ts, assistants/pet/src/a.js or \
             assistants/pet/src/a/index.ts",
        ),
        (
            &[
                (
                    ENTRY,
                    "import { b } from './a';\nexport const Create = () => b;",
                ),
                ("assistants/pet/src/a.ts", "export const a = 1;"),
            ],
            "assistants/pet/src/index.ts:1:1: assistants/pet/src/index.ts imports b from \"./a\", but assistants/pet/src/a.ts does not export it",
        ),
        (
            &[(
                ENTRY,
                "import { Process } from '@ambit/runtime';\nexport const Create = () => Process;",
            )],
            "assistants/pet/src/index.ts:1:1: assistants/pet/src/index.ts imports Process from \"@ambit/runtime\", but @ambit/runtime does not \
             export it",
        ),
        (
            &[(
                ENTRY,
                "import lodash from 'lodash';\nexport const Create = () => lodash;",
            )],
            "assistants/pet/src/index.ts:1:1: cannot import \"lodash\": only relative paths, paths of tsconfig.json and @ambit/runtime can be \
             imported",
        ),
        (
            &[(
                ENTRY,
                "import x from 'https://example.com/x.js';\nexport const Create = () => x;",
            )],
            "assistants/pet/src/index.ts:1:1: cannot import \"https://example.com/x.js\": only relative paths, paths of tsconfig.json and \
             @ambit/runtime can be imported",
        ),
        (
            &[
                (
                    ENTRY,
                    "import { x } from '../../other/src/x';\nexport const Create = () => x;",
                ),
                ("assistants/other/src/x.ts", "export const x = 1;"),
            ],
            "assistants/pet/src/index.ts:1:1: cannot import \"../../other/src/x\": it is outside assistants/pet",
        ),
        (
            &[(
                ENTRY,
                "import { x } from '../../../../etc/x';\nexport const Create = () => x;",
            )],
            "assistants/pet/src/index.ts:1:1: cannot import \"../../../../etc/x\": it is outside assistants/pet",
        ),
        (
            &[(ENTRY, "export const x = await Promise.resolve(1);")],
            "assistants/pet/src/index.ts:1:18: `await` is only possible inside an async function",
        ),
        (
            &[(ENTRY, "for await (const x of []) {}\nexport {}")],
            "assistants/pet/src/index.ts:1:1: `await` is only possible inside an async function",
        ),
        (
            &[(
                ENTRY,
                "const d = (x: any) => x;\n@d class A {}\nexport { A };",
            )],
            "assistants/pet/src/index.ts:2:1: decorators are not supported",
        ),
        (
            &[(ENTRY, "export function Create() {\n  const x = ;\n}")],
            "assistants/pet/src/index.ts:2:13: Unexpected token",
        ),
        (
            &[(ENTRY, "const a = 1;\nconst a = 2;")],
            "assistants/pet/src/index.ts:1:7: Identifier `a` has already been declared",
        ),
        (
            &[
                (
                    ENTRY,
                    "import x from './x.json';\nexport const Create = () => x;",
                ),
                ("assistants/pet/src/x.json", "{\n  x: 1}"),
            ],
            "assistants/pet/src/x.json:2:3: not JSON: key must be a string at line 2 column 3",
        ),
        (&[], "there is no file assistants/pet/src/index.ts"),
    ];

#[test]
fn what_cannot_be_loaded_is_named_on_both_sides() {
    for (files, expected) in REFUSED {
        assert_eq!(refused(files), *expected);
    }
}

#[test]
fn what_an_unused_import_names_is_missed_too() {
    let import = |line: &str| {
        let text = format!("{line}\nexport const Create = (b?: B) => 1;");
        let a = "export interface A {}\nexport * from './c';";
        let c = "export type C = A;\nexport default 1;";
        refused(&[
            (ENTRY, &text),
            ("assistants/pet/src/a.ts", a),
            ("assistants/pet/src/c.ts", c),
        ])
    };
    let said = |what: &str| format!("{ENTRY}:1:1: {what}");
    let no_file = "there is no file assistants/pet/src/b.ts, assistants/pet/src/b.js or assistants/pet/src/b/index.ts";
    for line in [
        "import { b } from './b';",
        "import { B } from './b';",
        "import * as b from './b';",
    ] {
        let expected = said(&format!("cannot import \"./b\": {no_file}"));
        assert_eq!(import(line), expected, "{line}");
    }
    let only = "only relative paths, paths of tsconfig.json and @ambit/runtime can be imported";
    let expected = said(&format!("cannot import \"lodash\": {only}"));
    assert_eq!(import("import b from 'lodash';"), expected);
    for (line, name) in [
        ("import { A, b } from './a';", "b"),
        ("import { C, B } from './a';", "B"),
        ("import b from './a';", "default"),
    ] {
        let expected = said(&format!(
            "{ENTRY} imports {name} from \"./a\", but assistants/pet/src/a.ts does not export it"
        ));
        assert_eq!(import(line), expected, "{line}");
    }
}

#[test]
fn scripts_that_are_too_large_together_are_refused() {
    let engine = engine();
    let half = format!("export const a = '{}';", "x".repeat(1 << 20));
    let entry = format!("import {{ a }} from './a';\n{half}\nexport const Create = () => a;")
        .replace("const a =", "const b =");
    let result = load(
        &engine,
        &[(ENTRY, &entry), ("assistants/pet/src/a.ts", &half)],
    );
    let message =
        "assistants/pet/src/a.ts: the scripts have more than 2097152 bytes in all".to_owned();
    assert_eq!(result.err(), Some(LoadError { at: None, message }));
}

/// What nests, and what ends it again.
const NESTS: &[(&str, &str)] = &[
    ("(", ")"),
    ("[", "]"),
    ("{a:", "}"),
    ("!", ""),
    ("- ", ""),
    ("a=>", ""),
    ("f(", ")"),
    ("`${", "}`"),
    ("a?b:", ""),
    ("a+", ""),
    ("a.b.", ""),
    ("new ", ""),
    ("async()=>{", "}"),
    ("a||", ""),
    ("a**", ""),
    ("class{x=", "}"),
    ("<T>(", ")"),
    ("a as (", ")"),
    ("a<", ""),
    ("a[0]+", ""),
    ("typeof\n", ""),
    ("\"\"+(", ")"),
    ("/a/.b(", ")"),
    ("x/1/(", ")"),
    ("class extends ", "{}"),
];

#[test]
fn a_minified_bundle_is_loaded() {
    let line = "a.b=function(c,d){return c<d?e[c]:!d&&f(c+1,{g:d.h||\"i\",j:[`${k}`,/[(]/]})},";
    let text = format!("var a={{}},e,f,k;{}0;export default a;", line.repeat(4_000));
    assert!(text.len() > 300_000);
    assert!(load(&engine(), &[(ENTRY, &text)]).is_ok());
}

#[test]
fn source_nested_beyond_measure_is_refused_and_does_no_harm() {
    let engine = engine();
    let nested = |count: usize, open: &str, close: &str| {
        let (open, close) = (open.repeat(count), close.repeat(count));
        let text =
            format!("var a: any, f: any;\nexport const Create: any = () => ({open}a{close});");
        load(&engine, &[(ENTRY, &text)])
            .err()
            .map(|error| error.to_string())
    };
    for (open, close) in NESTS {
        let refused = nested(100_000, open, close).unwrap();
        assert!(
            refused.ends_with("the source is nested more than 8000 deep"),
            "{open}: {refused}"
        );
        // Whether these load is up to the compiler and the engine; that they come back is what matters.
        for count in [7_900, 1_500] {
            nested(count, open, close);
        }
        assert_eq!(
            nested(40, open, close).filter(|_| !open.starts_with("a as")),
            None,
            "{open}"
        );
    }
}

/// Places are found in one reading of the source; one for each function takes longer than the limit here.
#[test]
fn a_source_of_many_functions_is_compiled_in_time() {
    let functions: Vec<_> = (0..30_000)
        .map(|number| format!("function f{number}() {{ return {number}; }}\n"))
        .collect();
    let text = functions.concat() + "export const Create = () => f7();";
    let began = std::time::Instant::now();
    let loaded = load(&engine(), &[(ENTRY, &text)]).unwrap();
    assert_eq!(loaded.line("f29999"), Some(30_000));
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_secs(30), "{took:?}");
}
