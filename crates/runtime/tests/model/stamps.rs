//! Whose rows are, when they were made, and who may write them.

use crate::bed::{Bed, person, who, with};
use serde_json::{Value, json};

const DEED: (&str, &str) = (
    "models/deed.mod.yao",
    r#"{
        "columns": [
            {"name": "id", "type": "ID"}, {"name": "text", "type": "string"},
            {"name": "region", "type": "string", "nullable": true},
        ],
        "option": {"permission": true, "timestamps": true, "trackings": true},
    }"#,
);

const OWN: [&str; 4] = [
    "__yao_created_by",
    "__yao_updated_by",
    "__yao_team_id",
    "__yao_tenant_id",
];

/// Whose a row is, as somebody without constraints of its tenant sees it.
async fn owners(bed: &Bed, id: &Value, tenant: Option<&str>) -> Value {
    let mut admin = person("root");
    admin.tenant_id = tenant.map(str::to_owned);
    let row = bed.call_as(&admin, "deed.Find", json!([id])).await;
    OWN.iter().map(|name| row[name].clone()).collect()
}

#[tokio::test]
async fn rows_are_stamped_with_who_made_and_changed_them() {
    with(&[DEED], async |bed| {
        let ann = who(json!({"user_id": "ann", "team_id": "red", "tenant_id": "t1", "constraints": {"team_only": true}}));
        let bob = who(json!({"user_id": "bob", "team_id": "red", "tenant_id": "t1", "constraints": {"team_only": true}}));
        let id = bed.call_as(&ann, "deed.Create", json!([{"text": "a"}])).await;
        assert_eq!(id, json!(1));
        assert_eq!(owners(bed, &id, Some("t1")).await, json!(["ann", "ann", "red", "t1"]));
        // What is given by hand and right is kept as it was, except who changed the row.
        let given = json!({
            "text": "b", "__yao_created_by": "bob", "__yao_updated_by": "bob",
            "__yao_team_id": "red", "__yao_tenant_id": "t1",
        });
        assert_eq!(bed.call_as(&bob, "deed.Update", json!([id, given])).await, json!(null));
        assert_eq!(owners(bed, &id, Some("t1")).await, json!(["ann", "bob", "red", "t1"]));
        let row = bed.call_as(&bob, "deed.Find", json!([id])).await;
        let times = [&row["created_at"], &row["updated_at"]];
        assert!(times.iter().all(|time| time.as_str().is_some_and(|it| it.len() == 19)), "{row}");
        assert_eq!(json!([row["created_by"], row["updated_by"], row["deleted_by"]]), json!(["ann", "bob", null]));
        let teamless = json!({"text": "c", "__yao_team_id": null});
        let id = bed.call_as(&ann, "deed.Create", json!([teamless])).await;
        assert_eq!(owners(bed, &id, Some("t1")).await, json!(["ann", "ann", null, "t1"]));
    })
    .await;
}

#[tokio::test]
async fn nobody_writes_rows_in_the_name_of_others() {
    with(&[DEED], async |bed| {
        let ann =
            who(json!({"user_id": "ann", "team_id": "red", "constraints": {"owner_only": true}}));
        bed.call_as(&ann, "deed.Create", json!([{"text": "a"}]))
            .await;
        for (column, value) in [
            ("__yao_created_by", json!("bob")),
            ("__yao_created_by", json!(null)),
            ("__yao_updated_by", json!("bob")),
            ("__yao_team_id", json!("blue")),
            ("__yao_tenant_id", json!("t2")),
        ] {
            let refused = json!(["permission_denied", format!("permission_denied: {column}")]);
            let mut row = json!({"text": "x"});
            row[column] = value;
            for (method, arguments) in [
                ("Create", json!([row])),
                ("Update", json!([1, row])),
                ("Save", json!([row])),
                ("EachSave", json!([[row]])),
                ("Insert", json!([["text", column], [["x", row[column]]]])),
                ("UpdateWhere", json!([{"all": true}, row])),
            ] {
                let answer = bed
                    .call_as(&ann, &format!("deed.{method}"), arguments)
                    .await;
                assert_eq!(answer, refused, "{method} {column}");
            }
        }
        let free = who(json!({"user_id": "eve", "tenant_id": "t1"}));
        let theirs = json!({"text": "x", "__yao_created_by": "bob", "__yao_team_id": "blue"});
        let id = bed.call_as(&free, "deed.Create", json!([theirs])).await;
        assert_eq!(
            owners(bed, &id, Some("t1")).await,
            json!(["bob", "eve", "blue", "t1"])
        );
        let other = json!({"text": "x", "__yao_tenant_id": "t2"});
        let answer = bed.call_as(&free, "deed.Create", json!([other])).await;
        assert_eq!(answer[1], json!("permission_denied: __yao_tenant_id"));
    })
    .await;
}

