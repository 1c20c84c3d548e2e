//! Asking a model again, for what can pass. No tool call is repeated by it: an answer whose calls
//! were carried out has arrived, and one that broke off was thrown away before anyone saw a call.

use crate::harness::model::{BoxFuture, Identity, Model, ModelError, ModelTurn, Request};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// How often, and after how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Requests that are sent again for one answer.
    pub retries: u32,
    /// The wait before the first of them; each later one waits twice as long.
    pub first: Duration,
    /// The longest wait of our own, and the longest that an endpoint may ask for: where it wants
    /// to be left alone for longer, it is, and the error is told.
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { retries: 5, first: Duration::from_millis(500), longest: Duration::from_secs(60) }
    }
}

impl Backoff {
    /// The wait before the n-th retry (from 0): what the endpoint asked for, at least; else a part
    /// from the middle to the end of the interval that doubles. None where it is not to be asked.
    fn wait(&self, n: u32, asked: Option<Duration>, part: f64) -> Option<Duration> {
        let interval = self.first.saturating_mul(2_u32.saturating_pow(n)).min(self.longest);
        let jittered = interval.mul_f64(0.5 + part.clamp(0.0, 1.0) / 2.0);
        match asked {
            Some(asked) if asked > self.longest => None,
            // Many who were turned away together must not come back together.
            Some(asked) => Some(asked + self.first.mul_f64(part.clamp(0.0, 1.0))),
            None => Some(jittered),
        }
    }
}

/// A model that is asked again.
pub struct Retrying<M> {
    model: M,
    backoff: Backoff,
    random: Mutex<ChaCha8Rng>,
}

impl<M: Model> Retrying<M> {
    /// Asks `model` again where that can help. The seed is for the spread of the waits only.
    pub fn new(model: M, backoff: Backoff, seed: u64) -> Retrying<M> {
        Retrying { model, backoff, random: Mutex::new(ChaCha8Rng::seed_from_u64(seed)) }
    }

    async fn ask(&self, request: Request<'_>) -> Result<ModelTurn, ModelError> {
        let mut retries = 0;
        loop {
            let error = match self.model.respond(request).await {
                Ok(mut turn) => {
                    turn.usage.retries += u64::from(retries);
                    return Ok(turn);
                }
                Err(error) => error,
            };
            let asked = match &error {
                ModelError::Refused { retry_after, .. } => *retry_after,
                _ => None,
            };
            let part = self.random.lock().unwrap_or_else(PoisonError::into_inner).random::<f64>();
            let wait = self.backoff.wait(retries, asked, part);
            let Some(wait) = wait.filter(|_| error.is_transient() && retries < self.backoff.retries) else {
                return Err(if retries == 0 { error } else { error.after(retries) });
            };
            if let Some(listener) = request.listener {
                listener.discarded();
                listener.failed(&error);
            }
            tracing::debug!(%error, ?wait, "asking the model again");
            retries += 1;
            sleep(wait).await;
        }
    }
}

impl<M: Model> Model for Retrying<M> {
    fn respond<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(self.ask(request))
    }

    fn identity(&self) -> Identity {
        self.model.identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use tokio::time::Instant;

    /// Fails as told, then answers.
    struct Fails(Mutex<VecDeque<ModelError>>);

    impl Model for Fails {
        fn respond<'a>(&'a self, _: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
            let next = self.0.lock().unwrap().pop_front();
            Box::pin(std::future::ready(next.map_or(Ok(ModelTurn::default()), Err)))
        }

        fn identity(&self) -> Identity {
            Identity::default()
        }
    }

    fn refused(status: u16, retry_after: Option<u64>) -> ModelError {
        let retry_after = retry_after.map(Duration::from_secs);
        ModelError::Refused { status, message: "no".into(), retry_after }
    }

    /// What came of it, how long it took on a clock that is not waited for, and what is left.
    async fn ask(errors: Vec<ModelError>, backoff: Backoff) -> (Result<u64, String>, Duration, usize) {
        let model = Retrying::new(Fails(Mutex::new(errors.into())), backoff, 7);
        #[expect(clippy::disallowed_methods, reason = "a clock that is not waited for")]
        let before = Instant::now();
        let answer = model.respond(Request::new(&[], &[])).await;
        let left = model.model.0.lock().unwrap().len();
        (answer.map(|turn| turn.usage.retries).map_err(|error| error.to_string()), before.elapsed(), left)
    }

    #[tokio::test(start_paused = true)]
    async fn what_can_pass_is_asked_for_again_and_counted() {
        let errors =
            vec![refused(500, None), ModelError::Unreachable("x".into()), ModelError::Broken("y".into())];
        let (retries, took, _) = ask(errors, Backoff::default()).await;
        assert_eq!(retries, Ok(3));
        let whole = Duration::from_millis(500 + 1000 + 2000);
        assert!(took >= whole / 2 && took <= whole + Duration::from_millis(10), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_endpoint_is_left_alone_for_as_long_as_it_asks() {
        let (retries, took, _) =
            ask(vec![refused(429, Some(20)), refused(529, Some(3))], Backoff::default()).await;
        assert_eq!(retries, Ok(2));
        assert!(took >= Duration::from_secs(23) && took <= Duration::from_millis(24_100), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_endpoint_that_wants_to_be_left_alone_for_too_long_is_not_waited_for() {
        let (answer, took, _) = ask(vec![refused(429, Some(3600))], Backoff::default()).await;
        assert_eq!(answer, Err("the model endpoint answered 429: no".into()));
        assert_eq!(took, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_pass_is_not_asked_for_again() {
        for error in [refused(401, None), refused(400, None), ModelError::TooLong("x".into())] {
            let (answer, took, left) = ask(vec![error.clone(), error.clone()], Backoff::default()).await;
            assert_eq!((answer, took, left), (Err(error.to_string()), Duration::ZERO, 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn there_is_an_end_to_it() {
        let backoff = Backoff { retries: 3, ..Backoff::default() };
        let (answer, _, left) = ask(vec![refused(503, None); 9], backoff).await;
        assert_eq!(answer, Err("the model endpoint answered 503: no (asked 4 times)".into()));
        assert_eq!(left, 5);
    }

    proptest::proptest! {
        #[test]
        fn waits_grow_and_stay_within_bounds(n in 0_u32..100, part in 0.0..1.0) {
            let backoff = Backoff::default();
            let wait = backoff.wait(n, None, part).unwrap();
            proptest::prop_assert!(wait <= backoff.longest && wait >= backoff.first / 2);
            proptest::prop_assert!(backoff.wait(n + 2, None, part).unwrap() >= wait);
        }
    }
}
