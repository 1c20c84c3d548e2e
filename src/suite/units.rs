//! Durations and sizes as people write them.

use std::time::Duration;

/// Why a text is no duration or size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Nothing was written.
    #[error("it is empty")]
    Empty,
    /// A number without its unit.
    #[error("the unit is missing")]
    NoUnit,
    /// A unit without a number, or something else.
    #[error("expected a number at `{0}`")]
    NoNumber(String),
    /// A unit that does not exist.
    #[error("unknown unit `{0}`")]
    Unit(String),
    /// More than can be counted.
    #[error("it is too large")]
    TooLarge,
}

/// `500ms`, `90s`, `1m 30s`, `2h`, `1.5s`.
///
/// # Errors
/// When a number or a unit is missing or unknown.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(UnitError::Empty);
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, unit, after) = part(rest)?;
        let nanos = match unit {
            "ms" => 1_000_000,
            "s" | "sec" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "" if number == "0" => 1,
            "" => return Err(UnitError::NoUnit),
            other => return Err(UnitError::Unit(other.to_owned())),
        };
        let nanos = scaled(number, nanos)?;
        let part = Duration::from_nanos(u64::try_from(nanos).map_err(|_| UnitError::TooLarge)?);
        total = total.checked_add(part).ok_or(UnitError::TooLarge)?;
        rest = after.trim_start();
    }
    Ok(total)
}

/// `500B`, `200kB`, `64KiB`, `10MiB`, `1.5GiB`.
///
/// # Errors
/// When a number or a unit is missing or unknown.
pub fn size(text: &str) -> Result<u64, UnitError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(UnitError::Empty);
    }
    let (number, unit, after) = part(text)?;
    if !after.is_empty() {
        return Err(UnitError::NoNumber(after.to_owned()));
    }
    let factor = match unit {
        "B" => 1,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "" => return Err(UnitError::NoUnit),
        other => return Err(UnitError::Unit(other.to_owned())),
    };
    u64::try_from(scaled(number, factor)?).map_err(|_| UnitError::TooLarge)
}

/// The first number and unit of a text, and what follows.
fn part(text: &str) -> Result<(&str, &str, &str), UnitError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let dots = number.matches('.').count();
    if number.is_empty() || dots > 1 || number.starts_with('.') || number.ends_with('.') {
        return Err(UnitError::NoNumber(text.to_owned()));
    }
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
    let (unit, after) = rest.split_at(end);
    Ok((number, unit, after))
}

/// `number` × `factor`, the fraction cut after the last whole unit. Exact, without floats.
fn scaled(number: &str, factor: u128) -> Result<u128, UnitError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.len() > 12 {
        return Err(UnitError::TooLarge);
    }
    let whole: u128 = whole.parse().map_err(|_| UnitError::TooLarge)?;
    let mut total = whole.checked_mul(factor).ok_or(UnitError::TooLarge)?;
    if !fraction.is_empty() {
        let parts: u128 = fraction.parse().map_err(|_| UnitError::TooLarge)?;
        let scale = (0..fraction.len()).fold(1u128, |scale, _| scale * 10);
        total = total.checked_add(parts * factor / scale).ok_or(UnitError::TooLarge)?;
    }
    Ok(total)
}

/// `1m 30s`, as [`duration`] reads it.
pub fn show_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let parts = [
        (millis / 3_600_000, "h"),
        (millis / 60_000 % 60, "m"),
        (millis / 1000 % 60, "s"),
        (millis % 1000, "ms"),
    ];
    let shown: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect();
    if shown.is_empty() { "0s".to_owned() } else { shown.join(" ") }
}

/// `10MiB`, as [`size`] reads it.
pub fn show_size(bytes: u64) -> String {
    for (factor, unit) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= factor && bytes.is_multiple_of(factor) {
            return format!("{}{unit}", bytes / factor);
        }
    }
    format!("{bytes}B")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read() {
        for (text, millis) in [
            ("90s", 90_000),
            ("1m 30s", 90_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("1.5 s", 1500),
            ("2h", 7_200_000),
            ("0", 0),
            ("5 min", 300_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn bad_durations_say_why() {
        for (text, why) in [
            ("", "it is empty"),
            ("60", "the unit is missing"),
            ("soon", "expected a number at `soon`"),
            ("5 parsecs", "unknown unit `parsecs`"),
            ("-5s", "expected a number at `-5s`"),
            ("1..5s", "expected a number at `1..5s`"),
            ("99999999999999999999999999h", "it is too large"),
        ] {
            assert_eq!(duration(text).unwrap_err().to_string(), why, "{text}");
        }
    }

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [("10MiB", 10 << 20), ("200kB", 200_000), ("1.5KiB", 1536), ("7 B", 7)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        assert_eq!(size("10").unwrap_err(), UnitError::NoUnit);
        assert_eq!(size("10MiB 3").unwrap_err(), UnitError::NoNumber(" 3".to_owned()));
        assert_eq!(size("99999999999GiB").unwrap_err(), UnitError::TooLarge);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(millis in 0u64..10_000_000_000, bytes in 0u64..1 << 50) {
            let time = Duration::from_millis(millis);
            prop_assert_eq!(duration(&show_duration(time)), Ok(time));
            prop_assert_eq!(size(&show_size(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,20}|[0-9.]{0,40}[a-zA-Z]{0,3}") {
            let _ = duration(&text);
            let _ = size(&text);
        }
    }
}