#[tokio::test]
async fn rows_of_others_are_not_there() {
    with(&[DEED], async |bed| {
        let own = |user: &str| who(json!({"user_id": user, "constraints": {"owner_only": true}}));
        let (ann, bob) = (own("ann"), own("bob"));
        let id = bed
            .call_as(&ann, "deed.Create", json!([{"text": "a"}]))
            .await;
        let other = who(json!({"user_id": "ann", "tenant_id": "t2"}));
        for stranger in [&bob, &other] {
            let gone = json!(["not_found", "models.deed: there is no row 1"]);
            for (method, arguments) in [
                ("Find", json!([id])),
                ("Update", json!([id, {"text": "b"}])),
                ("Delete", json!([id])),
                ("Destroy", json!([id])),
            ] {
                let answer = bed
                    .call_as(stranger, &format!("deed.{method}"), arguments)
                    .await;
                assert_eq!(answer, gone, "{method}");
            }
            let all = json!({"all": true});
            assert_eq!(
                bed.call_as(stranger, "deed.UpdateWhere", json!([all, {"text": "b"}]))
                    .await,
                json!(0)
            );
            assert_eq!(
                bed.call_as(stranger, "deed.DestroyWhere", json!([all]))
                    .await,
                json!(0)
            );
            let taken = "models.deed: there is already a row with the same id";
            let row = json!({"id": 1, "text": "b"});
            assert_eq!(
                bed.call_as(stranger, "deed.Save", json!([row])).await,
                json!(["conflict", taken])
            );
            assert_eq!(
                bed.call_as(stranger, "deed.Upsert", json!([row, ["id"]]))
                    .await,
                json!(["conflict", taken])
            );
        }
        let kept = bed
            .call_as(&ann, "deed.Find", json!([id, {"select": ["text"]}]))
            .await;
        assert_eq!(kept, json!({"text": "a"}));
    })
    .await;
}

#[tokio::test]
async fn whoever_is_not_known_well_enough_writes_nothing() {
    with(&[DEED], async |bed| {
        for (caller, why) in [
            (json!({}), "nobody in particular is calling"),
            (
                json!({"user_id": "ann", "constraints": {"team_only": true}}),
                "team_only needs authorized.team_id",
            ),
            (
                json!({"team_id": "red", "constraints": {"owner_only": true}}),
                "owner_only needs authorized.user_id",
            ),
        ] {
            let caller = who(caller);
            let message = format!("permission_denied: models.deed: {why}");
            let refused = json!(["permission_denied", message]);
            for (method, arguments) in [
                ("Create", json!([{"text": "x"}])),
                ("Update", json!([1, {"text": "x"}])),
                ("Delete", json!([1])),
                ("DestroyWhere", json!([{"all": true}])),
            ] {
                let answer = bed
                    .call_as(&caller, &format!("deed.{method}"), arguments)
                    .await;
                assert_eq!(answer, refused, "{method}");
            }
            assert_eq!(bed.call_as(&caller, "deed.Get", json!([])).await, json!([]));
        }
    })
    .await;
}

#[tokio::test]
async fn nobody_writes_rows_that_they_could_not_reach() {
    with(&[DEED], async |bed| {
        let north = who(json!({"user_id": "ann", "constraints": {"extra": {"region": "north"}}}));
        let id = bed
            .call_as(
                &north,
                "deed.Create",
                json!([{"text": "a", "region": "north"}]),
            )
            .await;
        assert_eq!(id, json!(1));
        let message =
            "permission_denied: models.deed: the row would be outside authorized.constraints.extra";
        let refused = json!(["permission_denied", message]);
        for (method, arguments) in [
            ("Create", json!([{"text": "a"}])),
            ("Create", json!([{"text": "a", "region": "south"}])),
            (
                "Insert",
                json!([["text", "region"], [["a", "north"], ["b", "south"]]]),
            ),
            ("Update", json!([1, {"region": "south"}])),
            ("Save", json!([{"id": 1, "region": "south"}])),
            (
                "Upsert",
                json!([{"id": 1, "text": "a", "region": "south"}, ["id"]]),
            ),
            ("UpdateWhere", json!([{"all": true}, {"region": null}])),
        ] {
            let answer = bed
                .call_as(&north, &format!("deed.{method}"), arguments)
                .await;
            assert_eq!(answer, refused, "{method}");
        }
        assert_eq!(
            bed.call("deed.Get", json!([{"select": ["id", "region"]}]))
                .await,
            json!([{"id": 1, "region": "north"}])
        );
    })
    .await;
}

const SIGN: (&str, &str) = (
    "models/sign.mod.yao",
    r#"{
        "columns": [
            {"name": "code", "type": "string", "unique": true},
            {"name": "region", "type": "string", "nullable": true},
        ],
        "option": {"permission": {"extra": {"region": true}}},
    }"#,
);

#[tokio::test]
async fn rows_without_a_key_are_not_written_where_their_reach_cannot_be_told() {
    with(&[SIGN], async |bed| {
        let north = who(json!({"user_id": "ann", "constraints": {"extra": {"region": "north"}}}));
        for region in ["north", "south"] {
            let row = json!([{"code": "x", "region": region}, ["code"]]);
            let answer = bed.call_as(&north, "sign.Upsert", row).await;
            assert_eq!(answer[0], json!("permission_denied"), "{region}: {answer}");
        }
        assert_eq!(bed.call("sign.Count", json!([])).await, json!(0));
    })
    .await;
}

#[tokio::test]
async fn who_made_a_row_is_not_said_by_hand() {
    with(&[DEED], async |bed| {
        let ann = person("ann");
        let row = json!([{"text": "a", "created_by": "bob"}]);
        let id = bed.call_as(&ann, "deed.Create", row).await;
        let change = json!({"text": "b", "created_by": "bob", "deleted_by": "bob"});
        bed.call_as(&ann, "deed.Update", json!([id, change])).await;
        let row = bed.call_as(&ann, "deed.Find", json!([id])).await;
        assert_eq!(
            json!([row["text"], row["created_by"], row["deleted_by"]]),
            json!(["b", "ann", null])
        );
    })
    .await;
}
