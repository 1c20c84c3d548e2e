//! Reads a suite and everything that it names.

use crate::domain::digest_all;
use crate::harness::provider;
use crate::harness::script::{self, FILE};
use crate::suite::diagnostics::closest;
use crate::suite::{self, BuiltinNames, Context, Diagnostics, ProfileText, Suite};
use crate::upstream::builtin::BUILTINS;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The profiles that come with the program: usable from any folder. Those with a script of their own
/// are files only.
const BUILT_IN: [(&str, &str); 6] = [
    ("builtin", include_str!("../../agents/builtin.yaml")),
    ("claude-code", include_str!("../../agents/claude-code.yaml")),
    ("codex", include_str!("../../agents/codex.yaml")),
    ("gemini-cli", include_str!("../../agents/gemini-cli.yaml")),
    ("opencode", include_str!("../../agents/opencode.yaml")),
    ("qwen-code", include_str!("../../agents/qwen-code.yaml")),
];

/// A suite with what the runner must know of its files.
#[derive(Debug)]
pub struct Loaded {
    /// The suite.
    pub suite: Suite,
    /// Its file, absolute.
    pub file: PathBuf,
    /// Folders of the profiles that are files, by the agent's name.
    pub profile_dirs: BTreeMap<String, PathBuf>,
    /// Models that are scripts in files, as an agent is told of them: wherever it runs.
    pub model_files: BTreeMap<String, String>,
}

impl Loaded {
    /// The folder of the suite's file, in which what it names lies.
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }
}

/// Why a suite could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file.
    #[error("cannot read the suite `{}`{hint}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What was probably meant, ready to be read.
        hint: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A script that a model is.
    #[error("the model `{model}` is a script that cannot be read: {}", .path.display())]
    Script {
        /// As the suite names it.
        model: String,
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// What stands in it.
    #[error("{0}")]
    Suite(Box<Diagnostics>),
}

/// Reads and checks a suite. Profiles are looked for in `agents/` beside the suite, beside its
/// folder, and in the working folder, in this order; then among those that are built in.
///
/// # Errors
/// Where the file cannot be read, with all mistakes that are in it otherwise.
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    let unread = |source| LoadError::Read { path: path.to_owned(), hint: hint(path), source };
    let text = std::fs::read_to_string(path).map_err(unread)?;
    let file = path.canonicalize().map_err(unread)?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let (profiles, mut profile_dirs) = profiles(folder);
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let spellings = crate::scenario::spellings();
    let scenarios: Vec<&str> = spellings.iter().map(String::as_str).collect();
    let patches: Vec<&str> = crate::judge::patches::ids().collect();
    let builtins: Vec<BuiltinNames<'_>> = BUILTINS
        .iter()
        .map(|builtin| BuiltinNames {
            name: builtin.name,
            settings: builtin.settings.iter().map(|setting| setting.name).collect(),
        })
        .collect();
    let context = Context {
        agents: &profiles,
        scenarios: &scenarios,
        builtins: &builtins,
        patches: &patches,
        models: &provider::fault,
        no_model: &no_reader,
        read: &read,
    };
    let suite = suite::check(&text, &path.to_string_lossy(), &context)
        .map_err(|mistakes| LoadError::Suite(Box::new(mistakes)))?;
    let (suite, model_files) = with_scripts(suite, folder)?;
    for (name, agent) in &suite.agents {
        if let Some(dir) = profile_dirs.get(agent.base()).cloned() {
            profile_dirs.insert(name.clone(), dir);
        }
    }
    Ok(Loaded { suite, file, profile_dirs, model_files })
}

/// Why a model cannot be a second reader.
fn no_reader(model: &str) -> Option<String> {
    let is_recording = |model| {
        provider::named(None, Some(model)).is_ok_and(|(provider, _)| provider.name == provider::REPLAY)
    };
    let none =
        "a recording answers no new question; `nochmal run --replay` uses the reader's recorded answers, too";
    provider::fault(model).or_else(|| is_recording(model).then(|| none.to_owned()))
}

/// A suite beside the one that is not there, with nearly its name.
fn hint(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<String> = beside
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_yaml(name))
        .collect();
    let meant = path.file_name().and_then(|name| name.to_str()).filter(|_| !path.exists());
    meant
        .and_then(|name| closest(name, names.iter().map(String::as_str)))
        .map(|name| format!(" (did you mean `{}`?)", path.with_file_name(name).display()))
        .unwrap_or_default()
}

fn is_yaml(name: &str) -> bool {
    [".yaml", ".yml"].iter().any(|end| name.ends_with(end))
}

/// Reads the scripts that models of the suite are: a mistake in one is told before anything runs, and
/// what they say is part of what the suite is.
fn with_scripts(mut suite: Suite, folder: &Path) -> Result<(Suite, BTreeMap<String, String>), LoadError> {
    let mut files = BTreeMap::new();
    let models: BTreeSet<String> = suite.cells.iter().map(|cell| cell.key.model.clone()).collect();
    for model in models {
        let Some(name) = model.strip_prefix("script:").and_then(|name| name.strip_prefix(FILE)) else {
            continue;
        };
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).map_err(|source| LoadError::Script {
            model: model.clone(),
            path: path.clone(),
            source,
        })?;
        script::file::parse(&text, &path.to_string_lossy())
            .map_err(|mistakes| LoadError::Suite(Box::new(mistakes)))?;
        suite.digest = digest_all([suite.digest.as_str(), text.as_str()]);
        files.insert(model, format!("script:{FILE}{}", path.display()));
    }
    Ok((suite, files))
}

/// The profiles that are found from a folder, with the folders of those that are files.
pub(super) fn profiles(folder: &Path) -> (BTreeMap<String, ProfileText>, BTreeMap<String, PathBuf>) {
    let mut texts = BTreeMap::new();
    let mut dirs = BTreeMap::new();
    for (name, text) in BUILT_IN {
        let file = format!("agents/{name}.yaml (built in)");
        texts.insert(name.to_owned(), ProfileText { file, text: text.to_owned() });
    }
    // The nearest wins, so it comes last.
    let beside = folder.parent().map(|parent| parent.join("agents"));
    for dir in [Some(PathBuf::from("agents")), beside, Some(folder.join("agents"))].into_iter().flatten() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_profile =
                path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
            let (Some(name), true) = (path.file_stem().and_then(|name| name.to_str()), is_profile) else {
                continue;
            };
            // A profile that cannot be read is missed only where a suite names it.
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            texts.insert(name.to_owned(), ProfileText { file: path.to_string_lossy().into_owned(), text });
            if let Ok(dir) = std::path::absolute(&dir) {
                dirs.insert(name.to_owned(), dir);
            }
        }
    }
    (texts, dirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_that_is_not_there_is_told_with_what_was_probably_meant() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["quickstart.yaml", "notes.txt"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let told = |name: &str| load(&dir.path().join(name)).unwrap_err().to_string();
        assert!(told("quickstrat.yaml").ends_with("/quickstart.yaml`?)"), "{}", told("quickstrat.yaml"));
        for name in ["hotel.yaml", "note.txt"] {
            assert!(!told(name).contains("did you mean"), "{}", told(name));
        }
    }
}
