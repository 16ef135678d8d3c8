//! stub
use super::*;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    #[default]
    All,
    Primary,
}
pub struct Chain(Arc<dyn Driver>);
impl Chain {
    pub fn new(d: Vec<(String, Arc<dyn Driver>)>, _p: Policy) -> Result<Self> {
        Ok(Self(d[0].1.clone()))
    }
    pub fn degraded(&self) -> Vec<(String, String)> {
        vec![]
    }
}
#[async_trait]
impl Driver for Chain {
    async fn commit(&self, batch: Batch) -> Result<Vec<Outcome>> {
        self.0.commit(batch).await
    }
    async fn read(&self, log: &LogKey, range: Range) -> Result<Page> {
        self.0.read(log, range).await
    }
    async fn get(&self, key: &Key, part: Part) -> Result<Option<Entry>> {
        self.0.get(key, part).await
    }
    async fn scan(&self, space: &Space, scan: &Scan) -> Result<Vec<(String, Entry)>> {
        self.0.scan(space, scan).await
    }
    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.0.logs(space).await
    }
    async fn identities(&self, filter: &Filter, page: &PageRequest) -> Result<Vec<Tracked>> {
        self.0.identities(filter, page).await
    }
    async fn count(&self, filter: &Filter) -> Result<u64> {
        self.0.count(filter).await
    }
    async fn watch(&self, log: &LogKey) -> Result<Watch> {
        self.0.watch(log).await
    }
    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.0.sweep(limit).await
    }
    async fn check(&self) -> Result<Vec<String>> {
        self.0.check().await
    }
    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}
