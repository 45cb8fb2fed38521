//! Results that are the same on every CPU: for every method, the kernels for any CPU and those for
//! this one give the same bits. This is a program of its own because the choice of kernels holds
//! for a whole process and would affect other tests.

#[path = "federation/every.rs"]
mod every;

use crate::every::for_all;
use boostfgl_conformance::small::{self, WORDS, graph, partition};
use boostfgl_conformance::{assert_same, bits, run, with_threads};
use boostfgl_fed::Registry;
use boostfgl_nn::{Dense, Level};

#[test]
fn ordered_products_give_the_same_bits_at_every_level_and_number_of_threads() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    Dense::Ordered.install();
    let mut differs = 0;
    for_all(|method, setup, what| {
        let run_at = |level: Level, threads: usize| {
            level.install();
            let data = || small::data::<f32>(method, &graph, &partition);
            with_threads(threads, || run(&setup, data(), &Registry::builtin()))
        };
        let any = run_at(Level::Portable, 1);
        for level in Level::available() {
            assert_same(&any, &run_at(level, 4), &format!("{what}, {level:?}"));
        }
        Dense::Fastest.install();
        differs += usize::from(bits(&any.models) != bits(&run_at(Level::best(), 1).models));
        Dense::Ordered.install();
    });
    // The crate for dense products adds in another order: other last digits show that the ordered
    // products were in use.
    println!("{differs} methods and boosts have other last digits with the fastest products");
    assert!(differs > 0 || Level::best() == Level::Portable, "ordered products were never in use");
}
