//! Charts as pictures: every class of every chart is drawn in its colour.

#![cfg(feature = "png")]

use boostfgl_report::chart::{Bars, Chart, Dot, Dots, Heat, Line, Lines};
use boostfgl_report::export::{PNG_WIDTH, png, standalone};
use resvg::tiny_skia::Pixmap;
use std::collections::HashMap;
use std::path::Path;

/// Okabe and Ito, in the order of the classes.
const COLOURS: [[u8; 3]; 8] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [230, 159, 0],
    [86, 180, 233],
    [107, 107, 107],
    [184, 168, 0],
];
const WHITE: [u8; 3] = [255; 3];

fn text(text: &str) -> String {
    text.to_owned()
}

/// Ten curves: two more than there are colours.
fn lines() -> Chart {
    let line = |i: usize| {
        let point = |r: usize| {
            let mean = 40.0 + 4.0 * i as f64 + 30.0 * (1.0 - (-0.1 * r as f64).exp());
            [r as f64, mean, mean - 1.5, mean + 1.5]
        };
        Line { name: format!("method {i}"), points: (1..=50).map(point).collect() }
    };
    let lines = (0..10).map(line).collect();
    Lines {
        title: text("Accuracy"),
        x: text("round"),
        y: text("accuracy, %"),
        band: text("± std"),
        lines,
        mark: None,
    }
    .chart()
}

fn dots() -> Chart {
    let dot = |group: &str, series: usize, mean: f64| Dot {
        group: text(group),
        series,
        mean,
        interval: [mean - 4.0, mean + 3.0],
        wide: None,
    };
    let dots = vec![
        dot("all", 0, 80.0),
        dot("all", 1, 82.0),
        dot("heterophilous", 0, 37.0),
        dot("heterophilous", 1, 41.0),
        dot("minority × heterophilous", 0, 20.0),
        dot("minority × heterophilous", 1, 30.0),
    ];
    let series = vec![text("fedavg"), text("boostfgl")];
    Dots {
        title: text("F1"),
        x: text("macro-F1, %"),
        series,
        dots,
        mark: Some(50.0),
        ..Dots::default()
    }
    .chart()
}

fn bars() -> Chart {
    let row = |i: usize| {
        (format!("client {i}"), (0..8).map(|s| 10.0 + (s * (i + 1) % 7) as f64).collect())
    };
    let series = (0..8).map(|s| format!("class {s}")).collect();
    Bars { title: text("Classes"), x: text("nodes"), series, rows: (0..5).map(row).collect() }
        .chart()
}

fn heat() -> Chart {
    let rows = (0..4)
        .map(|r| (format!("0.{r}"), (0..5).map(|c| 20.0 + 4.0 * f64::from(r * c)).collect()))
        .collect();
    let columns = (1..=5).map(|c| format!("{c}")).collect();
    Heat { title: text("F1"), x: text("τ"), y: text("budget"), columns, rows }.chart()
}

/// The picture and the number of pixels of each colour. The file is kept in the folder of the tests
/// for inspection.
fn pixels(name: &str, chart: &Chart) -> (Pixmap, HashMap<[u8; 3], usize>) {
    let bytes = png(&chart.svg, PNG_WIDTH).unwrap();
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(place.join(format!("{name}.png")), &bytes).unwrap();
    std::fs::write(place.join(format!("{name}.svg")), standalone(&chart.svg)).unwrap();
    let picture = Pixmap::decode_png(&bytes).unwrap();
    let mut counts = HashMap::new();
    for pixel in picture.pixels() {
        assert_eq!(pixel.alpha(), 255, "the ground is white, not transparent");
        *counts.entry([pixel.red(), pixel.green(), pixel.blue()]).or_insert(0) += 1;
    }
    (picture, counts)
}

#[test]
fn curves_have_colours_bands_and_dashes() {
    let chart = lines();
    let (picture, seen) = pixels("lines", &chart);
    assert_eq!((picture.width(), picture.height()), (1280, 600));
    for colour in COLOURS {
        assert!(seen.get(&colour).is_some_and(|&count| count > 300), "{colour:?} is missing");
    }
    // The ninth has the first colour again, dashed: fewer pixels than two lines, more than one.
    assert!(chart.svg.contains("c0 dash1"));
    // 16 % of the first colour on white.
    let band = [214, 232, 243];
    let near = |a: &[u8; 3]| a.iter().zip(band).all(|(a, b)| a.abs_diff(b) <= 1);
    assert!(
        seen.iter().filter(|(colour, _)| near(colour)).map(|(_, count)| count).sum::<usize>()
            > 1000
    );
    assert!(seen[&WHITE] * 2 > 1280 * 600, "nothing that reacts to a pointer is drawn");
}

#[test]
fn dots_bars_and_cells_have_their_colours() {
    let (_, dots) = pixels("dots", &dots());
    assert!(COLOURS[..2].iter().all(|colour| dots[colour] > 500));
    let (_, bars) = pixels("bars", &bars());
    assert!(COLOURS.iter().all(|colour| bars[colour] > 1000), "{bars:?}");
    let (_, heat) = pixels("heat", &heat());
    // 92 % and 8 % of the first colour.
    let near = |wanted: [u8; 3]| {
        let close = |a: &[u8; 3]| a.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) <= 1);
        heat.iter().filter(|(colour, _)| close(colour)).map(|(_, count)| count).sum::<usize>()
    };
    assert!(near([20, 125, 184]) > 1000 && near([235, 244, 249]) > 1000, "{heat:?}");
}

/// Without the built-in font a picture that has only text would have no dark pixel.
#[test]
fn text_is_drawn_and_anchored() {
    let of = |class: &str| {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 100 20\">\
             <text x=\"50\" y=\"15\" class=\"{class}\">± τ wide</text></svg>"
        );
        let picture = Pixmap::decode_png(&png(&svg, 200).unwrap()).unwrap();
        let dark = (0..200 * 40).filter(|&at| picture.pixels()[at].red() < 128).map(|at| at % 200);
        (dark.clone().min().unwrap(), dark.max().unwrap())
    };
    let (start, middle, end) = (of("name"), of("name middle"), of("name end"));
    assert!(start.0 >= 100 && end.1 <= 100, "{start:?} {end:?}");
    assert!((190..=210).contains(&(middle.0 + middle.1)), "{middle:?}");
}

#[test]
fn a_standalone_svg_gives_the_same_picture() {
    assert_eq!(png(&lines().svg, 640).unwrap(), png(&standalone(&lines().svg), 640).unwrap());
}

#[test]
fn invalid_svg_is_an_error() {
    let error = |svg: &str, width| png(svg, width).unwrap_err().to_string();
    assert!(error("no svg", 100).starts_with("picture: "), "{}", error("no svg", 100));
    let svg = lines().svg;
    assert_eq!(error(&svg, 0), "picture: expected a width of 1 or more pixels, found 0");
    assert!(error(&svg, 4_000_000).contains("at most 10^8 pixels"), "{}", error(&svg, 4_000_000));
}
