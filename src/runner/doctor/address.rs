//! Addresses of model endpoints, as they may be told. Pure.

/// A URL without user, password and query.
pub fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{path}")
}

/// Whether two URLs lead to the same port of this machine.
pub fn same_place(one: &str, other: &str) -> bool {
    let place = |url: &str| {
        let url = without_secrets(url).replace("//localhost", "//127.0.0.1");
        url.split('/').nth(2).map(str::to_owned)
    };
    place(one) == place(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_a_url_is_told() {
        assert_eq!(without_secrets("https://ada:secret@host:1/v1?key=secret"), "https://host:1/v1");
        assert!(same_place("http://localhost:11434", "http://127.0.0.1:11434/v1"));
    }
}
