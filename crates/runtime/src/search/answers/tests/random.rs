//! Answers that nobody meant to give.

use super::*;

/// Answers made at random of what forms are made of: none of them is read in more than one way, and none ends the program.
#[test]
fn g216_nothing_is_read_that_has_no_form() {
    let parts = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        "```",
        "json\n",
        ":",
        ",",
        "data",
        "error",
        "items",
        "order",
        "keywords",
        "dsl",
        "from",
        "need_search",
        "types",
        "web",
        "true",
        "0.5",
        " ",
        "\n",
        "\\",
        "é",
        "\u{202e}",
        "k",
        "w",
        "text",
        "null",
    ];
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |most: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % most as u64).unwrap()
    };
    for _ in 0..20_000 {
        let length = next(30);
        let text: String = (0..length).map(|_| parts[next(parts.len())]).collect();
        let answer = json!(text);
        let json = unquoted(&answer).into_owned();
        assert_eq!(intent(&answer), intent(&json), "{text}");
        assert_eq!(order(&answer), order(&json), "{text}");
        assert_eq!(items(&answer), items(&json), "{text}");
        assert!(
            fetched(&answer).is_ok()
                || json["error"] != Value::Null
                || json["data"]["error"] != Value::Null
        );
    }
}

#[test]
fn a_text_full_of_braces_is_read_in_time() {
    for text in [
        "{".repeat(LIMIT - 2),
        "{\"a\":".repeat(LIMIT / 8),
        "```".repeat(LIMIT / 4),
    ] {
        assert!(order(&json!(text)).is_err());
    }
}
