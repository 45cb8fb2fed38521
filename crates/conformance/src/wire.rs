//! Server and clients as two machines: they share settings and bytes, nothing else.

use crate::runs::succeeded;
use boostfgl_fed::transport::{Arrival, Ask, Transport, Undelivered};
use boostfgl_fed::{Client, Event, LocalData, Next, Registry, Result, RoundReport, Server, Setup};
use boostfgl_protocol::{Header, Limits, TaskFrame, decode, encode};

/// Changes the bytes of a reply on its way: none, one or several frames arrive.
pub type Fault = Box<dyn FnMut(Header, Vec<u8>) -> Vec<Vec<u8>>>;

/// Clients at the other end of a wire that carries bytes.
pub struct Wire {
    /// The clients.
    pub clients: Vec<Client<f32>>,
    /// How often the server had to wait.
    pub exchanges: usize,
    /// What happens to the bytes of a reply.
    pub fault: Option<Fault>,
}

impl Wire {
    /// Clients with these data.
    ///
    /// # Panics
    /// If the settings are refused.
    pub fn new(setup: &Setup, data: Vec<LocalData<f32>>, registry: &Registry<f32>) -> Self {
        let clients = data.into_iter().map(|data| {
            let client = Client::of_server(setup.clone(), data, None, registry);
            succeeded(client, setup.method.name)
        });
        Self { clients: clients.collect(), exchanges: 0, fault: None }
    }

    /// The bytes of a client's reply to the bytes of a frame.
    ///
    /// # Panics
    /// If the frame cannot be decoded.
    pub fn reply(client: &mut Client<f32>, frame: &TaskFrame<f32>) -> Vec<u8> {
        let limits = client.shapes();
        let arrived =
            decode(&encode(frame), Limits { finite: client.requires_finite(), shapes: &limits });
        encode(&client.receive(succeeded(arrived, "a frame of the server")))
    }
}

impl Transport<f32> for Wire {
    fn exchange(&mut self, ask: Ask<f32>) -> Vec<Arrival<f32>> {
        self.exchanges += 1;
        let mut arrivals = Vec::new();
        for frame in ask.frames {
            let header = frame.header;
            let client = header.client as usize;
            let bytes = Self::reply(&mut self.clients[client], &frame);
            let all = match &mut self.fault {
                Some(fault) => fault(header, bytes),
                None => vec![bytes],
            };
            let (shapes, finite) = {
                let client = &self.clients[client];
                (client.shapes(), client.requires_finite())
            };
            for bytes in all {
                let frame = decode(&bytes, Limits { finite, shapes: &shapes });
                let frame = frame.map_err(Undelivered::Unreadable);
                arrivals.push(Arrival { client, frame, seconds: 0.0 });
            }
        }
        arrivals
    }
}

/// What a server said during a run.
#[derive(Debug)]
pub struct Ended {
    /// Its rounds.
    pub rounds: Vec<RoundReport<f32>>,
    /// The digest of the federation.
    pub digest: String,
}

impl Ended {
    /// Drives both sides to the end, as a program over a network would.
    ///
    /// # Errors
    /// If the run cannot continue.
    pub fn driven(server: &mut Server<f32>, clients: &mut dyn Transport<f32>) -> Result<Self> {
        let mut ended = Self { rounds: Vec::new(), digest: String::new() };
        while let Next::Ask(ask) = server.next() {
            server.hear(clients.exchange(ask))?;
            while let Some(event) = server.event() {
                match event {
                    Event::Round(report) => ended.rounds.push(report),
                    Event::Concluded(digest) => ended.digest = digest,
                    Event::Prepared { .. } => {}
                }
            }
        }
        Ok(ended)
    }
}
