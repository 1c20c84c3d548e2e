//! Percent-encoding, as addresses and headers have it.

/// A text as it was before it was encoded: `%2C` is a comma. A percent sign that no two hexadecimal digits
/// follow stands for itself; what is no UTF-8 then becomes the replacement character.
pub fn percent_decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        // A number may have a sign before it; an encoded byte has none.
        let digits = after.get(..2).filter(|two| *first == b'%' && two.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let encoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(encoded.unwrap_or(*first));
        rest = if encoded.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_hexadecimal_digits_stand_for_a_byte() {
        for (encoded, plain) in [
            ("a%2Cb%2fc", "a,b/c"),
            ("%C3%A4", "ä"),
            ("100%", "100%"),
            ("100%25%2", "100%%2"),
            ("%4", "%4"),
            ("%+f%-1%zz", "%+f%-1%zz"),
            ("%25%32%35", "%25"),
            ("ä%20€", "ä €"),
            ("%ff", "\u{fffd}"),
            ("", ""),
        ] {
            assert_eq!(percent_decoded(encoded), plain, "{encoded}");
        }
    }
}
