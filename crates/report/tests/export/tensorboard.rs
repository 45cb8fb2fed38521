//! TensorBoard's event files, frame by frame.

use super::*;
use std::time::{Duration, SystemTime};

const FILE: &str = "events.out.tfevents.0000000000.boostfgl";

/// The events of a file; every length and checksum must be right.
fn events(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let masked = |bytes: &[u8]| {
        crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
    };
    let mut rest = &bytes[..];
    let mut events = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_at(8);
        assert_eq!(after[..4], masked(length));
        let (event, after) =
            after[4..].split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
        assert_eq!(after[..4], masked(event));
        events.push(event.to_vec());
        rest = &after[4..];
    }
    events
}

/// A message's fields by number.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let end = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let (number, rest) = bytes.split_at(end);
        *bytes = rest;
        number.iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f))
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let content = match key & 7 {
            0 => varint(&mut bytes).to_le_bytes().to_vec(),
            wire => {
                let length =
                    [0, 8, varint_if(wire == 2, &mut bytes, varint), 0, 0, 4][wire as usize];
                let (content, rest) = bytes.split_at(length as usize);
                bytes = rest;
                content.to_vec()
            }
        };
        fields.push((key >> 3, content));
    }
    fields
}

fn varint_if(there: bool, bytes: &mut &[u8], read: impl Fn(&mut &[u8]) -> u64) -> u64 {
    if there { read(bytes) } else { 0 }
}

/// Time, step and values of an event.
fn scalars(event: &[u8]) -> (f64, u64, BTreeMap<String, f32>) {
    let [(1, time), (2, step), (5, summary)] = &fields(event)[..] else { panic!("{event:?}") };
    let value = |(_, value): &(u64, Vec<u8>)| {
        let [(1, tag), (2, number)] = &fields(value)[..] else { panic!("{value:?}") };
        (
            String::from_utf8(tag.clone()).unwrap(),
            f32::from_le_bytes(number[..].try_into().unwrap()),
        )
    };
    let number = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).unwrap();
    let values = fields(summary).iter().map(value).collect();
    (f64::from_le_bytes(number(time)), u64::from_le_bytes(number(step)), values)
}

#[test]
fn every_round_is_an_event_of_its_seed() {
    let place = tempfile::tempdir().unwrap();
    let views = views(place.path());
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let rounds =
        std::fs::File::options().append(true).open(place.path().join("wiki/rounds.jsonl")).unwrap();
    rounds.set_modified(changed).unwrap();
    let written = exported(&views, "tensorboard", place.path());
    assert_eq!(written.len(), 6);
    assert_eq!(written[5], format!("tensorboard/wiki/seed1/{FILE}"));

    let events = events(&place.path().join(&written[5]));
    assert_eq!(events.len(), 4);
    assert_eq!(fields(&events[0])[1], (3, b"brain.Event:2".to_vec()));
    for (at, event) in events[1..].iter().enumerate() {
        let (time, step, values) = scalars(event);
        let round = &views[2].rounds.as_ref().unwrap().rounds[3 + at];
        assert_eq!((round.seed, step), (1, round.round as u64));
        // The last of all rounds ends when the file was last written.
        assert!((time - (1e9 - 0.3 * (2 - at) as f64)).abs() < 1e-6, "{time}");
        assert_eq!(values["loss"], round.loss as f32);
        assert_eq!((values["bytes/up"], values["weight/client0"]), (2001.0, 1.0 / 3.0));
        assert_eq!(
            values.contains_key("trust/client1"),
            at != 2,
            "client 1 takes no part in the third"
        );
        let scores = round.metrics.as_ref().map(|metrics| metrics.0.scores);
        let client = scores.and_then(|scores| scores.hete_f1.client);
        assert_eq!(values.get("hete_f1/client").copied(), client.map(|x| x as f32));
        assert_eq!(values.contains_key("accuracy/validation"), scores.is_some());
    }
}
