//! The loop, with models and tools that do as a test says.

mod length;
mod limits;
mod order;
mod rig;
