//! What an agent reports of its own consumption, and what tokens cost.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::str::FromStr;

/// Tokens and cost of a run, as far as the agent tells them. Absent is not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that the model wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The part of `input_tokens` that the model read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Answers of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<u64>,
    /// Requests to it that failed and were sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
}

impl AddAssign for Usage {
    /// What nobody tells is not added; it stays absent only where nobody tells.
    fn add_assign(&mut self, more: Usage) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        let cost = |cost: Option<f64>| cost.filter(|cost| cost.is_finite());
        *self = Usage {
            input_tokens: sum(self.input_tokens, more.input_tokens),
            output_tokens: sum(self.output_tokens, more.output_tokens),
            cost_usd: match (cost(self.cost_usd), cost(more.cost_usd)) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            },
            cached_tokens: sum(self.cached_tokens, more.cached_tokens),
            answers: sum(self.answers, more.answers),
            retries: sum(self.retries, more.retries),
        };
    }
}

/// What tokens cost, in US dollars for a million of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Sent to the model.
    pub input: f64,
    /// Read from its cache; where it is none, those cost as much as all others.
    pub cached: Option<f64>,
    /// Written by the model.
    pub output: f64,
}

/// Why a text is no price of tokens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PricesError {
    /// A part of it.
    #[error("\"{0}\" is no amount of US dollars")]
    Amount(String),
    /// Their number.
    #[error("two prices are wanted, such as 0.15/0.60, or three, such as 3/0.30/15")]
    Number,
}

/// An amount of US dollars: 0 or more.
///
/// # Errors
/// [`PricesError::Amount`] for anything else.
pub fn dollars(text: &str) -> Result<f64, PricesError> {
    let read = text.trim().parse::<f64>().ok().filter(|usd| usd.is_finite() && *usd >= 0.0);
    read.ok_or_else(|| PricesError::Amount(text.to_owned()))
}

impl FromStr for Prices {
    type Err = PricesError;

    fn from_str(text: &str) -> Result<Prices, PricesError> {
        let parts = text.split('/').map(dollars).collect::<Result<Vec<_>, _>>()?;
        match parts[..] {
            [input, output] => Ok(Prices { input, cached: None, output }),
            [input, cached, output] => Ok(Prices { input, cached: Some(cached), output }),
            _ => Err(PricesError::Number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_two_or_three_amounts() {
        let prices = |text: &str| text.parse::<Prices>().map_err(|error| error.to_string());
        assert_eq!(prices("0.15/0.6").unwrap(), Prices { input: 0.15, cached: None, output: 0.6 });
        assert_eq!(prices("3/0.3/15").unwrap(), Prices { input: 3.0, cached: Some(0.3), output: 15.0 });
        assert!(prices("3").unwrap_err().contains("0.15/0.60"));
        assert!(prices("a/b").unwrap_err().contains("\"a\" is no amount"));
        assert!(prices("-1/2").is_err() && prices("inf/2").is_err());
    }
}
