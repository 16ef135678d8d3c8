//! Strategies of the application's own.

use crate::support::{Chat, call, names, said, simple};
use crate::{Case, Place};
use ambit_storage::TruncationStrategy;
use ambit_storage::storage::Message;
use ambit_storage::truncation::{
    MessageUnit, StandIn, StandInSource, TruncationBudget, TruncationRequest, TruncationSettings,
};
use async_trait::async_trait;
use std::sync::Arc;

pub const CASES: &[Case] = cases![
    a_strategy_of_your_own_decides_what_goes,
    a_strategy_that_stops_short_is_asked_again,
    a_plan_beyond_the_view_or_against_instructions_does_not_hold,
    g044_no_plan_parts_a_call_from_its_results,
    a_plan_that_shortens_nothing_is_refused,
    g047_a_new_stand_in_replaces_one_that_the_plan_would_keep,
];

/// Lets these units go, whatever the view is.
#[derive(Debug)]
struct Fixed(Vec<usize>, Option<usize>);

#[async_trait]
impl TruncationStrategy for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }

    fn keep_messages(&self) -> usize {
        1
    }

    fn plan(&self, _view: &[MessageUnit], _room: &TruncationBudget) -> Vec<usize> {
        self.0.clone()
    }

    async fn stand_in(&self, source: &StandInSource) -> Option<StandIn> {
        let gone: usize = source.exchanges.iter().map(Vec::len).sum();
        let text = |padding: usize| format!("{gone} more{:padding$}|", "");
        self.1.map(|padding| StandIn {
            text: Ok(text(padding)),
            usage: Vec::new(),
        })
    }
}

fn by(gone: &[usize], stand_in: Option<usize>, threshold: u64) -> TruncationSettings {
    TruncationSettings {
        strategy: Some(Arc::new(Fixed(gone.to_vec(), stand_in))),
        ..simple(threshold)
    }
}

async fn a_strategy_of_your_own_decides_what_goes(place: Place) {
    let chat = Chat::new(&place, by(&[1, 3], Some(0), 55)).await;
    chat.say(said("qaqaqa")).await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    let expected = [
        "Earlier in this conversation:\n2 more|",
        "q0",
        "q2",
        "q4",
        "a5",
    ];
    assert_eq!(names(&chat.texts().await), expected);
    assert_eq!(prepared.refused.map(|error| error.to_string()), None);
}

async fn a_strategy_that_stops_short_is_asked_again(place: Place) {
    let chat = Chat::new(&place, by(&[0], None, 35)).await;
    chat.say(said("qaqaqa")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(names(&chat.texts().await), ["a3", "q4", "a5"]);
}

async fn a_plan_beyond_the_view_or_against_instructions_does_not_hold(place: Place) {
    let chat = Chat::new(&place, by(&[9, 2, 0, 2, 1], None, 35)).await;
    chat.say(said("sqaqa")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(names(&chat.texts().await), ["s0", "q3", "a4"]);
}

async fn g044_no_plan_parts_a_call_from_its_results(place: Place) {
    let chat = Chat::new(&place, by(&[1], None, 35)).await;
    chat.say(said("q")).await;
    chat.say([call("a"), Message::user("and?")]).await;
    chat.say([Message::result("a", "found it, it was there all along")])
        .await;
    chat.say([Message::assistant("there")]).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(names(&chat.texts().await), ["q0", "and?", "there"]);
}

async fn a_plan_that_shortens_nothing_is_refused(place: Place) {
    // The title, "1 more" and three letters of padding are 14 tokens with the frame: as many as go.
    let chat = Chat::new(&place, by(&[0], Some(3), 35)).await;
    chat.say([Message::user("x".repeat(40))]).await;
    chat.say(said("qaq")).await;
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(
        prepared.refused.unwrap().to_string(),
        "the plan of fixed does not make the view shorter"
    );
    assert_eq!(chat.view().await.len(), 4);
}

async fn g047_a_new_stand_in_replaces_one_that_the_plan_would_keep(place: Place) {
    let chat = Chat::new(&place, by(&[1, 2], Some(0), 55)).await;
    chat.say(said("qaqaqa")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    chat.say(said("q")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    let expected = ["Earlier in this conversation:\n2 more|", "q4", "a5", "q0"];
    assert_eq!(names(&chat.texts().await), expected);
}
