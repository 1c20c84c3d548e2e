//! `nochmal proxy` from outside: real processes, a scripted upstream, and the report file.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of these tests fail loudly")]
#![expect(clippy::disallowed_methods, reason = "these tests watch the clock")]

#[path = "proxy/cases.rs"]
mod cases;
#[path = "proxy/ids.rs"]
mod ids;
#[path = "rig/machine.rs"]
mod machine;
#[path = "proxy/report.rs"]
mod report;
#[path = "proxy/rig.rs"]
mod rig;
#[path = "proxy/start.rs"]
mod start;

#[test]
fn cases_of_the_rules() {
    cases::run(include_str!("proxy/cases.json"));
}

#[test]
fn further_cases_of_the_rules() {
    cases::run(include_str!("proxy/further.json"));
}
