//! `options.fallback`: which connectors stand in for one, and what can be wrong with such a list.

use crate::app::Connector;
use crate::app::loader::AppLoader;
use crate::app::problem::{ItemsById, ProblemReport, Severity};
use crate::app::read::node::{ConfigNode, ConfigValue, FilePosition};
use crate::llm::connector::MODELS;
use ambit_storage::suggestion;
use std::collections::{BTreeSet, VecDeque};

/// Where a connector names the ones that stand in for it.
pub struct FallbackList {
    id: String,
    file: String,
    /// The entries as they are written: what a variable stands for may be a secret.
    written: Vec<(FilePosition, String)>,
}

impl FallbackList {
    /// The list of a file, if it has one.
    pub fn of(id: &str, file: &str, node: &ConfigNode) -> Option<Self> {
        let items = node.get("options")?.get("fallback")?.items();
        let written = items.iter().map(|item| match &item.content {
            ConfigValue::Text(text) => (item.at, text.clone()),
            _ => (item.at, String::new()),
        });
        Some(Self {
            id: id.to_owned(),
            file: file.to_owned(),
            written: written.collect(),
        })
    }
}

/// Judges all lists. A wrong one disables its connector. A connector that cannot be used is left out of the others' lists:
/// what it stands in for works without it.
pub fn check_lists(
    loader: &mut AppLoader,
    found: &mut ItemsById<Connector>,
    lists: &[FallbackList],
) {
    let mut disabled = Vec::new();
    for list in lists {
        let mut report = ProblemReport::new(&list.file);
        for entry in entries(found, list) {
            if let Some(why) = entry_fault(found, &list.id, &entry) {
                let place = entry.place;
                report.error(entry.spot, format!("\"options.fallback[{place}]\" {why}"));
            }
        }
        let wrong = loader.take(report).err();
        disabled.extend(wrong.map(|problem| (list.id.clone(), Err(problem))));
    }
    found.extend(disabled);
    for list in lists {
        leave_out(loader, found, list);
    }
}

/// Takes what cannot be used out of a list.
fn leave_out(loader: &mut AppLoader, found: &mut ItemsById<Connector>, list: &FallbackList) {
    let mut report = ProblemReport::new(&list.file);
    let mut broken = BTreeSet::new();
    for entry in entries(found, list) {
        if found.get(entry.named).is_some_and(Result::is_err) {
            let (place, written) = (entry.place, entry.written);
            let why = format!("is left out: connector \"{written}\" cannot be used");
            let message = format!("\"options.fallback[{place}]\" {why}");
            report.push(Severity::Warning, entry.spot, message);
            broken.insert(entry.named.clone());
        }
    }
    loader.problems.append(&mut report.problems);
    if let Some(Ok(connector)) = found.get_mut(&list.id) {
        connector.fallback.retain(|named| !broken.contains(named));
    }
}

/// One entry of a list.
struct FallbackEntry<'a> {
    place: usize,
    spot: FilePosition,
    written: &'a str,
    named: &'a String,
}

fn entries<'a>(
    found: &'a ItemsById<Connector>,
    list: &'a FallbackList,
) -> impl Iterator<Item = FallbackEntry<'a>> {
    let named = fallbacks_of(found, &list.id).iter().zip(&list.written);
    let numbered = named.enumerate();
    numbered.map(|(place, (named, (spot, written)))| FallbackEntry {
        place,
        spot: *spot,
        written,
        named,
    })
}

/// The list of a connector.
fn fallbacks_of<'a>(found: &'a ItemsById<Connector>, id: &str) -> &'a [String] {
    match found.get(id) {
        Some(Ok(connector)) => &connector.fallback,
        _ => &[],
    }
}

/// Why this one cannot be in the list of that connector.
fn entry_fault(
    found: &ItemsById<Connector>,
    id: &str,
    entry: &FallbackEntry<'_>,
) -> Option<String> {
    let (named, written) = (entry.named.as_str(), entry.written);
    if named == id {
        return Some("names its own connector, which cannot stand in for itself".to_owned());
    }
    let Some(other) = found.get(named) else {
        let others = found.keys().map(String::as_str);
        let hint = suggestion::hint(named, others.filter(|known| *known != id));
        let what = format!("names \"{written}\", and there is no such connector{hint}");
        return Some(what);
    };
    let kind = other.as_ref().ok().map(|other| other.kind.as_str());
    if let Some(kind) = kind.filter(|kind| !MODELS.contains(kind)) {
        let models = MODELS.join(", ");
        return Some(format!(
            "names \"{written}\", which is no model: its type is \"{kind}\" and not one of {models}"
        ));
    }
    let way = shortest_path(found, named, id)?.join(" → ");
    Some(format!(
        "leads back to its own connector: {id} → {way}; take one of them out of its list"
    ))
}

/// The shortest way from one connector to another over their lists.
fn shortest_path<'a>(
    found: &'a ItemsById<Connector>,
    from: &'a str,
    to: &str,
) -> Option<Vec<&'a str>> {
    let mut seen = BTreeSet::from([from]);
    let mut ways = VecDeque::from([vec![from]]);
    while let Some(way) = ways.pop_front() {
        let last = way.last().copied()?;
        if last == to {
            return Some(way);
        }
        for next in fallbacks_of(found, last) {
            if seen.insert(next) {
                ways.push_back(way.iter().copied().chain([next.as_str()]).collect());
            }
        }
    }
    None
}
