//! Decimal numbers of any precision and any exponent, compared by value.

/// Up to this many digits a number is written out in full; beyond, with an exponent. Keeps
/// `1e999999999` from becoming a gigabyte of zeros, and ordinary numbers readable.
const PLAIN_DIGITS: i128 = 21;

/// An exponent of that many digits fits an `i128` with room for the shift; longer ones are
/// added up digit by digit.
const SMALL_EXPONENT: usize = 30;

/// Where the JSON number that begins at `start` ends; none where there is none.
pub(super) fn scan(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    let whole = digits_end(bytes, at);
    if whole == at || (bytes.get(at) == Some(&b'0') && whole > at + 1) {
        return None;
    }
    at = whole;
    if bytes.get(at) == Some(&b'.') {
        let end = digits_end(bytes, at + 1);
        if end == at + 1 {
            return None;
        }
        at = end;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits_end(bytes, at + 1 + sign);
        if end == at + 1 + sign {
            return None;
        }
        at = end;
    }
    Some(at)
}

fn digits_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Appends the one spelling that all spellings of this value share; it is a JSON number.
///
/// Takes a little more than JSON does, since people write numbers into strings: a plus sign,
/// leading zeros, nothing before or behind the point. Anything else must have been refused by
/// the caller.
pub(crate) fn push_value(out: &mut String, text: &str) {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));

    let mut joined = String::with_capacity(whole.len() + fraction.len());
    joined.push_str(whole);
    joined.push_str(fraction);
    let without_tail = joined.trim_end_matches('0');
    let tail = joined.len() - without_tail.len();
    let digits = without_tail.trim_start_matches('0');
    if digits.is_empty() {
        out.push('0');
        return;
    }
    if negative {
        out.push('-');
    }
    push_scaled(out, digits, exponent, tail as i128 - fraction.len() as i128);
}

/// `digits` × 10^(`written` + `shift`); `digits` has no zero at either end.
fn push_scaled(out: &mut String, digits: &str, written: &str, shift: i128) {
    let (minus, magnitude) = match written.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, written.strip_prefix('+').unwrap_or(written)),
    };
    let magnitude = magnitude.trim_start_matches('0');
    if magnitude.len() > SMALL_EXPONENT {
        out.push_str(digits);
        out.push_str(if minus { "e-" } else { "e" });
        push_sum(out, magnitude, if minus { -shift } else { shift });
        return;
    }
    let magnitude = magnitude.parse::<i128>().unwrap_or(0);
    let exponent = if minus { shift - magnitude } else { shift + magnitude };
    let count = digits.len() as i128;
    if exponent == 0 {
        out.push_str(digits);
    } else if exponent > 0 && count + exponent <= PLAIN_DIGITS {
        out.push_str(digits);
        push_zeros(out, exponent);
    } else if (-PLAIN_DIGITS..0).contains(&exponent) && count <= PLAIN_DIGITS {
        let before_point = count + exponent;
        if before_point > 0 {
            let (whole, fraction) = digits.split_at(usize::try_from(before_point).unwrap_or(0));
            out.push_str(whole);
            out.push('.');
            out.push_str(fraction);
        } else {
            out.push_str("0.");
            push_zeros(out, -before_point);
            out.push_str(digits);
        }
    } else {
        out.push_str(digits);
        out.push('e');
        out.push_str(&exponent.to_string());
    }
}

fn push_zeros(out: &mut String, count: i128) {
    for _ in 0..count {
        out.push('0');
    }
}

/// `magnitude` + `shift` in decimal digits. The magnitude has more than [`SMALL_EXPONENT`]
/// digits and the shift is a length of memory, so the sum is never negative.
fn push_sum(out: &mut String, magnitude: &str, shift: i128) {
    let mut sum = Vec::with_capacity(magnitude.len() + 1);
    let mut carry = shift;
    for byte in magnitude.bytes().rev() {
        let place = i128::from(byte - b'0') + carry;
        sum.push(u8::try_from(place.rem_euclid(10)).unwrap_or(0) + b'0');
        carry = place.div_euclid(10);
    }
    while carry > 0 {
        sum.push(u8::try_from(carry % 10).unwrap_or(0) + b'0');
        carry /= 10;
    }
    while sum.last() == Some(&b'0') {
        sum.pop();
    }
    out.extend(sum.iter().rev().copied().map(char::from));
}
