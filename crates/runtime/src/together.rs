//! Several calls at once, as in `All`, `Any` and `Race`.

use crate::error::Error;
use futures::{StreamExt, stream};

/// How long the others are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All have ended.
    All,
    /// One has succeeded.
    Any,
    /// One has ended.
    Race,
}

/// Calls in one list.
const MOST: usize = 64;
/// Calls that run at once.
const RUNNING: usize = 16;

impl Until {
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
pub async fn together<T, E: From<Error>>(
    until: Until,
    calls: Vec<impl Future<Output = Result<T, E>>>,
    is_good: impl Fn(&T) -> bool,
) -> Result<Vec<Option<T>>, E> {
    if calls.len() > MOST {
        let what = format!("at most {MOST} requests");
        return Err(Error::invalid("requests", what).into());
    }
    let mut slots: Vec<Option<T>> = calls.iter().map(|_| None).collect();
    let numbered = calls.into_iter().enumerate();
    let numbered = numbered.map(|(at, call)| async move { (at, call.await) });
    let mut running = stream::iter(numbered).buffer_unordered(RUNNING);
    while let Some((at, ended)) = running.next().await {
        let ended = ended?;
        let is_enough = match until {
            Until::All => false,
            Until::Any => is_good(&ended),
            Until::Race => true,
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

    /// What a call does: it ends at once, well or not, or never.
    type Plan = Option<bool>;

    async fn run(until: Until, plans: &[Plan]) -> Vec<Option<bool>> {
        let call = |plan: &Plan| match *plan {
            Some(good) => std::future::ready(Ok::<bool, Error>(good)).boxed(),
            None => std::future::pending().boxed(),
        };
        let calls = plans.iter().map(call).collect();
        together(until, calls, |good| *good).await.unwrap()
    }

    #[tokio::test]
    async fn the_others_are_left_when_enough_have_ended() {
        let (good, bad, never) = (Some(true), Some(false), None);
        for (until, plans, expected) in [
            (Until::All, [bad, good, bad], [bad, good, bad]),
            (Until::Any, [bad, never, good], [bad, None, good]),
            (Until::Any, [bad, bad, bad], [bad, bad, bad]),
            (Until::Race, [never, bad, never], [None, bad, None]),
        ] {
            assert_eq!(run(until, &plans).await, expected, "{until:?} {plans:?}");
        }
    }

    #[tokio::test]
    async fn sixteen_run_at_once_and_more_than_sixty_four_are_refused() {
        let (running, most, barrier) = (AtomicUsize::new(0), AtomicUsize::new(0), Barrier::new(16));
        let call = || async {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            barrier.wait().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok::<(), Error>(())
        };
        let calls = (0..64).map(|_| call()).collect();
        assert_eq!(
            together(Until::All, calls, |()| true).await.unwrap().len(),
            64
        );
        assert_eq!(most.into_inner(), 16);
        let calls = vec![std::future::ready(Ok::<(), Error>(())); 65];
        let refused = together(Until::All, calls, |()| true).await.unwrap_err();
        assert_eq!(refused.message, "at most 64 requests");
    }

    #[tokio::test]
    async fn an_error_ends_all() {
        let calls = vec![
            std::future::pending().boxed(),
            std::future::ready(Err::<(), _>(Error::internal("no"))).boxed(),
        ];
        assert!(together(Until::All, calls, |()| true).await.is_err());
    }
}
