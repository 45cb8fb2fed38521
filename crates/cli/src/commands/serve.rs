//! `boostfgl serve`.

use crate::output;
use anyhow::Result;
use boostfgl::Error;
use boostfgl_serve::{Server, Token};
use clap::Args;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Watch runs in the browser: a live page over run folders.
///
/// Lists every run and comparison below RUNS_DIR, up to three folders deep, newest first, and keeps
/// the list fresh. A finished run and a comparison are shown as their reports, another run as its
/// curves so far, which grow round by round; ticked ones are put side by side. Nothing is written
/// and nothing is started: runs go on, and stop, where you started them. Ctrl-C stops the page.
///
/// Only programs on this machine can look. For others, --allow-remote and --token are needed
/// together: open the address with ?token=TOKEN once, and the browser remembers it until it is
/// closed. The connection is not encrypted: in a network that you do not trust, leave the page
/// on this machine and reach it through `ssh -L 8410:127.0.0.1:8410 MACHINE`.
///
/// Examples:
///   boostfgl serve                       the runs in runs/, on http://127.0.0.1:8410/
///   boostfgl serve experiments --port 0  other runs, on any free port
///   boostfgl serve --host 0.0.0.0 --allow-remote --token $(openssl rand -hex 16)
///                                        for everybody who knows the token
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Serve {
    /// Folder that holds runs, or a run folder
    #[arg(value_name = "RUNS_DIR", default_value = "runs")]
    runs: PathBuf,

    /// Port to listen on; 0 takes any free one
    #[arg(long, short, value_name = "PORT", default_value_t = 8410)]
    port: u16,

    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    host: String,

    /// Let other machines look; needs --token
    #[arg(long)]
    allow_remote: bool,

    /// What everybody who looks must know: at least 16 letters, digits or -._~
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

impl Serve {
    pub(crate) fn execute(&self) -> Result<()> {
        let token = self.token()?;
        let address = SocketAddr::new(self.host(token.is_some())?, self.port);
        let server = Server::bind(&self.runs, address, token).map_err(told)?;
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
            // What was given may be the beginning of a secret: it is not repeated.
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

    /// The address to listen on; one that others can reach has to be asked for twice.
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
            --token, found an \
                      address that others can reach";
        let advice = "Leave --host out, or add --allow-remote --token TOKEN so that only those \
            who know it can look.";
        Err(Error::usage(place, reason, advice).into())
    }
}

/// A folder that is not there is a mistake in the command, unlike a port that another program has.
fn told(error: boostfgl_serve::Error) -> anyhow::Error {
    let advice = error.advice();
    match error {
        boostfgl_serve::Error::Folder { path, source } => {
            let reason = format!("expected a folder with runs, found: {source}");
            Error::usage(path.display().to_string(), reason, advice).into()
        }
        other => other.into(),
    }
}
