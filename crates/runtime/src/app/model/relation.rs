//! How the models of an app hang together: names of related models made whole, their columns checked. What needs a broken
//! model is broken too.

use super::ModelDraft;
use super::keys::{RelationSettings, StepSettings};
use crate::app::problem::{FileProblem, ProblemReport};
use crate::app::read::{ConfigNode, FilePosition};
use crate::model::candidates;
use crate::model::definition::{ModelRelation, RelationKind, TableModel};
use ambit_storage::suggestion;
use std::collections::{BTreeMap, BTreeSet};

/// All models that could be read, and the ids of those that could not.
struct RelationResolver<'a> {
    drafts: BTreeMap<&'a str, &'a TableModel>,
    broken: &'a BTreeMap<String, FileProblem>,
}

/// The relations of each model, or why it cannot be used.
pub fn link(
    drafts: &[ModelDraft],
    broken: &BTreeMap<String, FileProblem>,
) -> (Vec<BTreeMap<String, ModelRelation>>, Vec<ProblemReport>) {
    let models = drafts.iter().map(|draft| &draft.model);
    let known = RelationResolver {
        drafts: models.map(|model| (model.id.as_str(), model)).collect(),
        broken,
    };
    let linked = drafts.iter().map(|draft| {
        let mut report = ProblemReport::new(&draft.model.file);
        (known.relations(draft, &mut report), report)
    });
    linked.unzip()
}

/// The models that cannot be used because one that they need cannot, and which that is.
pub fn in_need<'a>(
    models: impl Iterator<Item = &'a TableModel>,
    broken: &BTreeSet<String>,
) -> Vec<(String, String)> {
    let needy = models.filter_map(|model| {
        let needed = model.needs().find(|id| broken.contains(*id))?;
        Some((model.id.clone(), needed.to_owned()))
    });
    needy.collect()
}

impl RelationResolver<'_> {
    fn relations(
        &self,
        draft: &ModelDraft,
        report: &mut ProblemReport,
    ) -> BTreeMap<String, ModelRelation> {
        let nodes = draft.node.get("relations");
        let read = draft.relations.iter().filter_map(|(name, relation)| {
            let node = nodes.and_then(|nodes| nodes.get(name));
            let node = node.unwrap_or(&draft.node);
            if draft.model.column(name).is_some() {
                let message = format!("relation \"{name}\" has the name of a column");
                report.error(node.at, message);
            }
            match self.relation(&draft.model, relation, node) {
                Ok(relation) => Some((name.clone(), relation)),
                Err((at, message)) => {
                    report.error(at, format!("relation \"{name}\": {message}"));
                    None
                }
            }
        });
        read.collect()
    }

    fn relation(
        &self,
        model: &TableModel,
        given: &RelationSettings,
        node: &ConfigNode,
    ) -> Result<ModelRelation, (FilePosition, String)> {
        let kind = given.kind;
        let query = given.step.query.clone();
        if !matches!(
            kind,
            RelationKind::HasOneThrough | RelationKind::HasManyThrough
        ) {
            let link = self.step(model, model, &given.step, node)?;
            return Ok(ModelRelation { kind, ..link });
        }
        let written = node.list("links");
        let mut links: Vec<ModelRelation> = Vec::new();
        for (link, node) in given.links.iter().zip(written) {
            let before = links
                .last()
                .and_then(|link| self.drafts.get(link.model.as_str()));
            let before = before.copied().unwrap_or(model);
            let kind = link.kind.unwrap_or_default();
            let step = self.step(model, before, &link.step, node)?;
            links.push(ModelRelation { kind, ..step });
        }
        let Some(last) = links.last().cloned() else {
            return Err((
                node.at,
                "\"links\" is missing: the steps to the other model".to_owned(),
            ));
        };
        Ok(ModelRelation {
            kind,
            query,
            links,
            ..last
        })
    }

    /// One step from a model to another. Names of models are looked up beside the first one's model.
    fn step(
        &self,
        owner: &TableModel,
        from: &TableModel,
        given: &StepSettings,
        node: &ConfigNode,
    ) -> Result<ModelRelation, (FilePosition, String)> {
        let needed = |key: &str, given: &Option<String>| {
            let missing = || (node.at, format!("\"{key}\" is missing"));
            given.clone().ok_or_else(missing)
        };
        let name = needed("model", &given.model)?;
        let key = needed("key", &given.key)?;
        let foreign = needed("foreign", &given.foreign)?;
        let target = self
            .find(&name, &owner.id)
            .map_err(|message| (node.position("model"), message))?;
        // Yao also writes `model.column`.
        let plain = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        let (key, foreign) = (plain(&key), plain(&foreign));
        let column = |model: &TableModel, name: &str, field: &str| match model.column(name) {
            Some(_) => Ok(()),
            None => {
                let hint = suggestion::hint(name, model.columns.iter().map(|it| it.name.as_str()));
                let message = format!("model \"{}\" has no column \"{name}\"{hint}", model.id);
                Err((node.position(field), message))
            }
        };
        column(from, &foreign, "foreign")?;
        if let Some(target) = self.drafts.get(target.as_str()) {
            column(target, &key, "key")?;
        }
        Ok(ModelRelation {
            kind: RelationKind::default(),
            model: target,
            key,
            foreign,
            query: given.query.clone(),
            links: Vec::new(),
        })
    }

    /// The whole id of a model; a broken one is found too, and disables who needs it.
    fn find(&self, name: &str, near: &str) -> Result<String, String> {
        let is_known =
            |id: &String| self.drafts.contains_key(id.as_str()) || self.broken.contains_key(id);
        let found = candidates(name, near).find(is_known);
        found.ok_or_else(|| {
            let hint = suggestion::hint(name, self.drafts.keys().copied());
            format!("there is no model \"{name}\"{hint}")
        })
    }
}
