//! What the names of tools and fields say.

/// The words of a name in lower case: `createBooking`, `bookings.create-booking`, `create_booking`.
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut lower = false;
    let mut open = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            open = false;
            lower = false;
            continue;
        }
        let boundary = c.is_uppercase() && lower;
        if !open || boundary {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
        open = true;
        lower = !c.is_uppercase();
    }
    words
}

/// Whether the name is that of an identifier, which only the other side can have given.
pub fn is_identifier(name: &str) -> bool {
    let words = words(name);
    matches!(words.last().map(String::as_str), Some("id" | "ids" | "uuid" | "guid"))
        || words.iter().any(|word| matches!(word.as_str(), "reference" | "confirmation"))
}
