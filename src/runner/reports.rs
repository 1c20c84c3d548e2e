//! stub
use super::matrix::Options;
use super::trial::Shared;
use crate::domain::RunResult;
use crate::store::MatrixRecord;
use crate::suite::Trial;
use tokio_util::sync::CancellationToken;
pub struct Reports;
pub struct Rendered {
    pub files: Vec<(&'static str, Vec<u8>)>,
    pub table: String,
}
impl Reports {
    pub async fn gather(
        _: &Shared,
        _: &MatrixRecord,
        _: &Options,
        _: &[Trial],
        _: &CancellationToken,
    ) -> Reports {
        Reports
    }
    pub fn render(&self, results: &[RunResult], _: bool, _: jiff::Timestamp) -> Result<Rendered, String> {
        let mut t = String::new();
        for r in results {
            t += &format!("{} {} {:?} {}\n", r.key, r.verdict, r.reason_code, r.reason);
        }
        Ok(Rendered { files: vec![], table: t })
    }
}
