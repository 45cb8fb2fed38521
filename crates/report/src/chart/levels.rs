//! Curves over the values of a setting, at equal distances, with a band around each.

use super::axes::{PlotArea, circle, line, text};
use super::scale::Scale;
use super::{Chart, colour, legend, number, place, shortened};
use crate::markup::Markup;
use boostfgl_fairness::{mean, sample_std};

/// Curves over the values of a setting.
///
/// Values stand at equal distances: learning rates are often powers of a number, and backbones have
/// no distance at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// What the chart shows.
    pub title: String,
    /// The setting.
    pub x: String,
    /// What y is, with unit.
    pub y: String,
    /// What the band is; empty without bands.
    pub band: String,
    /// The values of the setting, in order.
    pub levels: Vec<String>,
    /// Whether the values have an order, so that lines join them.
    pub ordered: bool,
    /// Each curve: its name, and per level the values over seeds, which may be none.
    pub curves: Vec<(String, Vec<Vec<f64>>)>,
}

const HEIGHT: f64 = 300.0;

/// Mean, lower and upper end of the band; NaN without values.
type Spread = [f64; 3];

impl Levels {
    /// Draws the chart.
    pub fn chart(&self) -> Chart {
        let curves: Vec<(&str, Vec<Spread>)> = self
            .curves
            .iter()
            .map(|(name, levels)| (&name[..], levels.iter().map(|values| spread(values)).collect()))
            .collect();
        let drawn = raised(&curves);
        let mut drawing = Markup::default();
        let names: Vec<&str> = curves.iter().map(|(name, _)| *name).collect();
        let area = PlotArea::below(legend(&mut drawing, &names, 64.0, 0), HEIGHT);
        let all = drawn.iter().flat_map(|(_, spreads)| spreads).flatten().copied();
        let ys = Scale::over(all, area.bottom, area.top).rounded(5);
        area.grid(&mut drawing, ys);
        self.draw_axis(&mut drawing, area);
        for (series, (name, spreads)) in drawn.iter().enumerate() {
            let points: Vec<(f64, &Spread)> = spreads
                .iter()
                .enumerate()
                .map(|(at, spread)| (self.at(area, at), spread))
                .collect();
            self.draw(&mut drawing, series, name, &points, ys);
        }
        let note =
            if self.band.is_empty() { String::new() } else { format!("Band: {}.", self.band) };
        let rows = (0..self.levels.len()).map(|at| self.row(&curves, at)).collect();
        Chart::new(&self.title, drawing, HEIGHT, self.head(), rows).noted(note)
    }

    /// The coordinate of a level.
    fn at(&self, area: PlotArea, level: usize) -> f64 {
        let share = (level as f64 + 0.5) / self.levels.len().max(1) as f64;
        area.left + share * (area.right - area.left)
    }

    /// Draws the x axis with the names of the levels, and both titles.
    fn draw_axis(&self, drawing: &mut Markup, area: PlotArea) {
        let wide = (area.right - area.left) / self.levels.len().max(1) as f64;
        let most = ((wide / 6.4) as usize).max(3);
        for (at, level) in self.levels.iter().enumerate() {
            let x = self.at(area, at);
            line(drawing, [x, area.bottom, x, area.bottom + 4.0], "axis");
            text(drawing, x, area.bottom + 18.0, "tick middle", &shortened(level, most));
        }
        line(drawing, [area.left, area.bottom, area.right, area.bottom], "axis");
        area.name_x(drawing, &self.x);
        area.name_y(drawing, &self.y);
    }

    /// Draws one curve: its band and line where levels have an order, else a bar per level.
    fn draw(
        &self,
        drawing: &mut Markup,
        series: usize,
        name: &str,
        points: &[(f64, &Spread)],
        ys: Scale,
    ) {
        let class = colour(series);
        for run in points.split(|(_, spread)| !spread[0].is_finite()).filter(|run| run.len() > 1) {
            if self.ordered && !self.band.is_empty() {
                let upper = along(run, 2, ys);
                let around: Vec<String> =
                    upper.into_iter().chain(along(run, 1, ys).into_iter().rev()).collect();
                let attributes: [(&str, &dyn std::fmt::Display); 2] =
                    [("points", &around.join(" ")), ("class", &format!("band {class}"))];
                drawing.element("polygon", &attributes);
            }
            if self.ordered {
                let attributes: [(&str, &dyn std::fmt::Display); 2] =
                    [("points", &along(run, 0, ys).join(" ")), ("class", &format!("line {class}"))];
                drawing.element("polyline", &attributes);
            }
        }
        let finite = points.iter().enumerate().filter(|(_, (_, spread))| spread[0].is_finite());
        for (level, (x, [mean, low, high])) in finite {
            // Bars of several curves would hide each other.
            let x = if self.ordered { *x } else { x + 7.0 * series as f64 };
            if !self.ordered && low < high {
                let whisker = [x, ys.at(*low), x, ys.at(*high)];
                line(drawing, whisker, &format!("line {class}"));
            }
            let mut title = format!("{name}, {} {}: {}", self.x, self.levels[level], number(*mean));
            if !self.band.is_empty() && low != high {
                title.push_str(&format!(" ({} to {})", number(*low), number(*high)));
            }
            circle(drawing, [x, ys.at(*mean), 4.0], &format!("dot {class}"), &title);
        }
    }

