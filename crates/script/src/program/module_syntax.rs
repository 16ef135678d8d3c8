//! What a file imports and exports, read from its syntax tree.

use oxc::ast::ast::{
    BindingIdentifier, BindingPattern, Declaration, ExportDefaultDeclarationKind, ExportSpecifier,
    Expression, ImportDeclarationSpecifier, ModuleExportName, ObjectPropertyKind, Program,
    PropertyKey, Statement,
};
use std::collections::{BTreeMap, BTreeSet};

/// The name under which a plain top-level function is exported, so that it can be called.
pub fn plain(function: &str) -> String {
    format!("$plain${function}")
}

/// An import of one file by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleImport {
    /// What is written between the quotes.
    pub specifier: String,
    /// The names that must exist there.
    pub names: Vec<String>,
    /// True for `import * as x`.
    pub whole: bool,
    /// Where it is written, as a byte.
    pub offset: usize,
}

impl ModuleImport {
    /// What is said where the file that is meant does not export one of the names.
    pub fn not_exported(&self, by: &str, name: &str, target: &str) -> String {
        let specifier = &self.specifier;
        format!("{by} imports {name} from \"{specifier}\", but {target} does not export it")
    }
}

/// What the default export may hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DefaultExport {
    /// There is none, or it has no members.
    #[default]
    Nothing,
    /// These members, and no others.
    Members(BTreeSet<String>),
    /// Whatever it computes.
    Anything,
}

