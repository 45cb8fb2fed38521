//! Clients in the same process, as if they were on other machines: every frame is encoded and
//! decoded, in both directions.

use super::{Arrival, Ask, InProcess, Transport, Undelivered};
use boostfgl_nn::Real;
use boostfgl_protocol::codec::Item;
use boostfgl_protocol::{Error, Frame, Limits, decode, encode_in};
use rayon::prelude::*;
use std::cell::RefCell;

/// Encodes and decodes every frame.
pub struct Loopback<'a, T: Real> {
    pub(crate) inner: InProcess<'a, T>,
}

impl<T: Real> Transport<T> for Loopback<'_, T> {
    fn exchange(&mut self, ask: Ask<T>) -> Vec<Arrival<T>> {
        let shapes = self.inner.shapes();
        let limits = Limits { finite: self.inner.requires_finite(), shapes: &shapes };
        let Ask { frames, quorum, deadline } = ask;
        let carried: Vec<_> =
            frames.into_par_iter().map(|frame| (frame.header, carry(&frame, limits))).collect();
        let (mut frames, mut undelivered) = (Vec::with_capacity(carried.len()), Vec::new());
        for (header, frame) in carried {
            match frame {
                Ok(frame) => frames.push(frame),
                // A client that cannot read a frame cannot say whose run it belongs to.
                Err(error) => undelivered.push(Arrival {
                    client: header.client as usize,
                    frame: Err(Undelivered::Unreadable(error)),
                    seconds: 0.0,
                }),
            }
        }
        let arrivals = self.inner.exchange(Ask { frames, quorum, deadline });
        let mut arrivals: Vec<Arrival<T>> = arrivals
            .into_par_iter()
            .map(|Arrival { client, frame, seconds }| {
                let carry = |frame| carry(&frame, limits).map_err(Undelivered::Unreadable);
                Arrival { client, frame: frame.and_then(carry), seconds }
            })
            .collect();
        if !undelivered.is_empty() {
            arrivals.extend(undelivered);
            arrivals.sort_by_key(|arrival| arrival.client);
        }
        arrivals
    }
}

/// The frame after its encoding.
fn carry<T: Real, I: Item<T>>(frame: &Frame<I>, limits: Limits<'_>) -> Result<Frame<I>, Error> {
    // One buffer per thread: fresh memory for every message would cost more than the copy.
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = encode_in(frame, std::mem::take(buffer));
        decode(buffer, limits)
    })
}

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
