//! Records of CSV.

/// One record with its newline; fields with commas, quotes or line breaks are quoted. The writer of
/// the crate csv would return I/O errors, which cannot happen in memory.
pub(crate) fn csv_line(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    fields.join(",") + "\n"
}

/// A field, in quotes if necessary.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
