//! The judge from outside: cases around the real engine, and properties of random histories.

#[path = "judge/cases.rs"]
mod cases;
#[path = "judge/rig.rs"]
mod rig;
