//! `models/**.mod.yao`: tables of the app and of its agents.

mod column;
mod keys;
mod option;
mod relation;

pub use keys::ModelFile;

use super::loader::AppLoader;
use super::problem::{FileProblem, ItemsById, ProblemReport, Severity};
use super::read::{ConfigNode, ConfigValue, Setting};
use crate::model::definition::{TableColumn, TableIndex, TableModel};
use crate::model::system;
use ambit_storage::suggestion;
use keys::{ColumnSettings, IndexKind, IndexSettings, RelationSettings};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A model whose relations are not known yet.
struct ModelDraft {
    model: TableModel,
    relations: BTreeMap<String, RelationSettings>,
    node: ConfigNode,
}

/// Reads the models of the app and of the agents in these folders.
pub fn load(loader: &mut AppLoader, agents: &[(String, String)]) -> ItemsById<Arc<TableModel>> {
    let mut drafts = Vec::new();
    let mut broken = BTreeMap::new();
    let own = (String::new(), "models".to_owned());
    let agents = agents
        .iter()
        .map(|(id, folder)| (id.clone(), format!("{folder}/models")));
    for (agent, folder) in std::iter::once(own).chain(agents) {
        for (name, file) in loader.items(&folder, &[".mod.yao"]) {
            let place = ModelNames::new(&agent, &name);
            match file.and_then(|file| read(loader, &place, &file)) {
                Ok(draft) => drafts.push(draft),
                Err(problem) => drop(broken.insert(place.id, problem)),
            }
        }
    }
    drafts.extend(system::all().into_iter().map(|model| ModelDraft {
        model,
        relations: BTreeMap::new(),
        node: ConfigNode::nothing(),
    }));
    let linked = link(loader, drafts, &mut broken);
    let mut items: ItemsById<Arc<TableModel>> = linked
        .into_iter()
        .map(|model| (model.id.clone(), Ok(Arc::new(model))))
        .collect();
    items.extend(broken.into_iter().map(|(id, problem)| (id, Err(problem))));
    items
}

/// Where a model's file is: what that makes of its names.
struct ModelNames {
    id: String,
    /// What the table's name begins with.
    prefix: String,
    /// The table of a file that names none.
    table: String,
}

impl ModelNames {
    fn new(agent: &str, name: &str) -> Self {
        let plain = |text: &str| text.replace(['.', '-'], "_");
        let table = plain(name);
        match agent {
            "" => Self {
                id: name.to_owned(),
                prefix: String::new(),
                table,
            },
            agent => Self {
                id: format!("agents.{agent}.{name}"),
                prefix: format!("agents_{}_", plain(agent)),
                table,
            },
        }
    }
}

fn read(loader: &mut AppLoader, place: &ModelNames, file: &str) -> Result<ModelDraft, FileProblem> {
    let (source, node) = loader.value(file, &ModelFile::KIND)?;
    let read = ModelFile::read(source.clone()).unwrap_or_default();
    let mut report = ProblemReport::new(file);
    let mut model = model(place, &read, &node, &mut report);
    loader.take(report)?;
    model.file = file.to_owned();
    model.source = source;
    Ok(ModelDraft {
        model,
        relations: read.relations,
        node,
    })
}

fn model(
    place: &ModelNames,
    read: &ModelFile,
    node: &ConfigNode,
    report: &mut ProblemReport,
) -> TableModel {
    let at = |key: &str| node.position(key);
    if place.id.starts_with("__yao.") {
        let message = "names that begin with \"__yao.\" are not the app's; rename the file";
        report.error(node.at, message);
    }
    let name = match &read.table.name {
        Some(name) => format!("{}{name}", read.table.prefix),
        None => place.table.clone(),
    };
    let table = format!("{}{name}", place.prefix);
    let is_ours = ["__yao", "sqlite_", "ambit_"];
    if let Err(reason) = column::check_name(&table) {
        report.error(at("table"), format!("the table's {reason}"));
    } else if is_ours.iter().any(|prefix| table.starts_with(prefix)) {
        let message = format!("table \"{table}\": such names are not the app's");
        report.error(at("table"), message);
    }
    let mut model = TableModel {
        id: place.id.clone(),
        name: read.name.clone(),
        label: read.label.clone(),
        description: read.description.clone(),
        table,
        columns: columns(&read.columns, node, report),
        options: option::read(&read.option),
        ..TableModel::default()
    };
    option::add_columns(&mut model);
    model.indexes = indexes(&read.indexes, node, &model.columns, report);
    model.indexes.extend(option::own_index(&model));
    option::check(&model, node, report);
    model.values = values(&read.values, node, &model, report);
    model
}

