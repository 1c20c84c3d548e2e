//! Names that nobody can guess and that come only once.

use crate::domain::hex;

/// That many random bytes, in hexadecimal.
///
/// # Errors
/// Where the system gives none.
pub(crate) fn random_hex<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}
