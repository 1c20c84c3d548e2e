//! A session in a SQLite file: a tree of steps, and branches that name its ends. Steps are added
//! and never changed, so that going back loses nothing.

use super::record::{Entry, VERSION};
use super::tree::{self, Resumed};
use super::{Journal, JournalError};
use crate::harness::context::Context;
use crate::harness::message::{Message, ToolCall};
use crate::harness::state::{Spent, State};
use crate::harness::tools::ToolOutcome;
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use std::path::Path;

/// Marks the file: "noch" in ASCII.
const APPLICATION: i64 = 0x6e6f_6368;

const TABLES: &str = "
    CREATE TABLE step (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES step (id), entry TEXT NOT NULL);
    CREATE TABLE branch (id INTEGER PRIMARY KEY, head INTEGER REFERENCES step (id));
    CREATE TABLE current (one INTEGER PRIMARY KEY CHECK (one = 1), branch INTEGER NOT NULL REFERENCES branch (id));
    INSERT INTO branch (id, head) VALUES (1, NULL);
    INSERT INTO current (one, branch) VALUES (1, 1);
";

const PATH: &str = "
    WITH RECURSIVE path (id, parent, entry) AS (
        SELECT id, parent, entry FROM step WHERE id = ?1
        UNION ALL
        SELECT step.id, step.parent, step.entry FROM step JOIN path ON step.id = path.parent
    )
    SELECT id, parent, entry FROM path ORDER BY id
";

/// An open session. One process has it at a time.
#[derive(Debug)]
pub struct SqliteJournal {
    db: Connection,
    file: String,
    branch: i64,
    head: Option<i64>,
    /// How many messages of the conversation are kept.
    kept: usize,
    context: Context,
    spent: Spent,
}

/// One way that a session took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its number, from 1.
    pub id: i64,
    /// Whether the session is on it.
    pub current: bool,
    /// How often the user spoke.
    pub said: usize,
    /// What the user said last.
    pub last: String,
}

impl SqliteJournal {
    /// Opens the session in a file, or begins one.
    ///
    /// # Errors
    /// Where another process has it open, the file is no session, or it cannot be used.
    pub fn open(path: &Path) -> Result<(SqliteJournal, Resumed), JournalError> {
        let file = path.display().to_string();
        let db = Connection::open(path).map_err(|error| told(&file, &error))?;
        SqliteJournal::prepare(db, file)
    }

    /// A session that ends with the process.
    ///
    /// # Errors
    /// Where SQLite has no memory.
    pub fn in_memory() -> Result<(SqliteJournal, Resumed), JournalError> {
        let file = "in memory".to_owned();
        let db = Connection::open_in_memory().map_err(|error| told(&file, &error))?;
        SqliteJournal::prepare(db, file)
    }

    fn prepare(db: Connection, file: String) -> Result<(SqliteJournal, Resumed), JournalError> {
        let prepared = (|| {
            // Whoever has the file keeps it until its end, also after kill -9: the system lets it go.
            db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
            let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
            let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
            let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
            let new = application == 0 && version == 0 && tables == 0;
            if new {
                db.pragma_update(None, "journal_mode", "WAL")?;
                // A step that was kept survives the machine's end, too: the call after it may not.
                db.pragma_update(None, "synchronous", "FULL")?;
                db.execute_batch(&format!(
                    "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
                ))?;
            } else if application == APPLICATION && version <= VERSION {
                db.pragma_update(None, "synchronous", "FULL")?;
                // Takes the lock before anything is promised.
                db.execute_batch("BEGIN IMMEDIATE; COMMIT;")?;
            }
            Ok(new || (application == APPLICATION && version <= VERSION))
        })();
        match prepared {
            Ok(true) => {}
            Ok(false) => {
                let reason = "it is a SQLite file of another program or of a later version".to_owned();
                return Err(JournalError::Foreign { file, reason });
            }
            Err(error) => return Err(told(&file, &error)),
        }
        let mut journal = SqliteJournal {
            db,
            file,
            branch: 1,
            head: None,
            kept: 0,
            context: Context::default(),
            spent: Spent::default(),
        };
        let resumed = journal.load()?;
        Ok((journal, resumed))
    }

