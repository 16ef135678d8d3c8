//! How much a source may nest. The TypeScript compiler recurses as deep as its input, and a stack that is full ends the
//! process. So each source is compiled on a stack that is large enough whatever it holds, and one that nests beyond measure is
//! refused: before it is parsed where counting brackets shows it, because parsing it could take long, and else behind that.

use super::diagnostics::locate;
use crate::error::LoadError;
use oxc::ast::AstKind;
use oxc::ast::ast::{Expression, Program, Statement};
use oxc::ast_visit::{Visit, walk};
use oxc::span::{GetSpan, Span};

/// The deepest source that is compiled. Real ones are nested less than a hundred deep.
const DEEPEST: usize = 8_000;

/// What is said of deeper ones, and of those whose `<` cost the parser as much.
pub const TOO_DEEP: &str = "the source is nested more than 8000 deep";

/// How many `<` one expression may have: the parser takes each for the beginning of a type's arguments first, and those behind it
/// again.
const ANGLES: usize = 1_000;

/// How many brackets may stand open directly behind a `<`. The parser takes each for a type first and then for a value, and so
/// for all that is inside.
const OPEN_ANGLES: usize = 6;

/// How many brackets may be open, counted over the whole source with its strings.
const OPEN: usize = 1 << 17;

/// How many brackets, operators and words a source may have. Two megabytes of prose in strings have fewer.
const MOST: usize = 1 << 20;

/// Stack for each of them. The parser takes at most 1,600 bytes for one; what comes behind it takes less.
const LEVEL: usize = 2 << 10;

/// Stack that every source has.
const BASE: usize = 64 << 20;

/// Returns how large a stack a source needs at most.
///
/// Each level of whatever nests has a bracket, an operator or a word behind an operand. All of them are counted, also those in
/// strings and comments, so that the bound holds for every source.
pub fn stack_size(path: &str, text: &str) -> Result<usize, LoadError> {
    let mut count = NestingCount::default();
    for (offset, char) in text.char_indices() {
        count.add(char);
        if let Some(message) = count.refusal() {
            let at = Some(locate(path, text, offset));
            return Err(LoadError { at, message });
        }
    }
    Ok(BASE + count.all * LEVEL)
}

#[derive(Default)]
struct NestingCount {
    /// Brackets, operators and words behind operands.
    all: usize,
    /// Brackets that are open, as they stand. Those in strings count too: few of them have no counterpart.
    brackets: usize,
    /// All brackets that are open.
    open: usize,
    /// `<` in one expression.
    angles: usize,
    /// How many brackets were open when one was opened directly behind a `<`.
    open_angles: Vec<usize>,
    previous: char,
    /// The last character that is no space.
    last: char,
    after_operand: bool,
}

impl NestingCount {
    fn add(&mut self, char: char) {
        match char {
            '(' | '[' | '{' => {
                if self.last == '<' {
                    self.open_angles.push(self.open);
                }
                self.brackets += 1;
                self.open += 1;
            }
            ')' | ']' | '}' => {
                self.brackets = self.brackets.saturating_sub(1);
                self.open = self.open.saturating_sub(1);
                self.open_angles.pop_if(|open| *open >= self.open);
            }
            '<' => self.angles += 1,
            // A line that is not indented begins a statement of the module.
            _ if self.previous == '\n' && char.is_alphabetic() => self.brackets = 0,
            _ => {}
        }
        if ">;(){}".contains(char) {
            self.angles = 0;
        }
        let is_counted = match is_word(char) {
            true => self.after_operand && !is_word(self.previous),
            false => !char.is_whitespace() && !")]},;\"'".contains(char),
        };
        self.all += usize::from(is_counted);
        self.previous = char;
        if !char.is_whitespace() {
            self.last = char;
            self.after_operand = is_word(char) || ")]}\"'".contains(char);
        }
    }

    fn refusal(&self) -> Option<String> {
        let angles = self.angles > ANGLES || self.open_angles.len() > OPEN_ANGLES;
        if angles || self.brackets > DEEPEST || self.open > OPEN {
            return Some(TOO_DEEP.to_owned());
        }
        let text = || format!("the source has more than {MOST} brackets, operators and words");
        (self.all > MOST).then(text)
    }
}

/// Runs something on a stack of this size; `None` if there is no memory for it, or if it panicked.
pub fn on_stack<T: Send>(size: usize, run: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(size);
        thread.spawn_scoped(scope, run).ok()?.join().ok()
    })
}

/// Returns the first part of a program that is nested too deep.
pub fn too_deep(program: &Program<'_>) -> Option<Span> {
    let mut visitor = NestingVisitor::default();
    visitor.visit_program(program);
    visitor.found
}

#[derive(Default)]
struct NestingVisitor {
    depth: usize,
    found: Option<Span>,
}

impl<'a> Visit<'a> for NestingVisitor {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        self.depth += 1;
        if self.depth > DEEPEST {
            self.found.get_or_insert(kind.span());
        }
    }

    fn leave_node(&mut self, _: AstKind<'a>) {
        self.depth -= 1;
    }

    fn visit_expression(&mut self, it: &Expression<'a>) {
        if self.found.is_none() {
            walk::walk_expression(self, it);
        }
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if self.found.is_none() {
            walk::walk_statement(self, it);
        }
    }
}

/// A letter may be written as an escape.
fn is_word(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '$' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_sources_are_compiled() {
        let lines = "const a = b + c * (d - e)[f](g => g.h)\nfoo(`x ${y + `${z}`} w`, /[\"'(]/g, \"(((\", '[[[') // (((\n/* {{{ */ if (a) { b } else c\nlet s = 'it\\'s ('\n";
        let list = format!(
            "export default [{}]",
            "{ a: -1, b: [\"c\"], d: x.y.z },\n".repeat(50_000)
        );
        let minified =
            "function a(b,c){return b<c?d[b]:!c&&a(b+1,{e:c.f||\"g\",h:[]})}".repeat(20_000);
        for text in [
            lines.repeat(7_000),
            "call()\n".repeat(7_000),
            list,
            minified,
        ] {
            assert!(text.len() < 2 << 20);
            assert!(stack_size("a.ts", &text).is_ok(), "{text:.40}");
        }
    }

    #[test]
    fn whatever_nests_is_counted() {
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
            "\"a\"in",
            "do ",
            "new\u{a0}",
            "new\u{feff}",
            "`a`in",
            "keyof ",
            "class extends ",
            "[a].b",
            "await/**/",
            "\\u006eew ",
        ];
        for way in ways {
            let size = stack_size("a.ts", &way.repeat(7_000)).unwrap();
            assert!(size >= BASE + 6_999 * LEVEL, "{way}");
        }
        let angles = "a<{[".repeat(OPEN_ANGLES + 1);
        assert!(stack_size("a.ts", &angles).is_err());
        let lines = "f(\n".repeat(OPEN + 1);
        assert!(stack_size("a.ts", &lines).is_err());
        let (much, deep) = ("!".repeat(MOST + 1), "(".repeat(DEEPEST + 1));
        assert!(stack_size("a.ts", &much).is_err() && stack_size("a.ts", &deep).is_err());
    }
}
