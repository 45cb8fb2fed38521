//! Downloading over http and https.
//!
//! A read that waits longer than a minute fails. The size of a file is limited by the writer that
//! receives it.

use boostfgl_data::catalogue::Fetch;
use std::io::{Read, Write};
use std::time::Duration;

/// Fetches files over http(s).
#[derive(Debug)]
pub struct Http {
    agent: ureq::Agent,
}

impl Default for Http {
    fn default() -> Self {
        Self::with_timeout(Duration::from_secs(60))
    }
}

impl Http {
    /// With a timeout for the response and for each read. There is none for a whole file.
    fn with_timeout(timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(timeout))
            .timeout_per_read(Some(timeout))
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

    /// A server for one request; `answer` writes the response, and the connection stays open until
    /// it returns.
    fn server(answer: impl FnOnce(&mut TcpStream) + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/file", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let request = std::io::BufReader::new(stream.try_clone().unwrap()).lines();
            request.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            answer(&mut stream);
        });
        address
    }

    fn fetched(address: &str) -> (Result<u64, String>, Vec<u8>) {
        let mut bytes = Vec::new();
        let result = Http::with_timeout(Duration::from_millis(400)).fetch(
            address,
            &mut bytes,
            &mut |_, _| {},
        );
        (result, bytes)
    }

    #[test]
    fn a_stalled_server_times_out() {
        let address = server(|stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").unwrap();
            std::thread::sleep(Duration::from_secs(20));
        });
        let started = Instant::now();
        let (result, bytes) = fetched(&address);
        assert!(result.is_err() && bytes == b"half", "{result:?} {bytes:?}");
        assert!(started.elapsed() < Duration::from_secs(10), "took {:?}", started.elapsed());
    }

    #[test]
    fn a_slow_server_does_not_time_out() {
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
    fn an_error_of_the_writer_ends_the_download() {
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
            Http::with_timeout(Duration::from_secs(5)).fetch(&address, &mut Full, &mut |_, _| {});
        assert_eq!(result, Err("that is enough".to_owned()));
    }
}
