//! How usage is counted and priced.

use super::{Cost, UsageRecord};
use std::collections::BTreeMap;

/// How usage is counted.
#[derive(Clone, Debug)]
pub struct UsageSettings {
    /// Whether it is counted at all.
    pub is_tracked: bool,
    /// Prices by model name.
    pub prices: BTreeMap<String, ModelPrice>,
    /// What becomes of the sums of a removed chat.
    pub on_remove: OnRemove,
}

/// What becomes of a removed chat's sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnRemove {
    /// They stay, without user and chat.
    #[default]
    Keep,
    /// They go with it.
    Drop,
}

/// The price of a model in millionths of a currency for a million tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPrice {
    /// For tokens of requests.
    pub prompt: i64,
    /// For tokens of answers.
    pub completion: i64,
    /// The currency's code.
    pub currency: String,
}

impl Default for UsageSettings {
    fn default() -> Self {
        Self {
            is_tracked: true,
            prices: BTreeMap::new(),
            on_remove: OnRemove::default(),
        }
    }
}

impl UsageSettings {
    /// What a call costs, if its model has a price.
    pub(crate) fn price(&self, record: &UsageRecord) -> Option<Cost> {
        let price = self.prices.get(record.model_name.as_deref()?)?;
        price.cost(record)
    }
}

impl ModelPrice {
    /// What a call with the tokens of this record costs; nothing where no number could hold it.
    pub fn cost(&self, record: &UsageRecord) -> Option<Cost> {
        let spent = |tokens: i64, price: i64| i128::from(tokens) * i128::from(price) / 1_000_000;
        let micros = spent(record.prompt_tokens, self.prompt)
            + spent(record.completion_tokens, self.completion);
        Some(Cost {
            micros: i64::try_from(micros).ok()?,
            currency: self.currency.clone(),
        })
    }
}
