//! How fast messages are encoded and decoded: `cargo run --release -p boostfgl-protocol --example
//! throughput`.
//!
//! A model of a graph with many features, a message with as many numbers in tensors, and one with
//! entries, each in gigabytes per second of CPU time of one thread.

use boostfgl_nn::{Matrix, Params, TensorShape};
use boostfgl_protocol::{
    Broadcast, Claims, Frame, Header, Limits, Message, Model, Reply, Task, Update, decode, encode,
    encode_in,
};
use std::sync::Arc;
use std::time::Instant;

const ROWS: usize = 6805;
const COLUMNS: usize = 256;
const TIMES: u32 = 50;

fn main() {
    let shapes = [TensorShape::weight("w", ROWS, COLUMNS), TensorShape::bias("b", COLUMNS)];
    let params = Params::<f32>::glorot(&shapes, 1);
    let model = Some(Model::new(0, params.clone()));
    let task = Task::Train(Broadcast { rounds_done: 0, model, message: None });
    let reply = |message| {
        let model = Some(Arc::new(params.clone()));
        Reply::Update(Update { claims: Claims::default(), model, message })
    };
    let tensors = Message::tensors(vec![Matrix::from_rows(ROWS, 7, &vec![0.5; 7 * ROWS])]);
    let entries = (0..400_000u32).map(|at| (4 * at, 0.25)).collect();
    let entries = Message { entries, ..Message::default() };
    println!("{:<28} {:>9} {:>12} {:>12}", "frame", "bytes", "encode GB/s", "decode GB/s");
    measure("model, down", vec![task], &shapes);
    measure("model, up", vec![reply(Message::default())], &shapes);
    measure("model and padded rows, up", vec![reply(tensors)], &shapes);
    measure("model and entries, up", vec![reply(entries)], &shapes);
}

fn measure<I: boostfgl_protocol::codec::Item<f32>>(
    name: &str,
    items: Vec<I>,
    shapes: &[TensorShape],
) {
    let frame = Frame { header: Header::default(), items };
    let mut bytes = encode(&frame);
    let rate = |seconds: f64, bytes: &[u8]| f64::from(TIMES) * bytes.len() as f64 / seconds / 1e9;
    let started = Instant::now();
    for _ in 0..TIMES {
        bytes = encode_in(&frame, bytes);
    }
    let encoded = rate(started.elapsed().as_secs_f64(), &bytes);
    let started = Instant::now();
    for _ in 0..TIMES {
        let decoded: Frame<I> =
            decode(&bytes, Limits { finite: true, shapes }).expect("it was just encoded");
        std::hint::black_box(decoded);
    }
    let decoded = rate(started.elapsed().as_secs_f64(), &bytes);
    println!("{name:<28} {:>9} {encoded:>12.2} {decoded:>12.2}", bytes.len());
}
