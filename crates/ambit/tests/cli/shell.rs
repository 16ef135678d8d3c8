//! What the program gives to shells and to `man`.

use crate::place::{Place, Ran};

#[test]
fn each_shell_gets_a_script_with_the_commands_and_their_options() {
    let place = Place::new();
    for (shell, begin) in [
        ("bash", "_ambit() {"),
        ("zsh", "#compdef ambit"),
        ("fish", "complete -c ambit"),
    ] {
        let script = place.run_as(&["completions", shell]);
        assert_eq!((script.code, script.err.as_str()), (0, ""));
        for word in [begin, "doctor", "no-history", "active-before"] {
            assert!(script.out.contains(word), "{shell}: {word}");
        }
    }
    let unknown = place.run_as(&["completions", "tcsh"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (1, ""));
    assert!(unknown.err.contains("bash"), "{}", unknown.err);
}

#[test]
fn there_is_a_page_for_the_program_and_for_each_command() {
    let place = Place::new();
    let page = |arguments: &[&str]| {
        let ran = place.run_as(&[&["man"], arguments].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments:?}");
        // Roff has its own sign for a hyphen.
        ran.out.replace("\\-", "-")
    };
    let whole = page(&[]);
    for word in [".TH ambit 1", ".SH SUBCOMMANDS", "doctor", "--store"] {
        assert!(whole.contains(word), "{word}: {whole}");
    }
    let one = page(&["context", "ls"]);
    let source = concat!("\"ambit ", env!("CARGO_PKG_VERSION"), "\"");
    for word in [".SH NAME", "context-ls", "--active-before", source] {
        assert!(one.contains(word), "{word}: {one}");
    }
    let unknown = place.run_as(&["man", "context", "lss"]);
    let expected = "there is no command \"lss\"; did you mean \"ls\"?";
    assert_eq!(unknown, Ran::refused(expected));
}

#[test]
fn the_version_begins_with_the_one_of_the_package() {
    let said = Place::new().run_as(&["--version"]).out;
    let begin = concat!("ambit ", env!("CARGO_PKG_VERSION"));
    let commit = said.trim_end().strip_prefix(begin).unwrap();
    let digits = commit
        .strip_prefix(" (")
        .and_then(|it| it.strip_suffix(')'));
    let is_commit = digits.is_some_and(|it| it.bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert!(commit.is_empty() || is_commit, "{said}");
}
