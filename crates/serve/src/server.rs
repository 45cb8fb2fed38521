//! The server: binds an address and serves pages until it is stopped.

use crate::access::{self, Access};
use crate::connections::Connections;
use crate::library::Library;
use crate::{Error, Result, Token, pages};
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

/// Threads that read files and render pages; connections have one of their own.
const RENDERING_THREADS: usize = 4;

/// A server that is bound to its address and not yet running.
///
/// ```
/// let runs = tempfile::tempdir()?;
/// let server = boostfgl_serve::Server::bind(runs.path(), ([127, 0, 0, 1], 0).into(), None)?;
/// assert_ne!(server.address().port(), 0);
/// server.run_until(async {})?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    library: Library,
    token: Option<Token>,
}

impl Server {
    /// Binds an address (port 0 is any free one) to serve the runs below a folder. With a token,
    /// every request needs it.
    ///
    /// # Errors
    /// If there is no such folder, the address cannot be bound, or other machines could reach it and
    /// there is no token.
    pub fn bind(runs: &Path, address: SocketAddr, token: Option<Token>) -> Result<Self> {
        let library = Library::open(runs)?;
        if token.is_none() && !access::is_loopback(address.ip()) {
            return Err(Error::Exposed { address });
        }
        let (listener, address) = listen(address).map_err(|source| match source.kind() {
            std::io::ErrorKind::AddrInUse => Error::Taken { address },
            _ => Error::Listen { address, source },
        })?;
        Ok(Self { listener, address, library, token })
    }

    /// The address, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves pages until Ctrl-C.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn run(self) -> Result<()> {
        self.run_until(async {
            // If Ctrl-C cannot be handled, the operating system ends the process.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    /// Serves pages until `stop` completes; open connections are closed then.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn run_until(self, stop: impl Future<Output = ()>) -> Result<()> {
        let address = self.address;
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().max_blocking_threads(RENDERING_THREADS).build();
        let runtime = runtime.map_err(|source| Error::Listen { address, source })?;
        let result = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener);
            let listener = listener.map_err(|source| Error::Listen { address, source })?;
            let pages = pages::router(self.library, Access::new(address, self.token));
            tokio::spawn(async move { axum::serve(Connections::new(listener), pages).await });
            stop.await;
            Ok(())
        });
        runtime.shutdown_background();
        result
    }
}

/// A listener on the address, and the address with the port that was chosen.
fn listen(address: SocketAddr) -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
