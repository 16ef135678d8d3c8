//! Models and rows as those see them who look after data: nothing that is encrypted, and nothing that is not theirs.

use crate::bed::{Bed, Place, person, who, with};
use ambit_runtime::inspect::data::{DataPage, DataView};
use ambit_runtime::model::database::AccessMode;
use ambit_runtime::{Authorized, Error, ErrorCode};
use serde_json::{Map, Value, json};

const CARD: (&str, &str) = (
    "models/card.mod.yao",
    r#"{
        "columns": [
            {"name": "id", "type": "ID"},
            {"name": "number", "type": "string", "crypt": "AES"},
            {"name": "pin", "type": "string", "length": 8, "crypt": "PASSWORD", "nullable": true},
            {"name": "owner_id", "type": "integer", "nullable": true},
        ],
        "relations": {"same": {"type": "hasMany", "model": "card", "key": "number", "foreign": "number"}},
    }"#,
);
const OWNER: (&str, &str) = (
    "models/owner.mod.yao",
    r#"{
        "columns": [{"name": "id", "type": "ID"}, {"name": "name", "type": "string"}],
        "relations": {"cards": {"type": "hasMany", "model": "card", "key": "owner_id", "foreign": "id"}},
    }"#,
);
/// Leads to cards in three ways, and to other deeds.
const DEED: (&str, &str) = (
    "models/deed.mod.yao",
    r#"{
        "label": "Deeds",
        "columns": [{"name": "id", "type": "ID"}, {"name": "text", "type": "string"}, {"name": "of", "type": "integer", "nullable": true}],
        "relations": {
            "cards": {"type": "hasMany", "model": "card", "key": "owner_id", "foreign": "id"},
            "annexes": {"type": "hasMany", "model": "deed", "key": "of", "foreign": "id"},
            "through": {"type": "hasManyThrough", "links": [
                {"type": "hasMany", "model": "deed", "key": "of", "foreign": "id"},
                {"type": "hasMany", "model": "card", "key": "owner_id", "foreign": "id"},
            ]},
            "with_cards": {"type": "hasMany", "model": "deed", "key": "of", "foreign": "id", "query": {"withs": {"cards": {}}}},
        },
        "option": {"permission": {"extra": {"region": "text", "ignored": false}}},
    }"#,
);

/// A page as somebody sees it.
async fn page(bed: &Bed, who: &Authorized, id: &str, asked: &Value) -> Result<DataPage, Error> {
    let asked: Map<String, Value> = asked.as_object().unwrap().clone();
    DataView::new(&bed.models, who).query(id, asked).await
}

/// Its rows.
async fn rows(bed: &Bed, who: &Authorized, id: &str, asked: &Value) -> Value {
    json!(page(bed, who, id, asked).await.unwrap().data)
}

async fn one_card(bed: &Bed) {
    bed.call("owner.Create", json!([{"name": "Ann"}])).await;
    let card = json!({"number": "4111", "pin": "1234", "owner_id": 1});
    assert_eq!(bed.call("card.Create", json!([card])).await, json!(1));
}

