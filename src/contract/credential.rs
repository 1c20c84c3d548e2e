//! The secrets in a header that carries a credential. Pure.

use base64::Engine as _;

/// Headers that carry credentials.
pub const HEADERS: [&str; 5] = ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"];

/// Each value that a header's reader could use by itself: what follows the scheme, the user and the
/// password of `Basic`, the value of every cookie.
pub fn values(header: &str, value: &str) -> Vec<String> {
    if header == "cookie" {
        let cookies =
            value.split(';').map(|cookie| cookie.split_once('=').map_or(cookie, |(_, value)| value));
        let cookies = cookies.map(|value| value.trim().trim_matches('"').to_owned());
        return std::iter::once(value.to_owned()).chain(cookies).filter(|value| !value.is_empty()).collect();
    }
    let Some((scheme, rest)) = value.trim().split_once(' ') else { return vec![value.trim().to_owned()] };
    let mut values = vec![rest.trim().to_owned()];
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(rest.trim())
    {
        let pair = String::from_utf8_lossy(&bytes).into_owned();
        let parts: Vec<String> = pair
            .split_once(':')
            .into_iter()
            .flat_map(|(user, word)| [user.to_owned(), word.to_owned()])
            .collect();
        values.push(pair);
        values.extend(parts.into_iter().filter(|part| !part.is_empty()));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_credential_are_known_one_by_one() {
        assert_eq!(values("authorization", "Bearer abc-123"), ["abc-123"]);
        assert_eq!(values("x-api-key", "abc-123"), ["abc-123"]);
        assert_eq!(
            values("authorization", "basic c2VydmljZTpzM2NyZXQtOTk="),
            ["c2VydmljZTpzM2NyZXQtOTk=", "service:s3cret-99", "service", "s3cret-99"]
        );
        assert_eq!(
            values("cookie", "a=one-1; session=\"two-2\""),
            ["a=one-1; session=\"two-2\"", "one-1", "two-2"]
        );
        assert_eq!(values("authorization", "Basic %%%"), ["%%%"]);
    }
}
