//! The frame of a drawing: grid, ticks, names of the axes.

use super::scale::{Scale, label};
use super::{WIDTH, place};
use crate::markup::Markup;

/// Where marks stand, in units of the drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Room {
    /// Room for marks below a legend that ends at `top`, in a drawing of that height.
    pub(super) fn below(top: f64, height: f64) -> Self {
        Self { left: 64.0, right: WIDTH - 14.0, top, bottom: height - 42.0 }
    }

    /// Draws both axes; `x` and `y` name them.
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
        let (at, middle) = (11.0, f64::midpoint(self.top, self.bottom));
        let turn = format!("rotate(-90 {} {})", place(at), place(middle));
        let attributes: &[(&str, &dyn std::fmt::Display)] = &[
            ("x", &place(at)),
            ("y", &place(middle)),
            ("transform", &turn),
            ("class", &"name middle"),
        ];
        drawing.text("text", attributes, y);
    }

    /// What x is.
    pub(super) fn name_x(self, drawing: &mut Markup, x: &str) {
        text(drawing, f64::midpoint(self.left, self.right), self.bottom + 36.0, "name middle", x);
    }

    fn grid(self, drawing: &mut Markup, ys: Scale) {
        let ticks = ys.ticks(5);
        for &tick in &ticks {
            let at = ys.at(tick);
            line(drawing, [self.left, at, self.right, at], "grid");
            text(drawing, self.left - 7.0, at + 4.0, "tick end", &label(tick, &ticks));
        }
    }
}

/// A straight line from (x1, y1) to (x2, y2).
pub(super) fn line(drawing: &mut Markup, ends: [f64; 4], class: &str) {
    let [x1, y1, x2, y2] = ends.map(place);
    drawing
        .element("line", &[("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2), ("class", &class)]);
}

/// A text.
pub(super) fn text(drawing: &mut Markup, x: f64, y: f64, class: &str, text: &str) {
    drawing.text("text", &[("x", &place(x)), ("y", &place(y)), ("class", &class)], text);
}

/// A circle that tells its number.
pub(super) fn circle(drawing: &mut Markup, [x, y, radius]: [f64; 3], class: &str, told: &str) {
    drawing.open(
        "circle",
        &[("cx", &place(x)), ("cy", &place(y)), ("r", &place(radius)), ("class", &class)],
    );
    drawing.text("title", &[], told);
    drawing.close("circle");
}

/// A rectangle that tells its number.
pub(super) fn rectangle(
    drawing: &mut Markup,
    [x, y, width, height]: [f64; 4],
    class: &str,
    told: &str,
) {
    let (x, y, width, height) = (place(x), place(y), place(width.max(0.0)), place(height.max(0.0)));
    drawing.open(
        "rect",
        &[("x", &x), ("y", &y), ("width", &width), ("height", &height), ("class", &class)],
    );
    drawing.text("title", &[], told);
    drawing.close("rect");
}
