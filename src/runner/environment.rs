//! Variables of this program's environment.

/// The value of a variable. None where it is empty: that is how one is switched off.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
