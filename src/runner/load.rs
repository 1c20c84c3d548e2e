//! Reads a suite and everything that it names.

use crate::suite::{self, Context, Diagnostics, ProfileText, Suite};
use std::collections::BTreeMap;
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
    let (profiles, profile_dirs) = profiles(folder);
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let spellings = crate::scenario::spellings();
    let scenarios: Vec<&str> = spellings.iter().map(String::as_str).collect();
    let patches: Vec<&str> = crate::judge::patches::ids().collect();
    let context = Context { agents: &profiles, scenarios: &scenarios, patches: &patches, read: &read };
    let suite = suite::check(&text, &path.to_string_lossy(), &context)
        .map_err(|mistakes| LoadError::Suite(Box::new(mistakes)))?;
    Ok(Loaded { suite, file, profile_dirs })
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
