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
    /// Ranks further apart than this differ; `None` if that cannot be told.
    pub critical_difference: Option<f64>,
}

const STEP: f64 = 20.0;

impl Ranks {
    /// Draws them.
    pub fn chart(&self) -> Chart {
        let mut order: Vec<(usize, &(String, f64))> =
            self.ranks.iter().enumerate().filter(|(_, r)| r.1.is_finite()).collect();
        order.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let ranks: Vec<f64> = order.iter().map(|(_, (_, rank))| *rank).collect();
        let xs =
            Scale::over([1.0, self.ranks.len().max(2) as f64].into_iter(), 170.0, WIDTH - 170.0);
        let joined = cliques(&ranks, self.critical_difference);
        let axis = 46.0;
        let mut drawing = Markup::default();
        for rank in 1..=self.ranks.len().max(2) {
            let at = xs.at(rank as f64);
            line(&mut drawing, [at, axis - 4.0, at, axis], "axis");
            text(&mut drawing, at, axis - 8.0, "tick middle", &rank.to_string());
        }
        line(&mut drawing, [xs.at(1.0), axis, xs.at(self.ranks.len().max(2) as f64), axis], "axis");
        if let Some(difference) = self.critical_difference {
            let end = xs.at(1.0 + difference).min(WIDTH - 20.0);
            line(&mut drawing, [xs.at(1.0), 12.0, end, 12.0], "line ink");
            text(
                &mut drawing,
                end + 8.0,
                16.0,
                "tick",
                &format!("critical difference {}", number(difference)),
            );
        }
        let below = axis + 12.0 + 8.0 * joined.len() as f64;
        for (at, &(from, to)) in joined.iter().enumerate() {
            let y = axis + 9.0 + 8.0 * at as f64;
            line(&mut drawing, [xs.at(ranks[from]) - 3.0, y, xs.at(ranks[to]) + 3.0, y], "joint");
        }
        let half = order.len().div_ceil(2);
        for (at, (series, (name, rank))) in order.iter().enumerate() {
            // The better half stands on the left, the others on the right, so that no line crosses
            // another.
            let (left, row) = if at < half { (true, at) } else { (false, order.len() - 1 - at) };
            let (x, y) = (xs.at(*rank), below + STEP * (row as f64 + 0.5));
            let end = if left { 160.0 } else { WIDTH - 160.0 };
            let path = format!(
                "{},{} {},{} {},{}",
                place(x),
                place(axis),
                place(x),
                place(y),
                place(end),
                place(y)
            );
            drawing.element(
                "polyline",
                &[("points", &path), ("class", &format!("thin {}", colour(*series)))],
            );
            circle(
                &mut drawing,
                [x, axis, 4.0],
                &format!("dot {}", colour(*series)),
                &format!("{name}: {}", number(*rank)),
            );
            let (at, class) = if left { (end - 6.0, "tick end") } else { (end + 6.0, "tick") };
            text(&mut drawing, at, y + 4.0, class, &format!("{name} ({rank:.2})"));
        }
        let rows =
            order.iter().map(|(_, (name, rank))| vec![name.clone(), number(*rank)]).collect();
        let head = vec!["method".to_owned(), "mean rank".to_owned()];
        Chart::new(&self.title, drawing, below + STEP * half as f64 + 8.0, head, rows)
    }
}

/// Longest stretches of sorted ranks that lie within the critical difference, as positions of their
/// ends.
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
    fn stretches_join_what_does_not_differ() {
        assert_eq!(cliques(&[1.0, 1.5, 2.6, 4.0], Some(1.2)), [(0, 1), (1, 2)]);
        assert_eq!(cliques(&[1.0, 1.5, 2.0], Some(3.0)), [(0, 2)]);
        assert_eq!(cliques(&[1.0, 3.0], Some(1.0)), []);
        assert_eq!(cliques(&[1.0, 3.0], None), []);
    }

    #[test]
    fn every_method_stands_in_the_diagram() {
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
