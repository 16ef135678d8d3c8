//! What is made of answers.

use crate::fake::{FAKES, Fake, each};
use crate::server::Reply;
use crate::support::{asking, search};
use ambit_runtime::web_search::{WebItem, WebQuery};
use serde_json::{Value, json};

/// A result as the fake's service writes it.
fn result(fake: &Fake, texts: [&str; 3]) -> Value {
    let [url, title, content] = fake.parts;
    json!({url: texts[0], title: texts[1], content: texts[2]})
}

async fn found(fake: &'static Fake, list: Value) -> Vec<WebItem> {
    let (_server, settings) = fake.serve(vec![fake.with_list(list)]).await;
    search(&settings, &asking("x")).await.unwrap().items
}

#[tokio::test]
async fn g208_recorded_answers_are_read() {
    each(|fake| async move {
        let (server, settings) = fake.serve(vec![fake.reply()]).await;
        let answer = search(&settings, &asking("rust async runtime"))
            .await
            .unwrap();
        let mut items = (fake.items)();
        for item in &mut items {
            item.metadata.provider = fake.provider.to_owned();
        }
        assert_eq!(answer.items, items, "{}", fake.provider);
        assert_eq!(answer.notes, Vec::<String>::new());
        assert_eq!(server.requests().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn results_beyond_the_limit_are_cut() {
    each(|fake| async move {
        let (_server, settings) = fake.serve(vec![fake.reply()]).await;
        let query = WebQuery {
            limit: 1,
            ..asking("x")
        };
        let answer = search(&settings, &query).await.unwrap();
        assert_eq!(answer.items.len(), 1, "{}", fake.provider);
    })
    .await;
}

#[tokio::test]
async fn results_that_say_nothing_are_left_out_and_keep_their_position() {
    each(|fake| async move {
        let empty = result(fake, ["", " ", ""]);
        let full = result(fake, ["https://a.test/", "", ""]);
        let items = found(fake, json!([{}, empty, full])).await;
        let positions: Vec<usize> = items.iter().map(|item| item.metadata.position).collect();
        assert_eq!(positions, [3], "{}", fake.provider);
        assert_eq!((items[0].score * 100.0).round(), 90.0, "{}", fake.provider);
    })
    .await;
}

#[tokio::test]
async fn no_score_by_position_is_less_than_a_tenth() {
    each(|fake| async move {
        let full = result(fake, ["https://a.test/", "", ""]);
        let query = WebQuery {
            limit: 100,
            ..asking("x")
        };
        let (_server, settings) = fake
            .serve(vec![fake.with_list(vec![full; 40].into())])
            .await;
        let items = search(&settings, &query).await.unwrap().items;
        let scores: Vec<f64> = items.iter().map(|item| item.score).collect();
        assert_eq!(scores[..4], [1.0, 0.95, 0.9, 0.85], "{}", fake.provider);
        assert_eq!(scores[18..], [0.1; 22], "{}", fake.provider);
    })
    .await;
}

#[tokio::test]
async fn texts_are_plain_and_have_at_most_8_kib() {
    each(|fake| async move {
        let long = "ä".repeat(5_000);
        let items = found(
            fake,
            json!([
                result(fake, [" https://a.test/ ", "<b>A</b>&amp;\n B", &long]),
                result(fake, [&long, &long, "x"]),
            ]),
        )
        .await;
        let cut = "ä".repeat(4_096);
        let texts = items
            .iter()
            .map(|item| [&item.url[..], &item.title, &item.content]);
        let texts: Vec<[&str; 3]> = texts.collect();
        assert_eq!(
            texts,
            [["https://a.test/", "A& B", &cut], ["", &cut, "x"]],
            "{}",
            fake.provider
        );
    })
    .await;
}

#[tokio::test]
async fn an_answer_box_without_a_text_is_no_result() {
    for (fake, name) in [(&FAKES[1], "answerBox"), (&FAKES[2], "answer_box")] {
        let mut answer: Value = serde_json::from_str(fake.recorded).unwrap();
        answer[name] = json!({"title": "Weather", "temperature": 12});
        let (_server, settings) = fake.serve(vec![Reply::json(200, answer.to_string())]).await;
        let items = search(&settings, &asking("x")).await.unwrap().items;
        assert_eq!(items.len(), 2);
    }
}

#[tokio::test]
async fn serpapi_says_by_an_error_that_nothing_was_found() {
    let fake = &FAKES[2];
    let empty = include_str!("recorded/serpapi_empty.json");
    let failed = empty.replace("\"Success\"", "\"Error\"");
    let replies = vec![Reply::json(200, empty), Reply::json(200, failed)];
    let (_server, settings) = fake.serve(replies).await;
    let answer = search(&settings, &asking("x")).await;
    assert_eq!(answer.map(|answer| answer.items), Ok(Vec::new()));
    let answer = search(&settings, &asking("x")).await;
    assert_eq!(answer, Err("serpapi: the search failed".to_owned()));
}

#[tokio::test]
async fn the_answer_of_a_service_of_the_app_may_say_that_the_search_failed() {
    let fake = &FAKES[3];
    let with = |failure: Value| {
        let mut answer: Value = serde_json::from_str(fake.recorded).unwrap();
        answer["failure"] = json!({"reason": failure});
        Reply::json(200, answer.to_string())
    };
    let replies = vec![
        with(json!(null)),
        with(json!("")),
        with(json!("no engines")),
    ];
    let (_server, settings) = fake.serve(replies).await;
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        let answer = search(&settings, &asking("x")).await;
        outcomes.push(answer.map(|answer| answer.items.len()));
    }
    let failed = Err("http: the search failed".to_owned());
    assert_eq!(outcomes, [Ok(2), Ok(2), failed]);
}