    fn load(&mut self) -> Result<Resumed, JournalError> {
        let (branch, head) = self
            .db
            .query_row(
                "SELECT branch.id, branch.head FROM branch JOIN current ON branch.id = current.branch",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .map_err(|error| self.told(&error))?;
        (self.branch, self.head) = (branch, head);
        let resumed = tree::rebuild(self.path(head)?.into_iter().map(|step| step.entry).collect());
        self.kept = resumed.kept;
        self.context = resumed.state.context.clone();
        self.spent = resumed.state.spent;
        Ok(resumed)
    }

    fn path(&self, head: Option<i64>) -> Result<Vec<Step>, JournalError> {
        let read = || {
            let mut statement = self.db.prepare(PATH)?;
            let rows = statement.query_map([head], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?, row.get::<_, String>(2)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let rows = read().map_err(|error| self.told(&error))?;
        let step = |(id, parent, text): (i64, Option<i64>, String)| {
            let entry = serde_json::from_str(&text).map_err(|error| JournalError::Foreign {
                file: self.file.clone(),
                reason: format!("its step {id} cannot be read: {error}"),
            })?;
            Ok(Step { parent, entry })
        };
        rows.into_iter().map(step).collect()
    }

    /// Goes back to before the user's last `turns` messages, or to the beginning, on a new branch.
    /// What was consumed stays consumed.
    ///
    /// # Errors
    /// Where the file cannot be read or written.
    pub fn back(&mut self, turns: usize) -> Result<Resumed, JournalError> {
        let path = self.path(self.head)?;
        let said = path.iter().rev().filter(|step| matches!(step.entry, Entry::User { .. }));
        let head = match said.take(turns).last() {
            Some(step) => step.parent,
            None => self.head,
        };
        let spent = self.spent;
        self.write(|db| {
            db.execute("INSERT INTO branch (head) VALUES (?1)", [head])?;
            db.execute("UPDATE current SET branch = ?1", [db.last_insert_rowid()])
        })?;
        self.arrive(spent)
    }

    /// Goes to another branch.
    ///
    /// # Errors
    /// Where there is none of that number, or the file cannot be read or written.
    pub fn switch(&mut self, branch: i64) -> Result<Resumed, JournalError> {
        let known: Option<i64> = self
            .db
            .query_row("SELECT id FROM branch WHERE id = ?1", [branch], |row| row.get(0))
            .optional()
            .map_err(|error| self.told(&error))?;
        if known.is_none() {
            return Err(JournalError::NoBranch(branch));
        }
        let spent = self.spent;
        self.write(|db| db.execute("UPDATE current SET branch = ?1", [branch]))?;
        self.arrive(spent)
    }

    fn arrive(&mut self, spent: Spent) -> Result<Resumed, JournalError> {
        let mut resumed = self.load()?;
        resumed.state.spent = spent;
        Ok(resumed)
    }

    /// All ways that the session took.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn branches(&self) -> Result<Vec<Branch>, JournalError> {
        let read = || {
            let mut statement = self.db.prepare("SELECT id, head FROM branch ORDER BY id")?;
            let rows =
                statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let rows = read().map_err(|error| self.told(&error))?;
        let branch = |(id, head)| {
            let path = self.path(head)?;
            let said: Vec<&String> = path
                .iter()
                .filter_map(|step| match &step.entry {
                    Entry::User { text } => Some(text),
                    _ => None,
                })
                .collect();
            let last = said.last().map_or_else(String::new, |text| (*text).clone());
            Ok(Branch { id, current: id == self.branch, said: said.len(), last })
        };
        rows.into_iter().map(branch).collect()
    }

    fn append(&mut self, entries: &[Entry]) -> Result<(), JournalError> {
        let texts =
            entries.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>().map_err(|error| {
                JournalError::Store { file: self.file.clone(), reason: error.to_string() }
            })?;
        let (branch, mut head) = (self.branch, self.head);
        head = self.write(|db| {
            let mut insert = db.prepare("INSERT INTO step (parent, entry) VALUES (?1, ?2)")?;
            for text in &texts {
                head = Some(insert.insert(params![head, text])?);
            }
            db.prepare("UPDATE branch SET head = ?1 WHERE id = ?2")?.execute(params![head, branch])?;
            Ok(head)
        })?;
        self.head = head;
        Ok(())
    }

    /// All of it, or nothing.
    fn write<T>(&mut self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, JournalError> {
        let file = &self.file;
        let written = (|| {
            let transaction = self.db.transaction()?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })();
        written.map_err(|error| told(file, &error))
    }

    fn told(&self, error: &rusqlite::Error) -> JournalError {
        told(&self.file, error)
    }
}

struct Step {
    parent: Option<i64>,
    entry: Entry,
}

fn told(file: &str, error: &rusqlite::Error) -> JournalError {
    let file = file.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => JournalError::InUse(file),
        Some(ErrorCode::NotADatabase) => {
            JournalError::Foreign { file, reason: "it is no SQLite file".to_owned() }
        }
        _ => JournalError::Store { file, reason: error.to_string() },
    }
}

impl Journal for SqliteJournal {
    fn keep(&mut self, state: &State) -> Result<(), JournalError> {
        let messages: &[Message] = state.conversation.messages();
        let mut entries: Vec<Entry> =
            messages.get(self.kept..).unwrap_or_default().iter().map(Entry::from).collect();
        if state.context != self.context {
            entries.push(Entry::from(&state.context));
        }
        if state.spent != self.spent {
            entries.push(Entry::from(&state.spent));
        }
        if entries.is_empty() {
            return Ok(());
        }
        self.append(&entries)?;
        self.kept = messages.len();
        self.context = state.context.clone();
        self.spent = state.spent;
        Ok(())
    }

    fn sending(&mut self, calls: &[&ToolCall]) -> Result<(), JournalError> {
        self.append(&[Entry::Sending { calls: calls.iter().map(|call| call.id.clone()).collect() }])
    }

    fn finished(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> Result<(), JournalError> {
        self.append(&[Entry::Finished {
            call: call.id.clone(),
            text: outcome.text.clone(),
            error: outcome.is_error,
        }])
    }
}
