//! The rules, one by one.

mod faults;
mod history;
mod rules;
mod traces;
