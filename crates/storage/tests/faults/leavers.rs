//! A caller who leaves while something is saved: G26.

use crate::app::{App, open, say, spend};
use crate::stores::{Store, wait_for};
use ambit_storage::LiveAgent;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for something, but not for long: it is dropped at the wait after so many.
struct Impatient<F> {
    work: Option<Pin<Box<F>>>,
    waits: usize,
}

impl<F: Future> Future for Impatient<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = self.work.as_mut() else {
            return Poll::Ready(None);
        };
        match work.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if self.waits == 0 => {
                self.work = None;
                Poll::Ready(None)
            }
            Poll::Pending => {
                self.waits -= 1;
                Poll::Pending
            }
        }
    }
}

async fn texts(agent: &LiveAgent) -> Vec<String> {
    let messages = agent.history().messages().await.unwrap();
    messages.iter().map(|message| message.text()).collect()
}

pub fn g026_a_save_whose_caller_left_is_done_once(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        for waits in 0.. {
            let ambit = app.tenant(&format!("left after {waits}"));
            let agent = open(&ambit, "a").await.unwrap();
            say(&agent, "one").await.unwrap();
            say(&agent, "two").await.unwrap();
            spend(&agent).unwrap();
            let context = agent.context().clone();
            let work = Some(Box::pin(async move { context.save().await }));
            let saved = Impatient { work, waits }.await;
            let is_whole = saved.transpose().unwrap().is_some();
            // Whether the first is still at work or not, the second finds nothing left to do.
            agent.context().save().await.unwrap();
            assert!(!agent.context().is_dirty());
            let agent = open(&ambit, "a").await.unwrap();
            assert_eq!(texts(&agent).await, ["one", "two"], "left after {waits}");
            let spent = agent.usage().aggregate().await.unwrap().unwrap();
            assert_eq!(spent.records, 1, "left after {waits}");
            if is_whole {
                break;
            }
        }
    });
}

pub fn g026_two_saves_at_once_are_done_once(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let agent = open(&app.tenant("t"), "a").await.unwrap();
        for round in 1..=10 {
            say(&agent, "said").await.unwrap();
            spend(&agent).unwrap();
            let (one, other) = (agent.context().clone(), agent.context().clone());
            let (one, other) = tokio::join!(one.save(), other.save());
            one.unwrap();
            other.unwrap();
            let spent = agent.usage().aggregate().await.unwrap().unwrap();
            assert_eq!(spent.records, round);
        }
        assert_eq!(texts(&agent).await.len(), 10);
    });
}
