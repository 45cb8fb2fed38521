//! Charts as PNG.

use super::standalone;
use crate::{Error, Result};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// A width in pixels that suits print and high-resolution screens: twice that of a chart.
pub const PNG_WIDTH: u32 = 1280;

/// The most pixels of a picture. A larger width is an error instead of exhausting memory.
const MOST_PIXELS: f64 = 1e8;

/// Renders the `svg` of a chart, with or without its own style, as PNG of `width` pixels on white.
/// Text uses a built-in font, so that the picture is the same on every machine.
///
/// # Errors
/// If `svg` is not valid SVG, or the picture would be empty or too large.
pub fn png(svg: &str, width: u32) -> Result<Vec<u8>> {
    let tree = Tree::from_str(&standalone(svg), &options())
        .map_err(|error| Error::Picture { reason: error.to_string() })?;
    let scale = width as f32 / tree.size().width();
    let height = (tree.size().height() * scale).round().max(1.0);
    if f64::from(width) * f64::from(height) > MOST_PIXELS {
        let reason = format!("expected at most 10^8 pixels, found {width} x {height}");
        return Err(Error::Picture { reason });
    }
    let Some(mut picture) = Pixmap::new(width, height as u32) else {
        let reason = format!("expected a width of 1 or more pixels, found {width}");
        return Err(Error::Picture { reason });
    };
    picture.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|error| Error::Picture { reason: error.to_string() })
}

/// Only the built-in fonts, so that nothing depends on the fonts of the system.
fn options() -> Options<'static> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    for font in [epaint_default_fonts::UBUNTU_LIGHT, epaint_default_fonts::HACK_REGULAR] {
        fonts.load_font_data(font.to_vec());
    }
    let family = "Ubuntu".to_owned();
    fonts.set_sans_serif_family(&family);
    options.font_family = family;
    options
}