#[tokio::test]
async fn what_is_encrypted_is_hidden_in_rows_and_in_what_is_loaded_with_them() {
    with(&[CARD, OWNER], async |bed| {
        one_card(bed).await;
        let ann = person("ann");
        let hidden = json!({"hidden": true});
        let card = json!({"id": 1, "number": hidden, "pin": hidden, "owner_id": 1});
        let found = page(bed, &ann, "card", &json!({})).await.unwrap();
        assert_eq!(json!(found.data), json!([card]));
        assert_eq!((found.total, found.limited_by), (1, Vec::new()));
        let cards = json!([{"id": 1, "number": hidden, "owner_id": 1}]);
        let owner = json!({"id": 1, "name": "Ann", "cards": cards});
        let asked = json!({"withs": {"cards": {}}});
        assert_eq!(rows(bed, &ann, "owner", &asked).await, json!([owner]));
        let asked = json!({"select": ["number"], "withs": {"same": {}}});
        let card = json!([{"number": hidden, "same": hidden}]);
        assert_eq!(rows(bed, &ann, "card", &asked).await, card);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_decrypted_that_is_hidden() {
    with(&[CARD, OWNER], async |bed| {
        one_card(bed).await;
        let mut writing = bed
            .models
            .database()
            .begin(AccessMode::Write)
            .await
            .unwrap();
        let damage = "UPDATE \"card\" SET \"number\" = 'no key opens this'".to_owned();
        assert_eq!(writing.run(damage.into()).await.unwrap(), 1);
        writing.commit().await.unwrap();
        assert_eq!(bed.call("card.Get", json!([{}])).await[0], json!("corrupt"));
        let asked = json!({"select": ["id", "number"]});
        let card = json!([{"id": 1, "number": {"hidden": true}}]);
        assert_eq!(rows(bed, &person("ann"), "card", &asked).await, card);
    })
    .await;
}

#[tokio::test]
async fn no_condition_tells_what_is_hidden() {
    with(&[CARD, OWNER], async |bed| {
        one_card(bed).await;
        let is = json!({"column": "number", "value": "4111"});
        let empty = json!({"column": "number", "op": "null"});
        let group = json!({"wheres": [is]});
        let related = json!({"rel": "cards", "column": "number", "value": "4111"});
        for (id, asked) in [
            ("card", json!({"wheres": [is]})),
            ("card", json!({"wheres": [empty]})),
            (
                "card",
                json!({"wheres": [{"column": "id", "value": 1}, group]}),
            ),
            ("owner", json!({"wheres": [related]})),
            (
                "owner",
                json!({"withs": {"cards": {"query": {"wheres": [is]}}}}),
            ),
        ] {
            let error = page(bed, &person("ann"), id, &asked).await.unwrap_err();
            let told = (error.code, error.param.as_deref());
            let expected = (ErrorCode::InvalidArgument, Some("wheres"));
            assert_eq!(told, expected, "{asked}");
            assert!(error.message.contains("hidden here"), "{}", error.message);
        }
        let asked = json!({"orders": [{"column": "number"}]});
        let error = page(bed, &person("ann"), "card", &asked).await.unwrap_err();
        let expected = (ErrorCode::InvalidArgument, Some("orders[0]"));
        assert_eq!((error.code, error.param.as_deref()), expected);
        let asked = json!({"wheres": [{"rel": "same", "column": "id", "value": 1}]});
        let error = page(bed, &person("ann"), "card", &asked).await.unwrap_err();
        let expected = (ErrorCode::InvalidArgument, Some("rel"));
        assert_eq!((error.code, error.param.as_deref()), expected);
    })
    .await;
}

#[tokio::test]
async fn a_key_that_no_page_is_asked_with_is_to_blame() {
    with(&[CARD], async |bed| {
        for (key, why) in [
            (
                "limt",
                "unknown key \"limt\" (there are select, wheres, orders, page, pagesize, withs, all)",
            ),
            (
                "pagesise",
                "unknown key \"pagesise\" (did you mean \"pagesize\"?)",
            ),
            ("limit", "limit has no meaning for pages; give a pagesize"),
        ] {
            let asked = json!({key: 3});
            let error = page(bed, &person("ann"), "card", &asked).await.unwrap_err();
            let told = (error.code, error.param.as_deref(), error.message.as_str());
            let message = format!("models.card: {why}");
            let expected = (ErrorCode::InvalidArgument, Some(key), message.as_str());
            assert_eq!(told, expected);
        }
    })
    .await;
}

/// The ids of the models that are for somebody, and how many rows they see of each.
async fn listed(bed: &Bed, who: &Authorized) -> Value {
    let list = DataView::new(&bed.models, who).list().await.unwrap();
    let items = list.items.iter();
    items
        .map(|model| json!([model.id, model.permission, model.rows]))
        .collect()
}

#[tokio::test]
async fn models_of_nobody_in_particular_are_for_operators() {
    with(&[CARD, OWNER, DEED], async |bed| {
        one_card(bed).await;
        let operator = person("root");
        let of_tenant = who(json!({"user_id": "ann", "tenant_id": "t1"}));
        let limited = who(json!({"user_id": "ann", "constraints": {"owner_only": true}}));
        let deed = json!([{"text": "mine"}]);
        assert_eq!(bed.call_as(&of_tenant, "deed.Create", deed).await, json!(1));
        let all = json!([["card", false, 1], ["deed", true, 0], ["owner", false, 1]]);
        assert_eq!(listed(bed, &operator).await, all);
        assert_eq!(listed(bed, &of_tenant).await, json!([["deed", true, 1]]));
        assert_eq!(listed(bed, &limited).await, json!([["deed", true, 0]]));
        for who in [&of_tenant, &limited, &Authorized::default()] {
            let error = DataView::new(&bed.models, who).get("card").unwrap_err();
            assert_eq!(error.code, ErrorCode::NotFound);
            let error = page(bed, who, "card", &json!({})).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::NotFound);
        }
        let details = DataView::new(&bed.models, &operator).get("card").unwrap();
        let crypt = details.columns.iter().map(|column| column.crypt);
        let expected = [None, Some("AES"), Some("PASSWORD"), None];
        assert_eq!(crypt.collect::<Vec<_>>(), expected);
    })
    .await;
}

#[tokio::test]
async fn relations_to_closed_models_are_as_unknown_as_none() {
    with(&[CARD, OWNER, DEED], async |bed| {
        let operator = person("root");
        let of_tenant = who(json!({"user_id": "ann", "tenant_id": "t1"}));
        for closed in ["cards", "through", "with_cards"] {
            for asked in [
                json!({"withs": {closed: {}}}),
                json!({"withs": {closed: {"query": {"select": ["nothing"]}}}}),
                json!({"wheres": [{"rel": closed, "column": "nothing", "value": 1}]}),
                json!({"orders": [{"rel": closed, "column": "nothing"}]}),
                json!({"withs": {"annexes": {"query": {"withs": {closed: {}}}}}}),
            ] {
                let error = page(bed, &of_tenant, "deed", &asked).await.unwrap_err();
                let none = asked.to_string().replace(closed, "zzzzzz");
                let none = serde_json::from_str(&none).unwrap();
                let unknown = page(bed, &of_tenant, "deed", &none).await.unwrap_err();
                let message = unknown.message.replace("zzzzzz", closed);
                assert_eq!((error.code, error.message), (unknown.code, message));
            }
            // Nor is its name the nearest to another.
            let near = format!("{closed}x");
            let asked = json!({"withs": {near: {}}});
            let error = page(bed, &of_tenant, "deed", &asked).await.unwrap_err();
            assert!(!error.message.contains("did you mean"), "{}", error.message);
            let error = page(bed, &operator, "deed", &asked).await.unwrap_err();
            let hint = format!("did you mean \"{closed}\"");
            assert!(error.message.contains(&hint), "{}", error.message);
        }
    })
    .await;
}

#[tokio::test]
async fn details_name_the_relations_that_can_be_loaded() {
    with(&[CARD, OWNER, DEED], async |bed| {
        let of_tenant = who(json!({"user_id": "ann", "tenant_id": "t1"}));
        let all = vec!["annexes", "cards", "through", "with_cards"];
        for (who, expected) in [(person("root"), all), (of_tenant, vec!["annexes"])] {
            bed.call_as(&who, "deed.Create", json!([{"text": "one"}]))
                .await;
            let details = DataView::new(&bed.models, &who).get("deed").unwrap();
            assert_eq!(details.label.as_deref(), Some("Deeds"));
            let names = details.relations.iter().map(|it| it.name.as_str());
            assert_eq!(names.clone().collect::<Vec<_>>(), expected);
            let withs = names.map(|name| (name.to_owned(), json!({"query": {"pagesize": 20}})));
            let asked = json!({"withs": Value::Object(withs.collect())});
            let found = rows(bed, &who, "deed", &asked).await;
            let loaded = expected.iter().all(|name| found[0][*name] == json!([]));
            assert!(loaded, "{found}");
        }
    })
    .await;
}

#[tokio::test]
async fn rows_of_another_tenant_are_not_loaded() {
    with(&[CARD, OWNER, DEED], async |bed| {
        let of_tenant = who(json!({"user_id": "ann", "tenant_id": "t1"}));
        let other = who(json!({"user_id": "eve", "tenant_id": "t2"}));
        for (who, deed) in [
            (&of_tenant, json!([{"text": "whole"}])),
            (&of_tenant, json!([{"text": "mine", "of": 1}])),
            (&other, json!([{"text": "theirs", "of": 1}])),
        ] {
            bed.call_as(who, "deed.Create", deed).await;
        }
        let asked = json!({"select": ["text"], "wheres": [{"column": "id", "value": 1}],
            "withs": {"annexes": {"query": {"select": ["text"]}}}});
        let expected = json!([{"text": "whole", "annexes": [{"text": "mine"}]}]);
        assert_eq!(rows(bed, &of_tenant, "deed", &asked).await, expected);
        assert_eq!(rows(bed, &other, "deed", &asked).await, json!([]));
        let asked = json!({"wheres": [{"rel": "annexes", "column": "text", "value": "theirs"}]});
        assert_eq!(rows(bed, &of_tenant, "deed", &asked).await, json!([]));
    })
    .await;
}

#[tokio::test]
async fn what_limits_rows_is_named_and_nothing_else() {
    with(&[CARD, OWNER, DEED], async |bed| {
        let ann = who(json!({"user_id": "ann", "team_id": "red", "tenant_id": "t1"}));
        bed.call_as(&ann, "deed.Create", json!([{"text": "north"}]))
            .await;
        for (constraints, total, expected) in [
            (json!({}), 1, json!(["tenant_id"])),
            (
                json!({"team_only": true, "owner_only": true}),
                1,
                json!(["tenant_id", "team_only", "owner_only"]),
            ),
            (
                json!({"extra": {"region": "south", "ignored": 1}}),
                0,
                json!(["tenant_id", "extra.region"]),
            ),
            (
                json!({"extra": {"colour": "red"}}),
                0,
                json!([
                    "tenant_id",
                    "extra.colour",
                    "models.deed: extra.colour needs a column \"colour\", or option.permission.extra.colour"
                ]),
            ),
        ] {
            let mut limited = ann.clone();
            limited.constraints = serde_json::from_value(constraints).unwrap();
            let found = page(bed, &limited, "deed", &json!({})).await.unwrap();
            let told = (found.total, json!(found.limited_by));
            assert_eq!(told, (total, expected));
        }
    })
    .await;
}

#[tokio::test]
async fn a_database_that_is_away_is_no_empty_list() {
    let place = Place::away();
    let bed = place.open(&[CARD]);
    let error = DataView::new(&bed.models, &person("root")).list().await;
    assert_eq!(error.unwrap_err().code, ErrorCode::Unavailable);
}

#[tokio::test]
async fn why_another_model_cannot_be_used_is_told_to_operators_alone() {
    let place = Place::memory();
    // Cards need a key, and deeds need cards.
    let bed = place.without_key(&[CARD, DEED]);
    let of_tenant = who(json!({"user_id": "ann", "tenant_id": "t1"}));
    for (who, is_told) in [(person("root"), true), (of_tenant, false)] {
        let error = page(&bed, &who, "deed", &json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ConfigError);
        assert_eq!(error.message.contains("card"), is_told, "{}", error.message);
        let list = DataView::new(&bed.models, &who).list().await.unwrap();
        assert!(list.items.iter().all(|model| model.rows.is_none()));
    }
}
