//! Points in a plane: two numbers of each client or run.

use super::axes::{PlotArea, circle};
use super::scale::Scale;
use super::{Chart, colour, legend, number};
use crate::markup::Markup;

/// Points of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloud {
    /// Name in the legend.
    pub name: String,
    /// The name and the coordinates of each point; those that are not finite are not drawn.
    pub points: Vec<(String, [f64; 2])>,
}

/// Clouds of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// What the chart shows.
    pub title: String,
    /// What x is, with unit.
    pub x: String,
    /// What y is, with unit.
    pub y: String,
    /// The clouds.
    pub clouds: Vec<Cloud>,
}

const HEIGHT: f64 = 320.0;

impl Points {
    /// Draws the chart.
    pub fn chart(&self) -> Chart {
        let mut drawing = Markup::default();
        let names: Vec<&str> = self.clouds.iter().map(|cloud| &cloud.name[..]).collect();
        let area = PlotArea::below(legend(&mut drawing, &names, 64.0, 0), HEIGHT);
        let xs = Scale::over(self.coordinates(0), area.left, area.right).rounded(8);
        let ys = Scale::over(self.coordinates(1), area.bottom, area.top).rounded(5);
        area.axes(&mut drawing, [xs, ys], [&self.x, &self.y]);
        let (mut rows, head) =
            (Vec::new(), ["point", "series", &self.x, &self.y].map(str::to_owned).to_vec());
        for (i, cloud) in self.clouds.iter().enumerate() {
            for (name, [x, y]) in cloud.finite() {
                let title = format!(
                    "{}, {name}\n{}: {}\n{}: {}",
                    cloud.name,
                    self.x,
                    number(*x),
                    self.y,
                    number(*y)
                );
                circle(
                    &mut drawing,
                    [xs.at(*x), ys.at(*y), 4.0],
                    &format!("dot light {}", colour(i)),
                    &title,
                );
                rows.push(vec![name.clone(), cloud.name.clone(), number(*x), number(*y)]);
            }
        }
        Chart::new(&self.title, drawing, HEIGHT, head, rows)
    }

    /// The coordinates of all finite points along one axis.
    fn coordinates(&self, axis: usize) -> impl Iterator<Item = f64> {
        self.clouds.iter().flat_map(Cloud::finite).map(move |(_, point)| point[axis])
    }
}

impl Cloud {
    /// The points whose coordinates are both finite.
    fn finite(&self) -> impl Iterator<Item = &(String, [f64; 2])> {
        self.points.iter().filter(|(_, point)| point.iter().all(|x| x.is_finite()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_without_both_numbers_are_left_out() {
        let points =
            vec![("client 0".to_owned(), [0.5, 2.0]), ("client 1".to_owned(), [0.5, f64::NAN])];
        let clouds = vec![Cloud { name: "fedavg".into(), points }];
        let chart = Points { title: "t".into(), x: "H".into(), y: "GSD".into(), clouds }.chart();
        assert_eq!((chart.svg.matches("<circle").count(), chart.rows.len()), (1, 1));
        assert!(
            chart.svg.contains("fedavg, client 0\nH: 0.5\nGSD: 2") && !chart.svg.contains("NaN"),
            "{}",
            chart.svg
        );
        assert!(!Points::default().chart().svg.contains("NaN"));
    }
}
