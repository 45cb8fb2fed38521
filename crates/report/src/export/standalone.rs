//! A chart as a file of its own.

/// What the classes of charts look like on paper: plain values, since there is no page to take them
/// from.
const STYLE: &str = include_str!("../chart/chart.css");

/// An SVG that needs no page: the chart `svg` with the light style and a white ground in it. One
/// that has a style already stays as it is.
///
/// ```
/// let svg = boostfgl_report::export::standalone("<svg viewBox=\"0 0 9 9\"><circle class=\"dot c0\" r=\"4\"/></svg>");
/// assert!(svg.contains("<style>") && svg.ends_with("<circle class=\"dot c0\" r=\"4\"/></svg>"));
/// assert_eq!(boostfgl_report::export::standalone(&svg), svg);
/// ```
pub fn standalone(svg: &str) -> String {
    // Attributes of a chart are escaped, so the first `>` ends its first tag.
    match svg.find('>') {
        Some(end) if !svg.contains("<style>") => {
            let (tag, rest) = svg.split_at(end + 1);
            format!(
                "{tag}<style>\n{STYLE}</style><rect width=\"100%\" height=\"100%\" \
                 class=\"paper\"/>{rest}"
            )
        }
        _ => svg.to_owned(),
    }
}
