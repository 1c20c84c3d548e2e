//! The secrets in the headers and parameters of a request that carry a credential. Pure.

use crate::domain::percent_decoded;
use base64::Engine as _;

/// Parts of the names of headers and parameters that carry credentials.
const PARTS: [&str; 9] =
    ["authorization", "cookie", "api-key", "apikey", "access-key", "token", "secret", "passw", "credential"];

/// Whether a header or a parameter of a request carries a credential, as far as its name tells.
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    PARTS.iter().any(|part| name.contains(part)) && !name.contains("idempotency")
}

/// Values of the credentials among the parameters of a query.
pub fn of_query(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let credentials = pairs.filter(|(name, value)| is_credential(name) && !value.is_empty());
    credentials.map(|(name, value)| (name.to_owned(), percent_decoded(&value.replace('+', " ")))).collect()
}

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
    fn the_name_tells_what_is_a_credential() {
        for name in ["Authorization", "x-api-key", "X-Auth-Token", "private-token", "access_token", "Cookie"]
        {
            assert!(is_credential(name), "{name}");
        }
        for name in ["idempotency-key", "content-type", "x-request-id", "accept", "Idempotency-Token"] {
            assert!(!is_credential(name), "{name}");
        }
        let wanted = [("api_key".to_owned(), "a b/ä".to_owned()), ("token".to_owned(), "%x".to_owned())];
        assert_eq!(of_query("api_key=a+b%2F%C3%A4&page=2&token=%x&secret="), wanted);
    }

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
