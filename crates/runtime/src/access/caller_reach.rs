//! What a caller may reach of collections and documents, by the same rules as all other data.

use crate::access::{Authorized, DataAccess, ResourceOwnership};
use ambit_knowledge::{Collection, CollectionShare, CollectionSource, Document, KnowledgeReach};
use serde_json::Value;

/// A caller's rights over knowledge.
#[derive(Clone, Debug)]
pub struct CallerReach {
    access: DataAccess,
    roles: Vec<String>,
}

impl CallerReach {
    /// What a caller's constraints leave.
    pub fn of(who: &Authorized) -> Self {
        Self {
            access: DataAccess::of(who),
            roles: who.roles(),
        }
    }

    fn is_creator(&self, created_by: Option<&str>) -> bool {
        self.access.user().is_some() && self.access.user() == created_by
    }
}

impl Authorized {
    /// Their roles: the claim `roles`, a list, or a text that names them.
    pub fn roles(&self) -> Vec<String> {
        match self.claims.get("roles") {
            Some(Value::String(text)) => Self::role_names(text),
            Some(Value::Array(items)) => {
                let names = items.iter().filter_map(Value::as_str);
                let names = names.filter(|name| !name.is_empty());
                names.map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The roles that a text names, separated by spaces or commas.
    pub fn role_names(text: &str) -> Vec<String> {
        let names = text.split([' ', ',']).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }
}

impl KnowledgeReach for CallerReach {
    fn tenant(&self) -> &str {
        self.access.tenant()
    }

    fn user(&self) -> Option<&str> {
        self.access.user()
    }

    fn team(&self) -> Option<&str> {
        self.access.member_of()
    }

    fn may_use(&self, collection: &Collection) -> bool {
        let tenant = self.access.tenant();
        self.access.may_use(&ResourceOwnership {
            tenant: (collection.source == CollectionSource::Api).then_some(tenant),
            owner: collection.created_by.as_deref(),
            team: collection.team_id.as_deref(),
            is_public: collection.public,
            is_shared: collection.share == CollectionShare::Team,
        })
    }

    fn may_change(&self, collection: &Collection) -> bool {
        let is_own = self.is_creator(collection.created_by.as_deref());
        collection.source == CollectionSource::Api && (self.access.is_whole() || is_own)
    }

    fn may_read(&self, document: &Document) -> bool {
        let Some(access) = &document.access else {
            return true;
        };
        let is_named = |names: &[String], own: Option<&str>| {
            own.is_some_and(|own| names.iter().any(|name| name == own))
        };
        let mut roles = self.roles.iter();
        self.access.is_whole()
            || self.is_creator(document.created_by.as_deref())
            || is_named(&access.users, self.user())
            || is_named(&access.teams, self.team())
            || (self.user().is_some() && roles.any(|role| access.roles.contains(role)))
    }
}

#[cfg(test)]
mod tests {
    use super::CallerReach;
    use crate::access::Authorized;
    use ambit_knowledge::{Collection, Document, KnowledgeReach};
    use serde_json::{Value, json};

    fn reach(who: Value) -> CallerReach {
        CallerReach::of(&serde_json::from_value::<Authorized>(who).unwrap())
    }

    /// A collection of ann's in the team red, with these changes.
    fn collection(changes: Value) -> Collection {
        let mut fields = json!({
            "collection_id": "c", "name": "c", "description": "", "public": false, "share": "private", "source": "api",
            "language": "auto", "chunk": {"size": 300, "overlap": 50}, "embedding": null, "keep": "text", "version": 1,
            "reindex": null, "documents": 0, "chunks": 0, "bytes": 0, "failed": 0, "status": "ready", "metadata": {},
            "created_by": "ann", "team_id": "red", "created_at": 0, "updated_at": 0,
        });
        merge(&mut fields, changes);
        serde_json::from_value(fields).unwrap()
    }

    fn document(access: &Value) -> Document {
        let fields = json!({
            "document_id": "d", "collection_id": "c", "name": "d", "title": "d", "type": null, "media_type": null,
            "bytes": 0, "hash": "", "status": "ready", "error": null, "warnings": [], "job_id": null, "done": 0,
            "total": 0, "chunks": 0, "pages": null, "language": null, "url": null, "metadata": {}, "access": access,
            "created_by": "ann", "created_at": 0, "updated_at": 0, "indexed_at": null,
        });
        serde_json::from_value(fields).unwrap()
    }

    fn merge(fields: &mut Value, changes: Value) {
        if let (Value::Object(fields), Value::Object(changes)) = (fields, changes) {
            fields.extend(changes);
        }
    }

    #[test]
    fn collections_are_used_and_changed_as_the_table_says() {
        let own = json!({"owner_only": true});
        let ann = json!({"user_id": "ann", "constraints": own});
        let mate = json!({"user_id": "bob", "team_id": "red", "constraints": {"team_only": true}});
        let other = json!({"user_id": "cid", "constraints": own});
        let whole = json!({"user_id": "root"});
        let nobody = json!({});
        let callers = [ann, mate, other, whole, nobody];
        for (changes, used, changed) in [
            (
                json!({}),
                [true, false, false, true, false],
                [true, false, false, true, false],
            ),
            (
                json!({"share": "team"}),
                [true, true, false, true, false],
                [true, false, false, true, false],
            ),
            (
                json!({"public": true}),
                [true; 5],
                [true, false, false, true, false],
            ),
            (
                json!({"source": "file", "created_by": null, "team_id": null}),
                [false, false, false, true, false],
                [false; 5],
            ),
            (
                json!({"source": "file", "created_by": null, "team_id": null, "public": true}),
                [true; 5],
                [false; 5],
            ),
        ] {
            let collection = collection(changes.clone());
            let reaches = callers.clone().map(reach);
            assert_eq!(
                reaches.each_ref().map(|it| it.may_use(&collection)),
                used,
                "{changes}"
            );
            assert_eq!(
                reaches.each_ref().map(|it| it.may_change(&collection)),
                changed,
                "{changes}"
            );
        }
    }

    #[test]
    fn a_document_with_access_is_read_by_those_it_names() {
        let limited = |who: Value| {
            let mut all = json!({"constraints": {"creator_only": true}});
            merge(&mut all, who);
            reach(all)
        };
        let callers = [
            limited(json!({"user_id": "ann"})),
            limited(json!({"user_id": "bob"})),
            limited(json!({"user_id": "cid", "team_id": "red"})),
            limited(json!({"user_id": "dan", "roles": ["editor"]})),
            limited(json!({"roles": ["editor"], "team_id": "red"})),
            reach(json!({"user_id": "root"})),
        ];
        for (access, expected) in [
            (json!(null), [true; 6]),
            (json!({}), [true, false, false, false, false, true]),
            (
                json!({"users": ["bob"]}),
                [true, true, false, false, false, true],
            ),
            (
                json!({"teams": ["red"]}),
                [true, false, true, false, false, true],
            ),
            (
                json!({"roles": ["editor"]}),
                [true, false, false, true, false, true],
            ),
        ] {
            let document = document(&access);
            assert_eq!(
                callers.each_ref().map(|it| it.may_read(&document)),
                expected,
                "{access}"
            );
        }
    }

    #[test]
    fn roles_are_a_list_or_a_text() {
        for roles in [
            json!(["viewer", "editor"]),
            json!("viewer editor"),
            json!("viewer, editor"),
        ] {
            let limits = json!({"creator_only": true});
            let caller = reach(json!({"user_id": "dan", "roles": roles, "constraints": limits}));
            for (named, expected) in [("editor", true), ("viewer editor", false), ("", false)] {
                let document = document(&json!({"roles": [named]}));
                assert_eq!(caller.may_read(&document), expected, "{roles} {named}");
            }
        }
    }
}
