//! `nochmal connect`: what an agent starts as if it were its MCP server. It carries bytes between
//! its own stdin and stdout and the proxy of the run, and knows nothing of them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// Why the proxy could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address has another form.
    #[error("`{0}` is not an address of the form HOST:PORT/TOKEN")]
    Address(String),
    /// Nobody listens there: the run is over.
    #[error("nobody listens at {host}: the run that it belonged to has ended")]
    Unreachable {
        /// Host and port.
        host: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
}

/// Carries bytes until the proxy closes the connection. The end of stdin is passed on, so that
/// answers to what was sent before it still arrive.
///
/// # Errors
/// Where the address is malformed or nobody listens there.
pub fn run(address: &str) -> Result<(), ConnectError> {
    let (host, token) = address.split_once('/').ok_or_else(|| ConnectError::Address(address.to_owned()))?;
    let unreachable = |source| ConnectError::Unreachable { host: host.to_owned(), source };
    let mut stream = TcpStream::connect(host).map_err(unreachable)?;
    let _ = stream.set_nodelay(true);
    stream.write_all(format!("{token}\n").as_bytes()).map_err(unreachable)?;
    let mut upward = stream.try_clone().map_err(unreachable)?;
    // The thread ends with the process where stdin stays open.
    std::thread::spawn(move || {
        carry(&mut std::io::stdin().lock(), &mut upward);
        let _ = upward.shutdown(Shutdown::Write);
    });
    carry(&mut stream, &mut std::io::stdout().lock());
    Ok(())
}

fn carry(from: &mut impl Read, to: &mut impl Write) {
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        if to.write_all(&buffer[..count]).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}
