//! Several calls at once, as in `All`, `Any` and `Race`.

use crate::error::{Error, ErrorCode};
use futures::{StreamExt, stream};

/// How long the others are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinPolicy {
    /// All have ended.
    All,
    /// One has succeeded.
    Any,
    /// One has ended.
    Race,
}

/// How much one list may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimits {
    /// Calls in the list.
    pub most: usize,
    /// Calls that run at once.
    pub at_once: usize,
}

impl JoinPolicy {
    /// The one that a method is named after.
    pub fn named(method: &str) -> Self {
        match method {
            "Any" => Self::Any,
            "Race" => Self::Race,
            _ => Self::All,
        }
    }
}

/// What came of each call, in the order of the calls. When enough have ended the others are dropped, and nothing came of them.
/// An error ends all of them.
pub async fn run_concurrently<T, E: From<Error>>(
    until: JoinPolicy,
    bounds: ConcurrencyLimits,
    calls: Vec<impl Future<Output = Result<T, E>>>,
    is_good: impl Fn(&T) -> bool,
) -> Result<Vec<Option<T>>, E> {
    if calls.len() > bounds.most {
        let what = format!("at most {} requests", bounds.most);
        return Err(Error::new(ErrorCode::LimitExceeded, what).into());
    }
    let mut slots: Vec<Option<T>> = calls.iter().map(|_| None).collect();
    let numbered = calls.into_iter().enumerate();
    let numbered = numbered.map(|(at, call)| async move { (at, call.await) });
    let mut running = stream::iter(numbered).buffer_unordered(bounds.at_once.max(1));
    while let Some((at, ended)) = running.next().await {
        let ended = ended?;
        let is_enough = match until {
            JoinPolicy::All => false,
            JoinPolicy::Any => is_good(&ended),
            JoinPolicy::Race => true,
        };
        slots[at] = Some(ended);
        if is_enough {
            break;
        }
    }
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Barrier;

    const BOUNDS: ConcurrencyLimits = ConcurrencyLimits {
        most: 6,
        at_once: 3,
    };

    /// What a call does: it ends at once, well or not, or never.
    type Plan = Option<bool>;

    async fn run(until: JoinPolicy, plans: &[Plan]) -> Vec<Option<bool>> {
        let call = |plan: &Plan| match *plan {
            Some(good) => std::future::ready(Ok::<bool, Error>(good)).boxed(),
            None => std::future::pending().boxed(),
        };
        let calls = plans.iter().map(call).collect();
        run_concurrently(until, BOUNDS, calls, |good| *good)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn the_others_are_left_when_enough_have_ended() {
        let (good, bad, never) = (Some(true), Some(false), None);
        for (until, plans, expected) in [
            (JoinPolicy::All, [bad, good, bad], [bad, good, bad]),
            (JoinPolicy::Any, [bad, never, good], [bad, None, good]),
            (JoinPolicy::Any, [bad, bad, bad], [bad, bad, bad]),
            (JoinPolicy::Race, [never, bad, never], [None, bad, None]),
        ] {
            assert_eq!(run(until, &plans).await, expected, "{until:?} {plans:?}");
        }
    }

    #[tokio::test]
    async fn as_many_run_at_once_as_may_and_longer_lists_are_refused() {
        let all = JoinPolicy::All;
        let (running, most, barrier) = (AtomicUsize::new(0), AtomicUsize::new(0), Barrier::new(3));
        let call = || async {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            barrier.wait().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok::<(), Error>(())
        };
        let calls = (0..6).map(|_| call()).collect();
        assert_eq!(
            run_concurrently(all, BOUNDS, calls, |()| true)
                .await
                .unwrap(),
            [Some(()); 6]
        );
        assert_eq!(most.into_inner(), 3);
        let calls = vec![std::future::ready(Ok::<(), Error>(())); 7];
        let refused = run_concurrently(all, BOUNDS, calls, |()| true)
            .await
            .unwrap_err();
        let told = (refused.code, refused.message.as_str());
        assert_eq!(told, (ErrorCode::LimitExceeded, "at most 6 requests"));
    }

    #[tokio::test]
    async fn an_error_ends_all() {
        let calls = vec![
            std::future::pending().boxed(),
            std::future::ready(Err::<(), _>(Error::internal("no"))).boxed(),
        ];
        let all = JoinPolicy::All;
        assert!(
            run_concurrently(all, BOUNDS, calls, |()| true)
                .await
                .is_err()
        );
    }
}
