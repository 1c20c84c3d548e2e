//! The rules, one by one.

mod history;
mod rules;
mod traces;
