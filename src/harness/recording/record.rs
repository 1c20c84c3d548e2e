//! A model whose answers are kept.

use super::tape::{self, TapeError, Writer};
use crate::harness::model::{BoxFuture, Identity, Model, ModelError, ModelTurn, Request};
use crate::harness::new_file;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A model whose answers are kept, each as it arrives.
pub struct Recorder {
    model: Box<dyn Model>,
    out: Mutex<(File, Writer)>,
}

impl Recorder {
    /// Keeps the answers of `model` in a new file, or in one whose conversation never began.
    ///
    /// # Errors
    /// Where the file cannot be written, or holds something already.
    pub fn new(model: Box<dyn Model>, path: &Path) -> Result<Recorder, TapeError> {
        let file = || -> io::Result<File> {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            if tape::read(path).is_ok_and(|(_, exchanges)| exchanges.is_empty()) {
                std::fs::remove_file(path)?;
            }
            let mut file = new_file::open(path)?;
            file.write_all(&Writer::head(&model.identity())?)?;
            Ok(file)
        };
        let file = file().map_err(|source| TapeError::File { path: path.to_owned(), source })?;
        Ok(Recorder { model, out: Mutex::new((file, Writer::default())) })
    }

    fn keep(&self, request: Request<'_>, answer: &Result<ModelTurn, ModelError>) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, writer) = &mut *out;
        let line = writer.exchange(request.messages, request.tools, answer)?;
        file.write_all(&line)
    }
}

impl Model for Recorder {
    fn respond<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async move {
            let answer = self.model.respond(request).await;
            // A recording with a hole in it would be replayed as if it were whole.
            self.keep(request, &answer)
                .map_err(|error| ModelError::Recording(format!("cannot be written: {error}")))?;
            answer
        })
    }

    fn identity(&self) -> Identity {
        self.model.identity()
    }
}
