//! Nothing that an agent can see gives the test away.
