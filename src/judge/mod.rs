//! (being built)
pub mod respelling;