fn columns(
    given: &[ColumnSettings],
    node: &ConfigNode,
    report: &mut ProblemReport,
) -> Vec<TableColumn> {
    let written = node.list("columns");
    let mut columns: Vec<TableColumn> = Vec::new();
    for (given, node) in given.iter().zip(written) {
        let Some(column) = column::read(given, node, report) else {
            continue;
        };
        let is_same = |other: &&TableColumn| other.name.eq_ignore_ascii_case(&column.name);
        if let Some(other) = columns.iter().find(is_same) {
            let message = format!("there is a column \"{}\" already", other.name);
            report.error(node.at, message);
        }
        let other = columns.iter().find(|other| other.is_primary);
        if let Some(other) = other.filter(|_| column.is_primary) {
            let message = format!(
                "column \"{}\" is the primary key already; a model has one",
                other.name
            );
            report.error(node.at, message);
        }
        columns.push(column);
    }
    if given.is_empty() {
        report.error(node.at, "\"columns\" must not be empty");
    }
    columns
}

fn indexes(
    given: &[IndexSettings],
    node: &ConfigNode,
    columns: &[TableColumn],
    report: &mut ProblemReport,
) -> Vec<TableIndex> {
    let written = node.list("indexes");
    let mut indexes: Vec<TableIndex> = Vec::new();
    for (given, node) in given.iter().zip(written) {
        let over = given.columns.clone();
        let name = given.name.clone().unwrap_or_else(|| over.join("_"));
        let kind = node.get("type").map(|kind| &kind.content);
        if given.kind.is_none() && kind.is_some_and(|kind| !matches!(kind, ConfigValue::Null)) {
            let message = format!("index \"{name}\" is left out: Ambit has no index of its type");
            report.push(loss_of(kind), node.at, message);
            continue;
        }
        let unknown = over
            .iter()
            .find(|name| !columns.iter().any(|it| it.name == **name));
        if let Some(unknown) = unknown {
            report.error(
                node.at,
                format!("index \"{name}\": there is no column \"{unknown}\""),
            );
        }
        if over.is_empty() {
            report.error(node.at, format!("index \"{name}\" has no columns"));
        }
        if indexes
            .iter()
            .any(|other| other.name.eq_ignore_ascii_case(&name))
        {
            report.error(node.at, format!("there is an index \"{name}\" already"));
        }
        indexes.push(TableIndex {
            name,
            columns: over,
            is_unique: given.kind == Some(IndexKind::Unique),
        });
    }
    indexes
}

/// How bad it is to leave out an index of such a type. Without one that was meant to be `unique`, rows are there twice.
fn loss_of(kind: Option<&ConfigValue>) -> Severity {
    match kind {
        Some(ConfigValue::Text(text)) if suggestion::nearest(text, ["unique"]).is_some() => {
            Severity::Error
        }
        _ => Severity::Warning,
    }
}

fn values(
    rows: &[Map<String, Value>],
    node: &ConfigNode,
    model: &TableModel,
    report: &mut ProblemReport,
) -> Vec<Map<String, Value>> {
    let written = node.list("values");
    for (row, node) in rows.iter().zip(written) {
        for (name, value) in row {
            let fault = match model.column(name) {
                None => Some("is no column".to_owned()),
                Some(column) => column.plain(value).err(),
            };
            if let Some(fault) = fault {
                report.error(node.position(name), format!("\"{name}\" {fault}"));
            }
        }
    }
    rows.to_vec()
}

/// Puts the relations in, and takes out what cannot be used.
fn link(
    loader: &mut AppLoader,
    drafts: Vec<ModelDraft>,
    broken: &mut BTreeMap<String, FileProblem>,
) -> Vec<TableModel> {
    let (relations, mut reports) = relation::link(&drafts, broken);
    same_tables(&drafts, &mut reports);
    let mut models: Vec<TableModel> = Vec::new();
    for ((draft, relations), report) in drafts.into_iter().zip(relations).zip(reports) {
        let mut model = draft.model;
        model.relations = relations;
        match loader.take(report) {
            Err(problem) => drop(broken.insert(model.id, problem)),
            Ok(()) => models.push(model),
        }
    }
    loop {
        let names: BTreeSet<String> = broken.keys().cloned().collect();
        let needy = relation::in_need(models.iter(), &names);
        if needy.is_empty() {
            return models;
        }
        for (id, needed) in needy {
            let Some(at) = models.iter().position(|model| model.id == id) else {
                continue;
            };
            let model = models.remove(at);
            let file = broken.get(&needed).map_or("", |problem| &problem.file);
            let message = format!("its related model \"{needed}\" cannot be used; see {file}");
            let problem = FileProblem::new(Severity::Error, &model.file, message);
            broken.insert(id, loader.refuse(problem));
        }
    }
}

/// Two models that would make the same table.
fn same_tables(drafts: &[ModelDraft], reports: &mut [ProblemReport]) {
    let mut tables: BTreeMap<String, &TableModel> = BTreeMap::new();
    let made = drafts.iter().zip(reports);
    for (draft, report) in made.filter(|(draft, _)| !draft.model.options.read_only) {
        let model = &draft.model;
        if let Some(other) = tables.insert(model.table.to_ascii_lowercase(), model) {
            let (table, file) = (&model.table, &other.file);
            let message = format!(
                "table \"{table}\" is that of {file} too; name another one, or set \"option.read_only\""
            );
            report.error(draft.node.at, message);
        }
    }
}
