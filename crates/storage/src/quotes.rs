//! Messages of failures on their way to the log: what they quote stays out of it.

/// The message of a failure without what it quotes, which may be a person's words.
pub fn without_quotes(message: &str) -> String {
    let mut shown = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(['"', '`']) {
        let quote = if rest[start..].starts_with('"') {
            '"'
        } else {
            '`'
        };
        let (before, quoted) = rest.split_at(start);
        shown.push_str(before);
        shown.push(quote);
        shown.push('…');
        shown.push(quote);
        // A quoted text may hold such marks itself: all up to the last one goes.
        rest = quoted
            .rfind(quote)
            .filter(|end| *end > 0)
            .map_or("", |end| &quoted[end + 1..]);
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::without_quotes;

    #[test]
    fn what_a_message_quotes_is_left_out() {
        for (message, shown) in [
            ("messages must be a list", "messages must be a list"),
            ("chat \"my secret\" not found", "chat \"…\" not found"),
            ("a \"b\" c \"d\" e", "a \"…\" e"),
            ("unknown field `x`, expected `y`", "unknown field `…`"),
            ("cut \"off", "cut \"…\""),
        ] {
            assert_eq!(without_quotes(message), shown);
        }
    }
}
