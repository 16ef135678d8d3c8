//! Methods that read, beside what queries can ask.

use crate::bed::{person, with};
use ambit_runtime::model::database::AccessMode;
use ambit_runtime::model::query::{QueryParam, ReadContext};
use serde_json::json;

const PET: (&str, &str) = (
    "models/pet.mod.yao",
    r#"{"name": "Pet", "columns": [
        {"name": "id", "type": "ID"}, {"name": "name", "type": "string"}, {"name": "age", "type": "integer"},
    ]}"#,
);

async fn fill(bed: &crate::bed::Bed) {
    let rows = json!([["Rex", 3], ["Tom", 5], ["Rea", 5]]);
    bed.call("pet.Insert", json!([["name", "age"], rows])).await;
}

#[tokio::test]
async fn rows_are_found_counted_and_paged() {
    with(&[PET], async |bed| {
        fill(bed).await;
        let old = json!({"wheres": [{"column": "age", "value": 5}], "select": ["name"]});
        assert_eq!(
            bed.call("pet.Find", json!([2, old])).await,
            json!({"name": "Tom"})
        );
        let missing = json!(["not_found", "models.pet: there is no row 1"]);
        assert_eq!(bed.call("pet.Find", json!([1, old])).await, missing);
        assert_eq!(bed.call("pet.Count", json!([old])).await, json!(2));
        assert_eq!(
            bed.call("pet.Get", json!([old])).await,
            json!([{"name": "Tom"}, {"name": "Rea"}])
        );
        let query = json!({"select": ["name"], "orders": [{"column": "age", "option": "desc"}]});
        assert_eq!(
            bed.call("pet.Paginate", json!([query, 1, 2])).await,
            json!({
                "data": [{"name": "Tom"}, {"name": "Rea"}],
                "page": 1, "pagesize": 2, "pagecnt": 2, "next": 2, "prev": -1, "total": 3,
            })
        );
        for (arguments, message) in [
            (json!([query, 0]), "page must be a whole number from 1 on"),
            (
                json!([query, 1, "x"]),
                "pagesize must be a whole number from 1 on",
            ),
        ] {
            let message = format!("models.pet.Paginate: {message}");
            let answer = bed.call("pet.Paginate", arguments).await;
            assert_eq!(answer, json!(["invalid_argument", message]));
        }
    })
    .await;
}

#[tokio::test]
async fn a_choice_has_names_and_ids() {
    with(&[PET], async |bed| {
        fill(bed).await;
        let all =
            json!([{"name": "Rea", "id": 3}, {"name": "Rex", "id": 1}, {"name": "Tom", "id": 2}]);
        assert_eq!(bed.call("pet.SelectOption", json!([])).await, all);
        let found = json!([{"name": "Rea", "id": 5}]);
        let arguments = json!(["Re", "name", "age", 1]);
        assert_eq!(bed.call("pet.SelectOption", arguments).await, found);
    })
    .await;
}

#[tokio::test]
async fn a_model_tells_its_definition() {
    with(&[PET], async |bed| {
        let told = bed.call("pet.Metadata", json!([])).await;
        assert_eq!(
            told,
            json!({"name": "Pet", "id": "pet", "columns": [
                {"name": "id", "type": "ID"},
                {"name": "name", "type": "string"},
                {"name": "age", "type": "integer"},
            ]})
        );
        assert_eq!(bed.call("pet.Exists", json!([])).await, json!(true));
    })
    .await;
}

#[tokio::test]
async fn texts_are_read_up_to_a_limit() {
    const NOTE: (&str, &str) = (
        "models/note.mod.yao",
        r#"{"name": "Note", "columns": [
            {"name": "id", "type": "ID"}, {"name": "title", "type": "string"}, {"name": "mark", "type": "char", "length": 4},
            {"name": "body", "type": "longText"}, {"name": "size", "type": "integer"},
        ]}"#,
    );
    with(&[NOTE], async |bed| {
        let row = json!({"title": "héllo", "mark": "abcd", "body": "world", "size": 12_345});
        bed.call("note.Create", json!([row])).await;
        let model = bed.models.find("note", "").unwrap();
        let asked = json!({"orders": [{"column": "title"}], "wheres": [{"column": "title", "op": "match", "value": "llo"}]});
        let mut param = QueryParam::parse(&bed.models, &model, &asked).unwrap();
        param.text_limit = Some(2);
        let ann = person("ann");
        let mut reading = ReadContext::new(&bed.models, &ann);
        let mut transaction = bed.models.begin(&model, AccessMode::Read).await.unwrap();
        let rows = param.load(&mut *transaction, &mut reading).await.unwrap();
        transaction.commit().await.unwrap();
        let expected = json!({"id": 1, "title": "hé", "mark": "ab", "body": "wo", "size": 12_345});
        assert_eq!(rows, [expected]);
    })
    .await;
}
