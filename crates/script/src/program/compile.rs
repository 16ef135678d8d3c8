//! One file: from TypeScript to what the engine runs.

use super::diagnostics::{SourcePlaces, first_error, locate};
use super::erased_imports;
use super::module_syntax::{self, DefaultExport, ModuleExports, ModuleImport};
use super::nesting;
use super::source_map::{MappedPosition, SourceMap};
use crate::bare::Bytecode;
use crate::error::{LoadError, SourceLocation};
use oxc::allocator::Allocator;
use oxc::ast::ast::{
    ArrowFunctionExpression, AwaitExpression, Decorator, Expression, ForOfStatement, Function,
    ImportExpression, Program,
};
use oxc::ast_visit::{Visit, walk};
use oxc::codegen::{Codegen, CodegenOptions};
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::{SourceType, Span};
use oxc::syntax::scope::ScopeFlags;
use oxc::transformer::{TransformOptions, Transformer};
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::{Context, Ctx, Exception, Runtime};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

pub struct CompiledModule {
    pub path: String,
    /// The source.
    pub text: String,
    /// What the engine runs.
    pub code: Bytecode,
    /// From there back to the source.
    pub map: SourceMap,
    pub imports: Vec<(ModuleImport, SourceLocation)>,
    /// What was dropped of its imports.
    pub erased: Vec<(ModuleImport, SourceLocation)>,
    pub exports: BTreeSet<String>,
    /// Those of them that are types alone.
    pub types: BTreeSet<String>,
    /// Files whose exports it passes on.
    pub stars: Vec<String>,
    /// Top-level functions that it does not export.
    pub plain: BTreeSet<String>,
    pub default: DefaultExport,
    /// The line of the source, from 1, on which each function that it names begins.
    pub lines: BTreeMap<String, u32>,
}

/// Bytes that the engine may use to compile a program. Two megabytes of source take a tenth of it.
const MEMORY: usize = 256 << 20;

/// Compiles files; keeps one engine for all of them.
pub struct ModuleCompiler {
    context: Context,
}

/// JavaScript and what is known about it.
struct TranspiledScript {
    code: String,
    map: SourceMap,
    imports: Vec<ModuleImport>,
    /// What was dropped of them.
    erased: Vec<ModuleImport>,
    exports: ModuleExports,
    /// Where each function that it names begins in the source, as a byte.
    places: BTreeMap<String, usize>,
}

impl ModuleCompiler {
    pub fn new() -> Result<Self, LoadError> {
        let context = Runtime::new().and_then(|runtime| {
            // Source nested deeper than a script may call is refused by the engine's own check.
            runtime.set_max_stack_size(8 << 20);
            runtime.set_memory_limit(MEMORY);
            runtime.set_loader(EmptyLoader, EmptyLoader);
            Context::full(&runtime)
        });
        let context = context
            .map_err(|error| failure(None, format!("the script engine does not start: {error}")))?;
        Ok(Self { context })
    }

    pub fn compile(&self, path: &str, text: &str) -> Result<CompiledModule, LoadError> {
        let script = if Path::new(path).extension().is_some_and(|end| end == "json") {
            data(path, text)?
        } else {
            let size = nesting::stack_size(path, text)?;
            let transpiled = nesting::on_stack(size, || transpile(path, text));
            let why = "the TypeScript compiler failed, or there is no memory for its stack";
            let failed = || failure(Some(path), format!("{why} of {} MiB", size >> 20));
            transpiled.ok_or_else(failed)??
        };
        let code = self.bytecode(path, &script.code)?;
        let places = SourcePlaces::new(path, text);
        let placed = |import: ModuleImport| {
            let at = places.locate(import.offset);
            (import, at)
        };
        let exported = &script.exports.names;
        let plain = script.exports.functions.difference(exported).cloned();
        let named = script.places.into_iter();
        let lines = named.map(|(name, offset)| (name, places.locate(offset).line));
        Ok(CompiledModule {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
            map: script.map,
            plain: plain.collect(),
            lines: lines.collect(),
            imports: script.imports.into_iter().map(placed).collect(),
            erased: script.erased.into_iter().map(placed).collect(),
            stars: script.exports.stars,
            default: script.exports.default,
            exports: script.exports.names,
            types: script.exports.types,
        })
    }

    fn bytecode(&self, path: &str, code: &str) -> Result<Bytecode, LoadError> {
        self.context.with(|ctx| {
            let declared = rquickjs::Module::declare(ctx.clone(), path, code);
            declared
                .and_then(|module| Bytecode::of(&module))
                .map_err(|error| {
                    let caught = ctx.catch();
                    let exception = caught.into_object().and_then(Exception::from_object);
                    let message = exception.and_then(|exception| exception.message());
                    failure(Some(path), message.unwrap_or_else(|| error.to_string()))
                })
        })
    }
}

/// The engine asks for imported files when it compiles; what is in them matters only when the program is linked.
struct EmptyLoader;

impl Resolver for EmptyLoader {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        _: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        Ok(format!("ambit:import:{name}"))
    }
}

impl Loader for EmptyLoader {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<DeclaredModule<'js>> {
        rquickjs::Module::declare(ctx.clone(), name, "")
    }
}

type DeclaredModule<'js> = rquickjs::Module<'js, rquickjs::module::Declared>;

fn failure(path: Option<&str>, message: String) -> LoadError {
    let at = path.map(|path| SourceLocation {
        file: path.to_owned(),
        line: 1,
        column: 1,
    });
    LoadError { at, message }
}

