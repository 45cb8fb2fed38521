//! Charts as pictures of pixels.

use super::standalone;
use crate::{Error, Result};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// The width in pixels that suits print and sharp screens: twice that of a chart.
pub const PNG_WIDTH: u32 = 1280;

/// No picture is larger than this many pixels: a wrong width should be an error, not all memory.
const MOST_PIXELS: f64 = 1e8;

/// A chart's `svg`, with or without its own style, as PNG of `width` pixels on white. Letters are
/// those of one built-in font, so that every machine makes the same picture.
///
/// # Errors
/// If `svg` is none, or the picture would be empty or too large.
pub fn png(svg: &str, width: u32) -> Result<Vec<u8>> {
    let refused = |reason: String| Error::Picture { reason };
    let tree =
        Tree::from_str(&standalone(svg), &options()).map_err(|error| refused(error.to_string()))?;
    let scale = width as f32 / tree.size().width();
    let height = (tree.size().height() * scale).round().max(1.0);
    if f64::from(width) * f64::from(height) > MOST_PIXELS {
        return Err(refused(format!("expected at most 10^8 pixels, found {width} x {height}")));
    }
    let empty = || refused(format!("expected a width of 1 or more pixels, found {width}"));
    let mut picture = Pixmap::new(width, height as u32).ok_or_else(empty)?;
    picture.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|error| refused(error.to_string()))
}

/// One font, whatever is asked for, and nothing from outside the picture.
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
