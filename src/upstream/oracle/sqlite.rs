//! `sqlite`: every row of a query is a record. The file is opened for reading only.

use super::{Moment, OracleError};
use crate::truth::Reading;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) async fn ask(
    file: &Path,
    query: &str,
    moment: Moment,
    limit: Duration,
) -> Result<Reading, OracleError> {
    if !file.exists() {
        return match moment {
            // Many servers make their file when they start.
            Moment::Before => {
                Ok(if counts(query) { Reading::Number(0) } else { Reading::Records(Vec::new()) })
            }
            Moment::After => Err(OracleError::NoFile(file.to_owned())),
        };
    }
    let (path, sql): (PathBuf, String) = (file.to_owned(), query.to_owned());
    let asked = tokio::task::spawn_blocking(move || {
        read(&path, &sql, limit)
            .map_err(|error| OracleError::Sqlite { file: path, reason: error.to_string() })
    });
    match asked.await {
        Ok(reading) => reading,
        Err(error) => Err(OracleError::Sqlite { file: file.to_owned(), reason: error.to_string() }),
    }
}

/// Whether a query asks for a number instead of records.
fn counts(query: &str) -> bool {
    let words: String = query.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase();
    words.starts_with("selectcount(")
}

fn read(file: &Path, query: &str, limit: Duration) -> rusqlite::Result<Reading> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(limit)?;
    let mut statement = connection.prepare(query)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([])?;
    if counts(query) && names.len() == 1 {
        let number: i64 = match rows.next()? {
            Some(row) => row.get(0)?,
            None => 0,
        };
        return Ok(Reading::Number(u64::try_from(number).unwrap_or(0)));
    }
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let mut record = Map::new();
        for (index, name) in names.iter().enumerate() {
            record.insert(name.clone(), value(row.get_ref(index)?));
        }
        records.push(Value::Object(record));
    }
    Ok(Reading::Records(records))
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => crate::domain::hex(bytes).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn rows_are_records_and_a_count_is_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.db");
        let limit = Duration::from_secs(180);
        let all = "SELECT * FROM orders";
        let missing = ask(&file, all, Moment::Before, limit).await.unwrap();
        assert_eq!(missing, Reading::Records(vec![]));
        assert!(matches!(ask(&file, all, Moment::After, limit).await, Err(OracleError::NoFile(_))));

        let connection = Connection::open(&file).unwrap();
        let sql = "CREATE TABLE orders (id INTEGER, guest TEXT, price REAL, raw BLOB);\
                   INSERT INTO orders VALUES (9007199254740993, 'Ada', 1.5, x'00ff'), (2, NULL, 2, NULL)";
        connection.execute_batch(sql).unwrap();
        let rows = json!([
            {"id": 9_007_199_254_740_993_i64, "guest": "Ada", "price": 1.5, "raw": "00ff"},
            {"id": 2, "guest": null, "price": 2.0, "raw": null}
        ]);
        let read = ask(&file, all, Moment::After, limit).await.unwrap();
        assert_eq!(read, Reading::Records(rows.as_array().unwrap().clone()));
        for count in ["SELECT count(*) FROM orders", " select\n COUNT (id) AS n from orders"] {
            assert_eq!(ask(&file, count, Moment::After, limit).await.unwrap(), Reading::Number(2));
        }
    }

    #[tokio::test]
    async fn nothing_is_ever_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.db");
        Connection::open(&file).unwrap().execute_batch("CREATE TABLE orders (id INTEGER)").unwrap();
        let asked = ask(&file, "DELETE FROM orders", Moment::After, Duration::from_secs(180)).await;
        let error = asked.unwrap_err().to_string();
        assert!(error.contains("readonly") || error.contains("read-only"), "{error}");
        let wrong = ask(&file, "SELECT * FROM order", Moment::After, Duration::from_secs(180)).await;
        assert!(wrong.unwrap_err().to_string().contains("app.db: "));
    }
}
