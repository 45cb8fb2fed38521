#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| boostfgl_fuzz::run("intake", input));
