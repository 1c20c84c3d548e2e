//! Faults that a suite describes itself.
