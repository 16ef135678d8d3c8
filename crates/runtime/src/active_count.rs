//! How many of something there are, so that their end can be waited for.

use tokio::sync::watch;

/// The count.
#[derive(Clone, Default)]
pub struct ActiveCount(watch::Sender<usize>);

/// One of them, for as long as it lasts.
pub struct ActiveGuard(ActiveCount);

impl ActiveCount {
    /// One more.
    pub fn enter(&self) -> ActiveGuard {
        self.0.send_modify(|count| *count += 1);
        ActiveGuard(self.clone())
    }

    /// Waits until there is none any more.
    pub async fn wait_for_zero(&self) {
        let mut count = self.0.subscribe();
        // It fails only without a sender, and this is one.
        let _ = count.wait_for(|count| *count == 0).await;
    }
}

impl Drop for ActiveGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::ActiveCount;

    #[tokio::test]
    async fn what_has_not_ended_is_waited_for() {
        let census = ActiveCount::default();
        let one = census.enter();
        let mut none = std::pin::pin!(census.wait_for_zero());
        assert!(futures::poll!(none.as_mut()).is_pending());
        drop(one);
        none.await;
    }
}