/// A JSON file as a module whose default export is its value.
fn data(path: &str, text: &str) -> Result<TranspiledScript, LoadError> {
    let text = text.trim_start_matches('\u{feff}');
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| LoadError {
        at: Some(SourceLocation {
            file: path.to_owned(),
            line: u32::try_from(error.line()).unwrap_or(1),
            column: u32::try_from(error.column()).unwrap_or(1),
        }),
        message: format!("not JSON: {error}"),
    })?;
    let literal = serde_json::Value::String(value.to_string()).to_string();
    Ok(TranspiledScript {
        code: format!("export default JSON.parse({literal});"),
        map: SourceMap::default(),
        imports: Vec::new(),
        erased: Vec::new(),
        exports: ModuleExports::of_json(),
        places: BTreeMap::new(),
    })
}

/// TypeScript, or JavaScript, to JavaScript.
fn transpile(path: &str, text: &str) -> Result<TranspiledScript, LoadError> {
    let file = Path::new(path);
    // The built-in modules have no ending.
    let kind = match file.extension() {
        Some(_) => {
            SourceType::from_path(file).map_err(|error| failure(Some(path), error.to_string()))?
        }
        None => SourceType::mjs(),
    };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind.with_module(true)).parse();
    refuse(path, text, parsed.diagnostics.errors())?;
    let mut program = parsed.program;
    if let Some(span) = nesting::too_deep(&program) {
        let at = Some(locate(path, text, span.start as usize));
        let message = nesting::TOO_DEEP.to_owned();
        return Err(LoadError { at, message });
    }
    let semantic = SemanticBuilder::new()
        .with_excess_capacity(2.0)
        .with_enum_eval(true)
        .with_check_syntax_error(true)
        .build(&program);
    refuse(path, text, semantic.diagnostics.errors())?;
    let mut refused = SyntaxVisitor::default();
    refused.visit_program(&program);
    if let Some((span, message)) = refused.found {
        let at = Some(locate(path, text, span.start as usize));
        let message = message.to_owned();
        return Err(LoadError { at, message });
    }
    let before = module_syntax::exports(&program);
    let written = module_syntax::imports(&program);
    let places = module_syntax::places(&program);
    let scoping = semantic.semantic.into_scoping();
    let transformed = Transformer::new(&allocator, file, &TransformOptions::default())
        .build_with_scoping(scoping, &mut program);
    refuse(path, text, transformed.diagnostics.errors())?;
    let mut exports = module_syntax::exports(&program);
    let mut imports = module_syntax::imports(&program);
    let erased = erased_imports::dropped(written, &imports);
    imports.extend(refused.imports);
    let (mut code, map) = generate(file, text, &program);
    append(&mut code, &before, &mut exports);
    Ok(TranspiledScript {
        code,
        map,
        imports,
        erased,
        exports,
        places,
    })
}

fn refuse<'d>(
    path: &str,
    text: &str,
    errors: impl IntoIterator<Item = &'d oxc::diagnostics::OxcDiagnostic>,
) -> Result<(), LoadError> {
    first_error(path, text, errors).map_or(Ok(()), Err)
}

fn generate(file: &Path, text: &str, program: &Program<'_>) -> (String, SourceMap) {
    let options = CodegenOptions {
        source_map_path: Some(file.to_path_buf()),
        ..CodegenOptions::default()
    };
    let made = Codegen::new()
        .with_options(options)
        .with_source_text(text)
        .build(program);
    let places = made.map.iter().flat_map(|map| {
        map.get_tokens().map(|token| MappedPosition {
            code: (token.get_dst_line(), token.get_dst_col()),
            source: (token.get_src_line(), token.get_src_col()),
        })
    });
    (made.code.clone(), SourceMap::new(places.collect()))
}

/// Exports plain top-level functions under names of their own, and gives the names of types a value: another file may pass
/// them on without saying that they are types.
fn append(code: &mut String, before: &ModuleExports, exports: &mut ModuleExports) {
    let mut tail = String::new();
    for function in exports.functions.difference(&exports.names) {
        let _ = write!(tail, "{function} as {}, ", module_syntax::plain(function));
    }
    let types: BTreeSet<String> = before.names.difference(&exports.names).cloned().collect();
    for name in &types {
        let _ = write!(tail, "$type as {name}, ");
    }
    if !types.is_empty() {
        code.push_str("\nconst $type = undefined;");
    }
    if !tail.is_empty() {
        let _ = write!(code, "\nexport {{ {} }};\n", tail.trim_end_matches(", "));
    }
    exports.names.extend(types.iter().cloned());
    exports.types = types;
}

/// Finds what is not supported, and imports that are made while running.
#[derive(Default)]
struct SyntaxVisitor {
    depth: usize,
    found: Option<(Span, &'static str)>,
    imports: Vec<ModuleImport>,
}

impl SyntaxVisitor {
    fn refuse(&mut self, span: Span, message: &'static str) {
        self.found.get_or_insert((span, message));
    }

    fn top_level_await(&mut self, span: Span) {
        if self.depth == 0 {
            self.refuse(span, "`await` is only possible inside an async function");
        }
    }
}

impl<'a> Visit<'a> for SyntaxVisitor {
    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        self.depth += 1;
        walk::walk_function(self, it, flags);
        self.depth -= 1;
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        self.depth += 1;
        walk::walk_arrow_function_expression(self, it);
        self.depth -= 1;
    }

    fn visit_await_expression(&mut self, it: &AwaitExpression<'a>) {
        self.top_level_await(it.span);
        walk::walk_await_expression(self, it);
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        if it.r#await {
            self.top_level_await(it.span);
        }
        walk::walk_for_of_statement(self, it);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "decorators are not supported");
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        if let Expression::StringLiteral(source) = &it.source {
            self.imports.push(ModuleImport {
                specifier: source.value.to_string(),
                names: Vec::new(),
                whole: true,
                offset: it.span.start as usize,
            });
        }
        walk::walk_import_expression(self, it);
    }
}
