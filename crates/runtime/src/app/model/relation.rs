//! How the models of an app hang together: names of related models made whole, their columns checked. What needs a broken
//! model is broken too.

use super::ModelDraft;
use crate::app::problem::{FileProblem, ProblemReport};
use crate::app::read::{ConfigNode, FieldMap, FilePosition};
use crate::model::candidates;
use crate::model::definition::{ModelRelation, RelationKind, TableModel};
use ambit_storage::suggestion;
use serde_json::Value;
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
        let Some(Value::Object(written)) = draft.model.source.get("relations") else {
            return BTreeMap::new();
        };
        let nodes = draft.node.get("relations");
        let read = written.iter().filter_map(|(name, relation)| {
            let node = nodes.and_then(|nodes| nodes.get(name));
            let node = node.unwrap_or(&draft.node);
            if draft.model.column(name).is_some() {
                let message = format!("relation \"{name}\" has the name of a column");
                report.error(node.at, message);
            }
            let fields = FieldMap(relation.as_object()?.clone());
            let read = self.relation(&draft.model, &fields, node);
            match read {
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
        fields: &FieldMap,
        node: &ConfigNode,
    ) -> Result<ModelRelation, (FilePosition, String)> {
        let kind = kind(&fields.text("type"));
        let query = fields.0.get("query").cloned();
        if !matches!(
            kind,
            RelationKind::HasOneThrough | RelationKind::HasManyThrough
        ) {
            let link = self.step((model, model), fields, node)?;
            return Ok(ModelRelation { query, ..link });
        }
        let written = node.get("links").map_or(&[][..], |node| node.items());
        let mut links: Vec<ModelRelation> = Vec::new();
        for (link, node) in fields.list("links").iter().zip(written) {
            let link = FieldMap(link.as_object().cloned().unwrap_or_default());
            let before = links
                .last()
                .and_then(|link| self.drafts.get(link.model.as_str()));
            let before = before.copied().unwrap_or(model);
            let mut step = self.step((model, before), &link, node)?;
            step.query = link.0.get("query").cloned();
            links.push(step);
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
        (owner, from): (&TableModel, &TableModel),
        fields: &FieldMap,
        node: &ConfigNode,
    ) -> Result<ModelRelation, (FilePosition, String)> {
        let at = |key: &str| node.get(key).map_or(node.at, |node| node.at);
        let needed = |key: &'static str| {
            let missing = || (node.at, format!("\"{key}\" is missing"));
            fields.optional(key).ok_or_else(missing)
        };
        let (name, key, foreign) = (needed("model")?, needed("key")?, needed("foreign")?);
        let target = self
            .find(&name, &owner.id)
            .map_err(|message| (at("model"), message))?;
        // Yao also writes `model.column`.
        let plain = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        let (key, foreign) = (plain(&key), plain(&foreign));
        let column = |model: &TableModel, name: &str, field: &str| match model.column(name) {
            Some(_) => Ok(()),
            None => {
                let hint = suggestion::hint(name, model.columns.iter().map(|it| it.name.as_str()));
                let message = format!("model \"{}\" has no column \"{name}\"{hint}", model.id);
                Err((at(field), message))
            }
        };
        column(from, &foreign, "foreign")?;
        if let Some(target) = self.drafts.get(target.as_str()) {
            column(target, &key, "key")?;
        }
        Ok(ModelRelation {
            kind: kind(&fields.text("type")),
            model: target,
            key,
            foreign,
            query: None,
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

fn kind(name: &str) -> RelationKind {
    match name {
        "hasMany" => RelationKind::HasMany,
        "hasOneThrough" => RelationKind::HasOneThrough,
        "hasManyThrough" => RelationKind::HasManyThrough,
        "belongsTo" => RelationKind::BelongsTo,
        _ => RelationKind::HasOne,
    }
}
