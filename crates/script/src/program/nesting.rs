//! How deep a source is nested, at most. The TypeScript compiler recurses as deep as its input, and a stack that is full ends
//! the process; so input that is too deep is refused before.

/// The deepest source that is compiled. Real ones are nested less than a hundred deep.
pub const DEEPEST: usize = 8_000;

/// Where a source is nested deeper than allowed, as a byte: every bracket, operator and keyword between two separators may
/// nest what follows in it, on each level of brackets that is open there.
pub fn too_deep(text: &str) -> Option<usize> {
    let mut scan = NestingScan::default();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        at = scan.step(bytes, at);
        if scan.depth > DEEPEST {
            return Some(at.min(text.len()));
        }
    }
    None
}

/// One level of brackets.
#[derive(Default)]
struct BracketLevel {
    /// What may nest, since the last separator.
    count: usize,
    /// It is the `${ … }` of a template.
    template: bool,
}

#[derive(Default)]
struct NestingScan {
    levels: Vec<BracketLevel>,
    current: BracketLevel,
    depth: usize,
    /// What came last decides whether a slash divides and whether a line break separates.
    last: LastToken,
}

/// The token before.
#[derive(Default, Clone, Copy, PartialEq)]
enum LastToken {
    /// Something that needs an operand after it.
    #[default]
    Operator,
    /// An operand.
    Operand,
    /// `)`, after which a statement may go on.
    Parenthesis,
}

impl NestingScan {
    /// Reads one token; returns where the next begins.
    fn step(&mut self, bytes: &[u8], at: usize) -> usize {
        let rest = &bytes[at..];
        match rest[0] {
            b'\n' => self.line_break(rest),
            b' ' | b'\t' | b'\r' => {}
            b'/' if rest.starts_with(b"//") => return at + find(rest, b"\n"),
            b'/' if rest.starts_with(b"/*") => return at + find(&rest[2..], b"*/") + 4,
            b'/' if self.last == LastToken::Operator => return at + self.literal(rest, b'/'),
            quote @ (b'"' | b'\'') => return at + self.literal(rest, quote),
            b'`' => return self.template(bytes, at + 1),
            b'(' | b'[' | b'{' => self.open(false),
            b'}' if self.current.template => {
                self.close();
                return self.template(bytes, at + 1);
            }
            bracket @ (b')' | b']' | b'}') => {
                self.close();
                self.last = if bracket == b')' {
                    LastToken::Parenthesis
                } else {
                    LastToken::Operand
                };
            }
            b',' | b';' => self.separate(),
            first if first.is_ascii_alphanumeric() || matches!(first, b'_' | b'$' | 128..) => {
                return at + self.word(rest);
            }
            _ => self.count(),
        }
        at + 1
    }

    fn count(&mut self) {
        self.current.count += 1;
        self.depth += 1;
        self.last = LastToken::Operator;
    }

    fn separate(&mut self) {
        self.depth -= self.current.count;
        self.current.count = 0;
        self.last = LastToken::Operator;
    }

    fn open(&mut self, template: bool) {
        self.count();
        let level = BracketLevel { count: 0, template };
        self.levels
            .push(std::mem::replace(&mut self.current, level));
    }

    fn close(&mut self) {
        self.depth -= self.current.count;
        self.current = self.levels.pop().unwrap_or_default();
    }

    /// A line break separates statements where both sides look like it.
    fn line_break(&mut self, rest: &[u8]) {
        let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
        let begins = next.is_none_or(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'$' | b'"' | b'\'' | b'}' | b'/' | 128..)
        });
        if begins && self.last == LastToken::Operand {
            self.separate();
        }
    }

    /// A name, a number or a keyword. A keyword may nest, as an operator does.
    fn word(&mut self, rest: &[u8]) -> usize {
        let end =
            |byte: &u8| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 128..));
        let length = rest.iter().position(end).unwrap_or(rest.len());
        if KEYWORDS.contains(&&rest[..length]) {
            self.count();
        } else {
            self.last = LastToken::Operand;
        }
        length
    }

    /// A string or a regular expression: up to its end, or that of the line.
    fn literal(&mut self, rest: &[u8], quote: u8) -> usize {
        let mut escaped = false;
        let mut class = false;
        for (index, byte) in rest.iter().enumerate().skip(1) {
            match byte {
                b'\n' => break,
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'[' if quote == b'/' => class = true,
                b']' => class = false,
                byte if *byte == quote && !class => {
                    self.last = LastToken::Operand;
                    return index + 1;
                }
                _ => {}
            }
        }
        // It does not end: then it was none, and what follows counts.
        self.count();
        1
    }

    /// The text of a template, up to its end or to `${`.
    fn template(&mut self, bytes: &[u8], from: usize) -> usize {
        let mut at = from;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 1,
                b'`' => {
                    self.last = LastToken::Operand;
                    return at + 1;
                }
                b'$' if bytes.get(at + 1) == Some(&b'{') => {
                    self.open(true);
                    return at + 2;
                }
                _ => {}
            }
            at += 1;
        }
        at
    }
}

/// Words after which an operand or a statement follows.
const KEYWORDS: &[&[u8]] = &[
    b"typeof",
    b"void",
    b"delete",
    b"new",
    b"await",
    b"yield",
    b"in",
    b"of",
    b"instanceof",
    b"as",
    b"satisfies",
    b"is",
    b"keyof",
    b"unique",
    b"readonly",
    b"infer",
    b"asserts",
    b"abstract",
    b"if",
    b"else",
    b"do",
    b"while",
    b"for",
    b"with",
    b"return",
    b"throw",
    b"case",
    b"extends",
    b"implements",
    b"class",
    b"function",
    b"async",
    b"export",
    b"default",
    b"label",
];

fn find(bytes: &[u8], end: &[u8]) -> usize {
    bytes
        .windows(end.len())
        .position(|window| window == end)
        .unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_sources_are_never_too_deep() {
        let lines = "const a = b + c * (d - e)[f](g => g.h)\nfoo(`x ${y + `${z}`} w`, /[\"'(]/g, \"(((\", '[[[') // (((\n/* {{{ */ if (a) { b } else c\nlet s = 'it\\'s ('\n";
        assert_eq!(too_deep(&lines.repeat(20_000)), None);
        assert_eq!(too_deep(&"call()\n".repeat(7_000)), None);
        let list = format!(
            "export default [{}]",
            "{ a: -1, b: [\"c\"], d: x.y.z },\n".repeat(50_000)
        );
        assert_eq!(too_deep(&list), None);
    }

    #[test]
    fn depth_is_found_however_it_is_made() {
        let ways = [
            "(",
            "[",
            "{a:",
            "!",
            "- ",
            "a=>",
            "f(",
            "`${",
            "a?b:",
            "a+",
            "a.b",
            "new ",
            "typeof\n",
            "if(a)\n",
            "a||\n",
            "a**",
            "class{x=",
            "a:\n",
            "x/1/(",
            "else if(a)",
            "a()",
            "a[0]",
            "\"\"+(",
            "/a/.b(",
            "a as (",
            "<T>",
            "a!",
        ];
        for way in ways {
            assert!(too_deep(&way.repeat(DEEPEST + 1)).is_some(), "{way}");
        }
    }
}
