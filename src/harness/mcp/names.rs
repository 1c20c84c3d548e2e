//! The names under which tools are offered to a model.

use crate::domain::digest;
use std::collections::HashSet;

/// How long a name may be, which is what the strictest vendor takes.
const LONGEST: usize = 64;
/// Digits of the digest that tells names apart which begin alike.
const DIGEST: usize = 8;

/// A name that every vendor takes (`^[a-zA-Z0-9_-]{1,64}$`) and that is not `taken`: the tool's
/// own where that is possible, else with its server's before it, else with a digest of both. The
/// same servers and tools give the same names every time.
pub(super) fn offered(server: &str, tool: &str, taken: &HashSet<String>) -> String {
    let own = sanitised(tool);
    let long = sanitised(&format!("{server}__{tool}"));
    let free = |name: &String| !name.is_empty() && name.len() <= LONGEST && !taken.contains(name);
    if let Some(name) = [own, long.clone()].into_iter().find(free) {
        return name;
    }
    let mut salt = 0_u64;
    loop {
        let name = with_digest(&long, &format!("{server}\0{tool}\0{salt}"));
        if free(&name) {
            return name;
        }
        salt += 1;
    }
}

fn sanitised(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

fn with_digest(name: &str, of: &str) -> String {
    let digest = digest(of);
    let begin = &name[..name.len().min(LONGEST - DIGEST - 1)];
    format!("{begin}_{}", &digest[..DIGEST])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_that_can_stay_stays() {
        let taken = HashSet::from(["book".to_owned()]);
        assert_eq!(offered("hotel", "create_booking", &taken), "create_booking");
        assert_eq!(offered("hotel", "book", &taken), "hotel__book");
        assert_eq!(offered("hotel", "bookings.create", &taken), "bookings_create");
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_vendors_take_and_there_once(
            tools in proptest::collection::vec((".{0,3}", "(a|b|ä|\\.|x{30,70}){0,3}"), 1..12),
        ) {
            let names = || {
                let mut taken = HashSet::new();
                for (server, tool) in &tools {
                    let name = offered(server, tool, &taken);
                    taken.insert(name);
                }
                taken
            };
            let taken = names();
            prop_assert_eq!(taken.len(), tools.len());
            for name in &taken {
                prop_assert!((1..=LONGEST).contains(&name.len()), "{}", name);
                prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{}", name);
            }
            prop_assert_eq!(names(), taken);
        }
    }
}
