//! Charts as SVG files.

/// The style of charts on paper. Its values are literal, because there is no page that defines
/// variables.
const STYLE: &str = include_str!("../chart/chart.css");

/// Adds the light style and a white background to the chart `svg`, so that it needs no page. An SVG
/// that has a style is returned unchanged.
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
