//! What goes to stdout. One place, so that a result that could not be written is never a success.

use super::{Failure, exit};
use std::io::{self, ErrorKind, Write};

/// Prints a text.
///
/// # Errors
/// Where it cannot be written, such as to a full disk. A reader that went away (`| head`) is no error.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// The same for what is already encoded.
pub(super) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    written(io::stdout().lock().write_all(bytes).and_then(|()| io::stdout().flush()))
}

/// What a write to stdout means for the command.
pub(super) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::said(exit::FAILED, format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reader_that_went_away_is_no_failure() {
        assert!(written(Ok(())).is_ok());
        assert!(written(Err(ErrorKind::BrokenPipe.into())).is_ok());
        assert_eq!(written(Err(ErrorKind::StorageFull.into())).unwrap_err().code, exit::FAILED);
    }
}