impl DefaultExport {
    /// True if it has, or may have, a member of this name.
    pub fn may_have(&self, name: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Members(names) => names.contains(name),
            Self::Anything => true,
        }
    }

    pub fn members(&self) -> impl Iterator<Item = &String> {
        let known = match self {
            Self::Members(names) => Some(names),
            Self::Nothing | Self::Anything => None,
        };
        known.into_iter().flatten()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleExports {
    /// Names, types included before the transformation.
    pub names: BTreeSet<String>,
    /// Those of them that are types alone.
    pub types: BTreeSet<String>,
    /// Files whose exports are passed on.
    pub stars: Vec<String>,
    pub default: self::DefaultExport,
    /// Top-level functions.
    pub functions: BTreeSet<String>,
}

impl ModuleExports {
    /// Those of a JSON file.
    pub fn of_json() -> Self {
        Self {
            names: BTreeSet::from(["default".to_owned()]),
            ..Self::default()
        }
    }
}

pub fn exports(program: &Program<'_>) -> ModuleExports {
    let mut found = ModuleExports::default();
    for statement in &program.body {
        match statement {
            Statement::FunctionDeclaration(function) if function.body.is_some() => {
                found
                    .functions
                    .extend(function.id.iter().map(|id| id.name.to_string()));
            }
            Statement::ExportNamedDeclaration(export) => {
                found.names.extend(
                    export
                        .specifiers
                        .iter()
                        .map(|specifier| name(&specifier.exported)),
                );
            }
            Statement::ExportFromDeclaration(export) => {
                found.names.extend(
                    export
                        .specifiers
                        .iter()
                        .map(|specifier| name(&specifier.exported)),
                );
            }
            Statement::ExportDeclaration(export) => declared(&export.declaration, &mut found.names),
            Statement::ExportAllDeclaration(export) => match &export.exported {
                Some(exported) => {
                    found.names.insert(name(exported));
                }
                None => found.stars.push(export.source.value.to_string()),
            },
            Statement::ExportDefaultDeclaration(export) => {
                found.names.insert("default".to_owned());
                found.default = default(&export.declaration);
            }
            _ => {}
        }
    }
    if found.names.contains("default") && found.default == self::DefaultExport::Nothing {
        found.default = self::DefaultExport::Anything;
    }
    found
}

/// Where each function of a file may begin, as a byte: what it declares at the top or exports, and the members of its default
/// export. A name that is declared and listed is where it is declared.
pub fn places(program: &Program<'_>) -> BTreeMap<String, usize> {
    let (mut found, mut listed) = (BTreeMap::new(), Vec::new());
    for statement in &program.body {
        match statement {
            Statement::FunctionDeclaration(function) if function.body.is_some() => {
                found.extend(function.id.iter().map(place));
            }
            Statement::ExportDeclaration(export) => {
                found.extend(declared_places(&export.declaration));
            }
            Statement::ExportNamedDeclaration(export) => {
                listed.extend(export.specifiers.iter().map(listed_place));
            }
            Statement::ExportFromDeclaration(export) => {
                listed.extend(export.specifiers.iter().map(listed_place));
            }
            Statement::ExportDefaultDeclaration(export) => {
                listed.extend(member_places(&export.declaration));
            }
            _ => {}
        }
    }
    for (name, offset) in listed {
        found.entry(name).or_insert(offset);
    }
    found
}

fn place(id: &BindingIdentifier<'_>) -> (String, usize) {
    (id.name.to_string(), id.span.start as usize)
}

fn listed_place(specifier: &ExportSpecifier<'_>) -> (String, usize) {
    (name(&specifier.exported), specifier.span.start as usize)
}

fn declared_places(declaration: &Declaration<'_>) -> Vec<(String, usize)> {
    match declaration {
        Declaration::VariableDeclaration(variables) => {
            let declared = variables.declarations.iter();
            let ids = declared.flat_map(|it| it.id.get_binding_identifiers());
            ids.map(place).collect()
        }
        other => other.id().map(place).into_iter().collect(),
    }
}

/// Where the members of a default export that is an object begin.
fn member_places(kind: &ExportDefaultDeclarationKind<'_>) -> Vec<(String, usize)> {
    let Some(Expression::ObjectExpression(object)) = kind.as_expression() else {
        return Vec::new();
    };
    let members = object.properties.iter().filter_map(|property| {
        let ObjectPropertyKind::ObjectProperty(property) = property else {
            return None;
        };
        let name = match &property.key {
            PropertyKey::StaticIdentifier(id) => id.name.to_string(),
            PropertyKey::StringLiteral(text) => text.value.to_string(),
            _ => return None,
        };
        Some((name, property.span.start as usize))
    });
    members.collect()
}

fn default(kind: &ExportDefaultDeclarationKind<'_>) -> self::DefaultExport {
    let Some(Expression::ObjectExpression(object)) = kind.as_expression() else {
        return self::DefaultExport::Anything;
    };
    let mut names = BTreeSet::new();
    for property in &object.properties {
        match property {
            ObjectPropertyKind::ObjectProperty(property) => match &property.key {
                PropertyKey::StaticIdentifier(id) => {
                    names.insert(id.name.to_string());
                }
                PropertyKey::StringLiteral(text) => {
                    names.insert(text.value.to_string());
                }
                _ => return self::DefaultExport::Anything,
            },
            ObjectPropertyKind::SpreadProperty(_) => return self::DefaultExport::Anything,
        }
    }
    self::DefaultExport::Members(names)
}

fn declared(declaration: &Declaration<'_>, names: &mut BTreeSet<String>) {
    match declaration {
        Declaration::VariableDeclaration(variables) => {
            for variable in &variables.declarations {
                bound(&variable.id, names);
            }
        }
        other => names.extend(other.id().map(|id| id.name.to_string())),
    }
}

fn bound(pattern: &BindingPattern<'_>, names: &mut BTreeSet<String>) {
    names.extend(
        pattern
            .get_binding_identifiers()
            .iter()
            .map(|id| id.name.to_string()),
    );
}

fn name(exported: &ModuleExportName<'_>) -> String {
    exported.name().to_string()
}

/// What a file imports and passes on, without what it says to be types alone.
pub fn imports(program: &Program<'_>) -> Vec<ModuleImport> {
    program.body.iter().filter_map(import).collect()
}

fn import(statement: &Statement<'_>) -> Option<ModuleImport> {
    let made = |specifier: &str, start: u32, names: Vec<String>, whole: bool| ModuleImport {
        specifier: specifier.to_owned(),
        names,
        whole,
        offset: start as usize,
    };
    match statement {
        Statement::ImportDeclaration(import) if import.import_kind.is_value() => {
            let mut names = Vec::new();
            let mut whole = false;
            for specifier in import.specifiers.iter().flatten() {
                match specifier {
                    ImportDeclarationSpecifier::ImportSpecifier(one)
                        if one.import_kind.is_type() => {}
                    ImportDeclarationSpecifier::ImportSpecifier(one) => {
                        names.push(name(&one.imported));
                    }
                    ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => {
                        names.push("default".to_owned());
                    }
                    ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => whole = true,
                }
            }
            Some(made(&import.source.value, import.span.start, names, whole))
        }
        Statement::ExportFromDeclaration(export) if export.export_kind.is_value() => {
            let names = export
                .specifiers
                .iter()
                .filter(|specifier| specifier.export_kind.is_value())
                .map(|specifier| name(&specifier.local));
            Some(made(
                &export.source.value,
                export.span.start,
                names.collect(),
                false,
            ))
        }
        Statement::ExportAllDeclaration(export) if export.export_kind.is_value() => Some(made(
            &export.source.value,
            export.span.start,
            Vec::new(),
            true,
        )),
        _ => None,
    }
}
