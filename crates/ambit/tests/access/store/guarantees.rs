//! Batches are seen whole, and keys by their owners alone.

use super::{ANNE, done, get, keys, put, version};
use crate::bed::{ANN, Bed, CHIEF, Person, TWIN};
use crate::site::{Answer, Site};
use reqwest::Method;
use serde_json::{Value, json};

/// Administrators: of two tenants, and of two teams.
const BEN: Person = Person("t1", "ben", "red", "admin");
const CLEO: Person = Person("t1", "cleo", "blue", "admin");
const OTHER: Person = Person("t2", "anne", "red", "admin");

#[tokio::test]
async fn g177_of_sixteen_writers_one_wins_and_the_others_are_told() {
    let bed = Bed::new().await;
    let nodes = [&bed.site, &bed.site.beside().await];
    for round in 0..10_u64 {
        let expect = match round {
            0 => 0,
            _ => version(&bed, "race").await,
        };
        let writers = (0..16).map(|writer| {
            let ops = json!([
                {"op": "put", "key": "race", "value": writer, "expect": expect},
                {"op": "put", "key": format!("mark-{round}-{writer}"), "value": writer},
            ]);
            write_to(nodes[writer % 2], ops)
        });
        let answers = futures::future::join_all(writers).await;
        let winners: Vec<usize> = (0..16).filter(|at| answers[*at].status == 200).collect();
        let [winner] = winners[..] else {
            panic!("{winners:?} won");
        };
        let now = &done(&bed, json!([get("race")])).await[0];
        assert_eq!(now["value"], winner);
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!(answer.failure().1, "conflict");
            let details = &answer.json()["error"]["details"];
            assert_eq!(details, &json!({"key": "race", "version": now["version"]}));
        }
        assert_eq!(
            keys(&bed, &format!("mark-{round}-")).await,
            [format!("mark-{round}-{winner}")]
        );
    }
}

async fn write_to(site: &Site, ops: Value) -> Answer {
    let body = json!({"space": "docs", "owner": "user", "ops": ops});
    let request = site.request(Method::POST, "/v1/store/batch");
    Answer::of(request.bearer_auth(ANNE.token()).json(&body)).await
}

#[tokio::test]
async fn g177_a_batch_that_reads_sees_another_one_whole_or_not_at_all() {
    let bed = Bed::new().await;
    let both = |value: u64| json!([put("a", &json!(value)), put("b", &json!(value))]);
    done(&bed, both(0)).await;
    let writing = async {
        for value in 1..100 {
            done(&bed, both(value)).await;
        }
    };
    let reading = async {
        let mut last = 0;
        while last < 99 {
            let list = json!({"op": "list", "prefix": "", "limit": 10, "values": true});
            let found = done(&bed, json!([get("b"), list, get("a")])).await;
            let listed = found[1]["items"].as_array().unwrap();
            let seen = [&found[0], &listed[0], &listed[1], &found[2]];
            let seen = seen.map(|item| item["value"].as_u64().unwrap());
            assert_eq!(seen, [seen[0]; 4]);
            last = seen[0];
        }
    };
    tokio::join!(writing, reading, reading_again(&bed));
}

/// Reads as well, so that readers meet.
async fn reading_again(bed: &Bed) {
    for _ in 0..50 {
        let found = done(bed, json!([get("a"), get("b")])).await;
        assert_eq!(found[0]["value"], found[1]["value"]);
    }
}

#[tokio::test]
async fn g178_keys_are_their_owners_in_their_tenant_alone() {
    let bed = Bed::new().await;
    let in_space = async |who: Person, space: &str, owner: &str, ops: Value| {
        let body = json!({"space": space, "owner": owner, "ops": ops});
        bed.send(who, Method::POST, "/store/batch", &body).await
    };
    let secret = put("k", &json!("canary"));
    for (space, owner) in [("docs", "user"), ("docs2", "user"), ("docs", "team")] {
        let written = in_space(ANNE, space, owner, json!([secret])).await;
        assert_eq!(written.status, 200, "{}", written.text);
    }
    let reads = json!([get("k"), {"op": "list", "prefix": "", "limit": 9, "values": true}]);
    let owners = [ANNE, BEN, CLEO, OTHER, CHIEF, TWIN, ANN];
    for who in owners {
        for (space, owner) in [
            ("docs", "user"),
            ("docs2", "user"),
            ("doc", "user"),
            ("docs", "team"),
        ] {
            let answer = in_space(who, space, owner, reads.clone()).await;
            let is_theirs = match owner {
                "user" => who.1 == "anne" && who.0 == "t1" && space != "doc",
                _ => who.0 == "t1" && who.2 == "red" && who.3 == "admin",
            };
            let expected = match (who.3, owner, who.2) {
                ("user", ..) | (_, "team", "") => 403,
                _ => 200,
            };
            assert_eq!(
                answer.status, expected,
                "{who:?} {space} {owner}: {}",
                answer.text
            );
            let sees = answer.text.contains("canary");
            assert_eq!(sees, is_theirs, "{who:?} {space} {owner}: {}", answer.text);
            let body = json!({"space": space, "owner": owner, "query": "canary"});
            let found = bed.send(who, Method::POST, "/store/search", &body).await;
            assert_eq!(found.status, expected, "{}", found.text);
            assert_eq!(
                found.json()["items"].to_string().contains("canary"),
                is_theirs
            );
        }
    }
    // Nor does any other route or list know of them.
    for who in [ANNE, BEN, CHIEF] {
        for path in [
            "/memory/user",
            "/memory/user/search?q=canary",
            "/memory/team",
            "/memory/user/anne",
            "/contexts",
            "/chat/sessions?q=canary",
            "/kb/collections",
        ] {
            let seen = bed.get(who, path).await;
            assert!(!seen.text.contains("canary"), "{path}: {}", seen.text);
        }
    }
}

#[tokio::test]
async fn g178_without_credentials_or_the_scope_there_is_no_store() {
    let bed = Bed::new().await;
    let body = json!({"space": "docs", "owner": "user", "ops": [get("k")]});
    let nobody = bed.site.post("/v1/store/batch", &body).await;
    assert_eq!(nobody.failure().0, 401);
    for path in ["/store/batch", "/store/search"] {
        let user = bed.send(ANN, Method::POST, path, &body).await;
        assert_eq!(user.failure().1, "permission_denied");
    }
}
