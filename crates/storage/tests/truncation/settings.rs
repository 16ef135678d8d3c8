//! When truncation acts, and what its levels of settings make together.

use crate::support::{Chat, said, simple};
use crate::{Case, Place};
use ambit_storage::AmbitSettings as Application;
use ambit_storage::truncation::{SimpleTruncation, TruncationRequest, TruncationSettings};
use std::sync::Arc;

pub const CASES: &[Case] = cases![
    it_acts_only_above_the_effective_number,
    it_is_off_without_a_strategy_or_a_threshold,
    strategy_and_threshold_may_come_from_different_levels,
    the_agent_comes_before_the_provider_and_the_provider_before_the_application,
    a_setting_that_breaks_a_rule_is_refused_on_every_level,
];

/// How many of six messages of ten tokens a call leaves.
async fn left(chat: &Chat, call: &TruncationRequest) -> usize {
    chat.truncate(call).await.unwrap();
    chat.view().await.len()
}

fn threshold(threshold: u64) -> TruncationSettings {
    TruncationSettings {
        threshold: Some(threshold),
        ..TruncationSettings::default()
    }
}

fn strategy() -> TruncationSettings {
    TruncationSettings {
        strategy: Some(Arc::new(SimpleTruncation)),
        ..TruncationSettings::default()
    }
}

fn provider(settings: TruncationSettings) -> TruncationRequest {
    TruncationRequest {
        settings,
        ..TruncationRequest::default()
    }
}

async fn it_acts_only_above_the_effective_number(place: Place) {
    let settings = TruncationSettings {
        buffer: Some(0.25),
        ..simple(80)
    };
    let chat = Chat::new(&place, settings).await;
    chat.say(said("qaqaqa")).await;
    assert_eq!(left(&chat, &TruncationRequest::default()).await, 6);
    let beside = TruncationRequest {
        extra_tokens: 1,
        ..TruncationRequest::default()
    };
    assert_eq!(left(&chat, &beside).await, 4);
}

async fn it_is_off_without_a_strategy_or_a_threshold(place: Place) {
    for settings in [TruncationSettings::default(), strategy(), threshold(1)] {
        let chat = Chat::new(&place, settings).await;
        chat.say(said("qa")).await;
        let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
        assert_eq!(prepared.messages, chat.view().await);
        assert_eq!(chat.history().overlay_id().await.unwrap(), None);
    }
}

async fn strategy_and_threshold_may_come_from_different_levels(place: Place) {
    let application = Application {
        truncation: strategy(),
        ..Application::default()
    };
    let agent = threshold(50);
    let chat = Chat::of(&place, agent, |builder| builder.settings(application)).await;
    chat.say(said("qaqaqa")).await;
    // 50 tokens less the buffer of a fifth are four messages.
    assert_eq!(left(&chat, &TruncationRequest::default()).await, 4);
}

async fn the_agent_comes_before_the_provider_and_the_provider_before_the_application(place: Place) {
    let application = Application {
        truncation: TruncationSettings {
            keep_messages: Some(1),
            ..simple(10)
        },
        ..Application::default()
    };
    let agent = TruncationSettings {
        keep_messages: Some(4),
        ..TruncationSettings::default()
    };
    let chat = Chat::of(&place, agent, |builder| builder.settings(application)).await;
    chat.say(said("qaqaqa")).await;
    assert_eq!(left(&chat, &provider(threshold(60))).await, 6);
    assert_eq!(left(&chat, &provider(threshold(59))).await, 4);
}

async fn a_setting_that_breaks_a_rule_is_refused_on_every_level(place: Place) {
    let buffer = |buffer| TruncationSettings {
        buffer: Some(buffer),
        ..TruncationSettings::default()
    };
    let bad = [threshold(0), buffer(1.0), buffer(-0.1), buffer(f64::NAN)];
    let expected = [
        "truncation.threshold must be at least 1 token; leave it out to switch truncation off",
        "truncation.buffer must be at least 0 and less than 1, not 1",
        "truncation.buffer must be at least 0 and less than 1, not -0.1",
        "truncation.buffer must be at least 0 and less than 1, not NaN",
    ];
    let chat = Chat::new(&place, simple(10)).await;
    for (settings, expected) in bad.into_iter().zip(expected) {
        let error = chat.truncate(&provider(settings)).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
