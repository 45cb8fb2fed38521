//! The critical-difference diagram: mean ranks on a line, joined where they do not differ (Demšar
//! 2006).

use super::axes::{circle, line, text};
use super::scale::Scale;
use super::{Chart, WIDTH, colour, number, place};
use crate::markup::Markup;

/// Mean ranks of methods.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranks {
    /// What the chart shows.
    pub title: String,
    /// Names and mean ranks, 1 being the best.
    pub ranks: Vec<(String, f64)>,
    /// Ranks further apart than this differ; `None` if it is not known.
    pub critical_difference: Option<f64>,
}

/// The distance between the names of methods.
const STEP: f64 = 20.0;
/// The distance between the lines that join methods.
const JOINT_STEP: f64 = 8.0;
/// The height of the axis.
const AXIS: f64 = 46.0;

impl Ranks {
    /// Draws the chart.
    pub fn chart(&self) -> Chart {
        let mut order: Vec<(usize, &(String, f64))> =
            self.ranks.iter().enumerate().filter(|(_, r)| r.1.is_finite()).collect();
        order.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let ranks: Vec<f64> = order.iter().map(|(_, (_, rank))| *rank).collect();
        let last = self.ranks.len().max(2);
        let xs = Scale::over([1.0, last as f64].into_iter(), 170.0, WIDTH - 170.0);
        let mut drawing = Markup::default();
        draw_axis(&mut drawing, xs, last);
        if let Some(difference) = self.critical_difference {
            draw_critical_difference(&mut drawing, xs, difference);
        }
        let joined = cliques(&ranks, self.critical_difference);
        for (at, &(from, to)) in joined.iter().enumerate() {
            let y = AXIS + 9.0 + JOINT_STEP * at as f64;
            line(&mut drawing, [xs.at(ranks[from]) - 3.0, y, xs.at(ranks[to]) + 3.0, y], "joint");
        }
        let below = AXIS + 12.0 + JOINT_STEP * joined.len() as f64;
        let half = order.len().div_ceil(2);
        for (at, &(series, method)) in order.iter().enumerate() {
            // The better half is named on the left and the other on the right, both from the
            // outside in, so that no lines cross.
            let left = at < half;
            let row = if left { at } else { order.len() - 1 - at };
            let y = below + STEP * (row as f64 + 0.5);
            draw_method(&mut drawing, method, [xs.at(method.1), y], left, &colour(series));
        }
        let rows =
            order.iter().map(|(_, (name, rank))| vec![name.clone(), number(*rank)]).collect();
        let head = vec!["method".to_owned(), "mean rank".to_owned()];
        Chart::new(&self.title, drawing, below + STEP * half as f64 + 8.0, head, rows)
    }
}

/// Draws the axis with a tick at every rank from 1 to `last`.
fn draw_axis(drawing: &mut Markup, xs: Scale, last: usize) {
    for rank in 1..=last {
        let at = xs.at(rank as f64);
        line(drawing, [at, AXIS - 4.0, at, AXIS], "axis");
        text(drawing, at, AXIS - 8.0, "tick middle", &rank.to_string());
    }
    line(drawing, [xs.at(1.0), AXIS, xs.at(last as f64), AXIS], "axis");
}

/// Draws the critical difference as a length above the axis.
fn draw_critical_difference(drawing: &mut Markup, xs: Scale, difference: f64) {
    let end = xs.at(1.0 + difference).min(WIDTH - 20.0);
    line(drawing, [xs.at(1.0), 12.0, end, 12.0], "line ink");
    let label = format!("critical difference {}", number(difference));
    text(drawing, end + 8.0, 16.0, "tick", &label);
}

/// Draws a method: a dot on the axis at `x`, and its name at height `y` on the left or the right,
/// joined by a line.
fn draw_method(
    drawing: &mut Markup,
    (name, rank): &(String, f64),
    [x, y]: [f64; 2],
    left: bool,
    colour: &str,
) {
    let end = if left { 160.0 } else { WIDTH - 160.0 };
    let (axis, end_text, x_text, y_text) = (place(AXIS), place(end), place(x), place(y));
    let path = format!("{x_text},{axis} {x_text},{y_text} {end_text},{y_text}");
    drawing.element("polyline", &[("points", &path), ("class", &format!("thin {colour}"))]);
    let title = format!("{name}: {}", number(*rank));
    circle(drawing, [x, AXIS, 4.0], &format!("dot {colour}"), &title);
    let (at, class) = if left { (end - 6.0, "tick end") } else { (end + 6.0, "tick") };
    text(drawing, at, y + 4.0, class, &format!("{name} ({rank:.2})"));
}

/// The longest runs of sorted ranks within the critical difference, as positions of their ends. A
/// run within a longer one is left out.
fn cliques(ranks: &[f64], difference: Option<f64>) -> Vec<(usize, usize)> {
    let Some(difference) = difference else { return Vec::new() };
    let mut found: Vec<(usize, usize)> = Vec::new();
    for from in 0..ranks.len() {
        let to = (from..ranks.len())
            .rev()
            .find(|&to| ranks[to] - ranks[from] <= difference)
            .unwrap_or(from);
        if to > from && found.last().is_none_or(|&(_, last)| to > last) {
            found.push((from, to));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cliques_join_ranks_within_the_critical_difference() {
        assert_eq!(cliques(&[1.0, 1.5, 2.6, 4.0], Some(1.2)), [(0, 1), (1, 2)]);
        assert_eq!(cliques(&[1.0, 1.5, 2.0], Some(3.0)), [(0, 2)]);
        assert_eq!(cliques(&[1.0, 3.0], Some(1.0)), []);
        assert_eq!(cliques(&[1.0, 3.0], None), []);
    }

    #[test]
    fn every_method_with_a_rank_is_drawn() {
        let ranks = vec![
            ("fedavg".to_owned(), 2.25),
            ("a<b".to_owned(), 1.0),
            ("none".to_owned(), f64::NAN),
        ];
        let chart = Ranks { title: "ranks".into(), ranks, critical_difference: Some(0.9) }.chart();
        assert!(
            chart.svg.contains("a&lt;b (1.00)") && chart.svg.contains("fedavg (2.25)"),
            "{}",
            chart.svg
        );
        assert_eq!(chart.rows, [["a<b", "1"], ["fedavg", "2.25"]]);
        assert!(!chart.svg.contains("NaN") && !Ranks::default().chart().svg.contains("NaN"));
    }
}
