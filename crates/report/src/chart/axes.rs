//! The frame of a drawing: grid, ticks, names of the axes.

use super::scale::{Scale, label};
use super::{WIDTH, place};
use crate::markup::{Attributes, Markup};

/// The rectangle in which marks are drawn, in units of the drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlotArea {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl PlotArea {
    /// The area below a legend that ends at `top`, in a drawing of this height.
    pub(super) fn below(top: f64, height: f64) -> Self {
        Self { left: 64.0, right: WIDTH - 14.0, top, bottom: height - 42.0 }
    }

    /// Draws both axes with their titles `x` and `y`.
    pub(super) fn axes(self, drawing: &mut Markup, [xs, ys]: [Scale; 2], [x, y]: [&str; 2]) {
        self.grid(drawing, ys);
        let ticks = xs.ticks(8);
        for &tick in &ticks {
            let at = xs.at(tick);
            line(drawing, [at, self.bottom, at, self.bottom + 4.0], "axis");
            text(drawing, at, self.bottom + 18.0, "tick middle", &label(tick, &ticks));
        }
        line(drawing, [self.left, self.bottom, self.right, self.bottom], "axis");
        self.name_x(drawing, x);
        self.name_y(drawing, y);
    }

    /// Draws the title of the y axis, upwards along the left border.
    pub(super) fn name_y(self, drawing: &mut Markup, y: &str) {
        let (left, middle) = (11.0, f64::midpoint(self.top, self.bottom));
        let rotation = format!("rotate(-90 {} {})", place(left), place(middle));
        let attributes: &Attributes<'_> = &[
            ("x", &place(left)),
            ("y", &place(middle)),
            ("transform", &rotation),
            ("class", &"name middle"),
        ];
        drawing.text("text", attributes, y);
    }

    /// Draws the title of the x axis.
    pub(super) fn name_x(self, drawing: &mut Markup, x: &str) {
        text(drawing, f64::midpoint(self.left, self.right), self.bottom + 36.0, "name middle", x);
    }

    /// Draws horizontal grid lines with the tick labels of the y axis.
    pub(super) fn grid(self, drawing: &mut Markup, ys: Scale) {
        let ticks = ys.ticks(5);
        for &tick in &ticks {
            let at = ys.at(tick);
            line(drawing, [self.left, at, self.right, at], "grid");
            text(drawing, self.left - 7.0, at + 4.0, "tick end", &label(tick, &ticks));
        }
    }
}

/// Draws a straight line from (x1, y1) to (x2, y2).
pub(super) fn line(drawing: &mut Markup, ends: [f64; 4], class: &str) {
    let [x1, y1, x2, y2] = ends.map(place);
    drawing
        .element("line", &[("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2), ("class", &class)]);
}

/// Draws a text at (x, y).
pub(super) fn text(drawing: &mut Markup, x: f64, y: f64, class: &str, text: &str) {
    drawing.text("text", &[("x", &place(x)), ("y", &place(y)), ("class", &class)], text);
}

/// Draws a circle. `title` is shown on hover.
pub(super) fn circle(drawing: &mut Markup, [x, y, radius]: [f64; 3], class: &str, title: &str) {
    drawing.open(
        "circle",
        &[("cx", &place(x)), ("cy", &place(y)), ("r", &place(radius)), ("class", &class)],
    );
    drawing.text("title", &[], title);
    drawing.close("circle");
}

/// Draws a rectangle. `title` is shown on hover.
pub(super) fn rectangle(
    drawing: &mut Markup,
    [x, y, width, height]: [f64; 4],
    class: &str,
    title: &str,
) {
    let (x, y, width, height) = (place(x), place(y), place(width.max(0.0)), place(height.max(0.0)));
    drawing.open(
        "rect",
        &[("x", &x), ("y", &y), ("width", &width), ("height", &height), ("class", &class)],
    );
    drawing.text("title", &[], title);
    drawing.close("rect");
}
