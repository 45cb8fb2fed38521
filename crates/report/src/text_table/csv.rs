//! Records of a spreadsheet.

/// One record with its newline; fields with commas, quotes or line breaks are quoted. Written out
/// here because a general writer returns errors that cannot happen in memory.
pub(crate) fn csv_line(fields: &[String]) -> String {
    let quote = |field: &String| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    };
    let fields: Vec<String> = fields.iter().map(quote).collect();
    fields.join(",") + "\n"
}
