//! Downloading over http and https.
//!
//! A server that falls silent in the middle of a file is given up after a minute; how much it may
//! send is up to whoever takes the bytes.

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
        Self::patient(Duration::from_secs(60))
    }
}

impl Http {
    /// One that waits so long for an answer, and for each piece of a file. A whole file may take
    /// any time.
    fn patient(patience: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(patience))
            .timeout_per_read(Some(patience))
            .user_agent(concat!("boostfgl/", env!("CARGO_PKG_VERSION")));
        Self { agent: config.build().into() }
    }
}

impl Fetch for Http {
    fn fetch(
        &self,
        url: &str,
        to: &mut dyn Write,
        progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<u64, String> {
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
            Some(total) if total != done => {
                Err(format!("the connection broke after {done} of {total} bytes"))
            }
            _ => Ok(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufRead as _;
    use std::net::{TcpListener, TcpStream};
    use std::time::Instant;

    /// A server for one question; `answer` writes what it likes, and the connection stays open
    /// until it returns.
    fn server(answer: impl FnOnce(&mut TcpStream) + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/file", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let asked = std::io::BufReader::new(stream.try_clone().unwrap()).lines();
            asked.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            answer(&mut stream);
        });
        address
    }

    fn fetched(address: &str) -> (Result<u64, String>, Vec<u8>) {
        let mut bytes = Vec::new();
        let result =
            Http::patient(Duration::from_millis(400)).fetch(address, &mut bytes, &mut |_, _| {});
        (result, bytes)
    }

    #[test]
    fn a_server_that_falls_silent_is_given_up() {
        let address = server(|stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").unwrap();
            std::thread::sleep(Duration::from_secs(20));
        });
        let begun = Instant::now();
        let (result, bytes) = fetched(&address);
        assert!(result.is_err() && bytes == b"half", "{result:?} {bytes:?}");
        assert!(begun.elapsed() < Duration::from_secs(10), "took {:?}", begun.elapsed());
    }

    #[test]
    fn a_slow_server_is_waited_for() {
        let address = server(|stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n").unwrap();
            for _ in 0..8 {
                std::thread::sleep(Duration::from_millis(100));
                stream.write_all(b"x").unwrap();
            }
        });
        assert_eq!(fetched(&address), (Ok(8), b"xxxxxxxx".to_vec()));
    }

    #[test]
    fn whoever_takes_the_bytes_may_have_had_enough() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("that is enough"))
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let address = server(|stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").unwrap();
            while stream.write_all(&[b'x'; 1 << 16]).is_ok() {}
        });
        let result =
            Http::patient(Duration::from_secs(5)).fetch(&address, &mut Full, &mut |_, _| {});
        assert_eq!(result, Err("that is enough".to_owned()));
    }
}
