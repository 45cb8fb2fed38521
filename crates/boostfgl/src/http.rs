//! Downloading over http and https.

use boostfgl_graph::catalogue::Fetch;
use std::io::{Read, Write};
use std::time::Duration;

/// Fetches files over http(s).
#[derive(Debug)]
pub struct Http {
    agent: ureq::Agent,
}

impl Default for Http {
    fn default() -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .user_agent(concat!("boostfgl/", env!("CARGO_PKG_VERSION")));
        Self { agent: config.build().into() }
    }
}

impl Fetch for Http {
    fn fetch(&self, url: &str, to: &mut dyn Write, progress: &mut dyn FnMut(u64, Option<u64>)) -> Result<u64, String> {
        let mut response = self.agent.get(url).call().map_err(|e| e.to_string())?;
        let total = response.body().content_length();
        let mut body = response.body_mut().as_reader();
        let mut buffer = vec![0; 1 << 16];
        let mut done = 0;
        loop {
            let read = body.read(&mut buffer).map_err(|e| e.to_string())?;
            if read == 0 {
                break;
            }
            to.write_all(&buffer[..read]).map_err(|e| e.to_string())?;
            done += read as u64;
            progress(done, total);
        }
        match total {
            Some(total) if total != done => Err(format!("the connection broke after {done} of {total} bytes")),
            _ => Ok(done),
        }
    }
}