    /// The head of the table, with two more columns per curve if there are bands.
    fn head(&self) -> Vec<String> {
        let mut head = vec![self.x.clone()];
        for (name, _) in &self.curves {
            head.push(name.clone());
            if !self.band.is_empty() {
                head.extend([format!("{name} low"), format!("{name} high")]);
            }
        }
        head
    }

    /// The row of the table of one level.
    fn row(&self, curves: &[(&str, Vec<Spread>)], level: usize) -> Vec<String> {
        let mut row = vec![self.levels[level].clone()];
        for (_, spreads) in curves {
            let spread = spreads.get(level).copied().unwrap_or([f64::NAN; 3]);
            let shown = if self.band.is_empty() { &spread[..1] } else { &spread[..] };
            row.extend(shown.iter().map(|x| number(*x)));
        }
        row
    }
}

/// The mean of the values and one standard deviation around it.
fn spread(values: &[f64]) -> Spread {
    let Some(mean) = mean(values) else { return [f64::NAN; 3] };
    let std = sample_std(values).unwrap_or(0.0);
    [mean, mean - std, mean + std]
}

/// The curves as they are drawn: a spread around small numbers does not reach below zero where the
/// numbers cannot.
fn raised<'a>(curves: &[(&'a str, Vec<Spread>)]) -> Vec<(&'a str, Vec<Spread>)> {
    let negative = curves.iter().flat_map(|(_, spreads)| spreads).any(|spread| spread[0] < 0.0);
    let mut raised = curves.to_vec();
    if !negative {
        for [_, low, _] in raised.iter_mut().flat_map(|(_, spreads)| spreads) {
            // The other order would turn a missing value into 0.
            *low = if *low < 0.0 { 0.0 } else { *low };
        }
    }
    raised
}

/// The SVG coordinates of one entry of the spreads.
fn along(points: &[(f64, &Spread)], entry: usize, ys: Scale) -> Vec<String> {
    points
        .iter()
        .map(|(x, spread)| format!("{},{}", place(*x), place(ys.at(spread[entry]))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(ordered: bool) -> Levels {
        Levels {
            title: "Accuracy".into(),
            x: "learning_rate".into(),
            y: "%".into(),
            band: "± one standard deviation".into(),
            levels: ["0.001", "0.01", "0.1"].map(str::to_owned).to_vec(),
            ordered,
            curves: vec![
                ("a<b".into(), vec![vec![50.0, 52.0], vec![60.0, 62.0], vec![55.0, 55.0]]),
                ("c".into(), vec![vec![40.0], Vec::new(), vec![45.0]]),
            ],
        }
    }

    #[test]
    fn every_value_has_a_mark_with_its_numbers() {
        let chart = levels(true).chart();
        assert_eq!(chart.svg.matches("<circle").count(), 5, "{}", chart.svg);
        assert!(
            chart.svg.contains("a&lt;b, learning_rate 0.001: 51 (49.586 to 52.414)"),
            "{}",
            chart.svg
        );
        assert_eq!(chart.svg.matches("<polyline").count(), 1, "the gap of c joins nothing");
        assert_eq!(chart.rows[1], ["0.01", "61", "59.586", "62.414", "–", "–", "–"]);
        assert!(!chart.svg.contains("NaN") && !Levels::default().chart().svg.contains("NaN"));
    }

    #[test]
    fn a_band_stays_above_zero_where_the_numbers_do() {
        let mut levels = levels(true);
        levels.curves[0].1[0] = vec![0.0, 4.0];
        let chart = levels.chart();
        assert_eq!(chart.rows[0][2], "-0.82843", "the table has the number");
        assert!(chart.svg.contains("0.001: 2 (0 to 4.828)"), "{}", chart.svg);
    }

    #[test]
    fn values_without_an_order_are_not_joined() {
        let chart = levels(false).chart();
        assert!(!chart.svg.contains("<polyline") && !chart.svg.contains("<polygon"));
        assert_eq!(chart.svg.matches("<circle").count(), 5);
    }
}
