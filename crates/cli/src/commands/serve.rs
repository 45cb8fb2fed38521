//! `boostfgl serve`.

use crate::output;
use anyhow::Result;
use boostfgl::Error;
use boostfgl_serve::{Server, Token};
use clap::Args;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Show runs in the browser: a live, read-only page over run folders
///
/// Lists every run and comparison below RUNS_DIR, up to three folders deep, newest first, and
/// updates the list. Finished runs and comparisons show their reports; running ones show their
/// curves, which grow round by round; selected ones are shown side by side. The page writes
/// nothing and starts nothing. Ctrl-C stops it; runs are not affected.
///
/// The page is reachable from this machine alone. For other machines, --allow-remote and --token
/// are needed together: open the address with ?token=TOKEN once, and the browser stores the token
/// until it is closed. The connection is not encrypted: in a network that you do not trust, use
/// `ssh -L 8410:127.0.0.1:8410 MACHINE` instead.
///
/// Examples:
///   boostfgl serve                       the runs in runs/, on http://127.0.0.1:8410/
///   boostfgl serve experiments --port 0  other runs, on any free port
///   boostfgl serve --host 0.0.0.0 --allow-remote --token $(openssl rand -hex 16)
///                                        for other machines, with a token
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Serve {
    /// Folder that contains runs, or a run folder
    #[arg(value_name = "RUNS_DIR", default_value = "runs")]
    runs: PathBuf,

    /// Port to listen on; 0 chooses a free one
    #[arg(long, short, value_name = "PORT", default_value_t = 8410)]
    port: u16,

    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    host: String,

    /// Allow other machines to connect; needs --token
    #[arg(long)]
    allow_remote: bool,

    /// Secret that visitors must present: at least 16 letters, digits or -._~
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

impl Serve {
    pub(crate) fn execute(&self) -> Result<()> {
        let token = self.token()?;
        let address = SocketAddr::new(self.host(token.is_some())?, self.port);
        let server = Server::bind(&self.runs, address, token).map_err(as_usage)?;
        let folder = self.runs.display().to_string();
        let folder = folder.trim_end_matches(std::path::is_separator);
        output::print(&format!(
            "Serving {folder}/ at http://{}/ (read-only; Ctrl-C stops)\n",
            server.address()
        ))?;
        Ok(server.run()?)
    }

    fn token(&self) -> Result<Option<Token>> {
        let Some(text) = &self.token else { return Ok(None) };
        let Some(token) = Token::new(text) else {
            // The value may be part of a secret, so the message does not repeat it.
            let reason = format!(
                "expected at least {} letters, digits or -._~, found {} characters",
                Token::LEAST,
                text.chars().count()
            );
            return Err(
                Error::usage("--token", reason, "Make one with `openssl rand -hex 16`.").into()
            );
        };
        Ok(Some(token))
    }

    /// The address to listen on; one that other machines can reach needs two flags.
    fn host(&self, has_token: bool) -> Result<IpAddr> {
        let place = format!("--host {}", self.host);
        let text = self.host.trim_start_matches('[').trim_end_matches(']');
        let ip = if text.eq_ignore_ascii_case("localhost") {
            Ok(Ipv4Addr::LOCALHOST.into())
        } else {
            text.parse()
        };
        let Ok(ip) = ip else {
            let reason = "expected an address in numbers, such as 127.0.0.1 or ::1, or localhost, \
                found another text";
            return Err(Error::usage(
                place,
                reason,
                "Leave --host out to serve on this machine only.",
            )
            .into());
        };
        let ip: IpAddr = ip;
        if ip.to_canonical().is_loopback() || (self.allow_remote && has_token) {
            return Ok(ip);
        }
        let reason = "expected a loopback address such as 127.0.0.1, or both --allow-remote and \
            --token, found an address that other machines can reach";
        let advice = "Leave --host out, or add --allow-remote --token TOKEN so that visitors \
            need the token.";
        Err(Error::usage(place, reason, advice).into())
    }
}

/// A missing folder is a mistake in the command, unlike a port that is in use.
fn as_usage(error: boostfgl_serve::Error) -> anyhow::Error {
    let advice = error.advice();
    match error {
        boostfgl_serve::Error::Folder { path, source } => {
            let reason = format!("expected a folder with runs, found: {source}");
            Error::usage(path.display().to_string(), reason, advice).into()
        }
        other => other.into(),
    }
}
