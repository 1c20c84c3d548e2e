//! SHA-256 as the text that files and tables carry.

use sha2::{Digest, Sha256};

/// Bytes in hexadecimal, small letters.
pub fn hex(bytes: &[u8]) -> String {
    // Every line of a trace carries one: a formatter for each byte would cost more than the hash.
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let half = |value: u8| DIGITS[usize::from(value & 0x0f)];
    bytes.iter().flat_map(|byte| [half(byte >> 4), half(*byte)]).collect()
}

/// SHA-256 of one text, hexadecimal.
pub fn digest(text: &str) -> String {
    digest_bytes(text.as_bytes())
}

/// SHA-256 of bytes, hexadecimal.
pub fn digest_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 over texts and their lengths, hexadecimal: where one text ends and the next begins counts.
pub fn digest_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_small_digits() {
        for byte in 0..=u8::MAX {
            assert_eq!(hex(&[byte, 0x0a]), format!("{byte:02x}0a"));
        }
    }
}
