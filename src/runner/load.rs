//! Reads a suite and everything that it names.

use crate::domain::digest_all;
use crate::harness::provider::{self, ProviderError};
use crate::harness::script::{self, FILE};
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

/// Why a suite could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file.
    #[error("cannot read the suite `{}`", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
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
    let unread = |source| LoadError::Read { path: path.to_owned(), source };
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
    match provider::named(None, Some(model)) {
        Ok((provider, _)) if provider.name == provider::REPLAY => Some(
            "a recording answers no new question; `nochmal run --replay` uses the reader's recorded answers, too"
                .to_owned(),
        ),
        Ok(_) => None,
        Err(ProviderError::NoModel) => Some("a model is wanted, such as `ollama:qwen3:14b`".to_owned()),
        Err(error) => Some(error.to_string()),
    }
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
