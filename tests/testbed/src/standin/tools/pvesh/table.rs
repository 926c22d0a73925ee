//! The boxed tables that `pvesh` prints unless it is asked for JSON.

use serde_json::Value;

/// The boxed tables of the real tool; scalars as they are.
pub fn print(value: &Value) {
    let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (header, rows): (Vec<String>, Vec<Vec<String>>) = match value {
        Value::Object(fields) => (
            vec!["key".to_owned(), "value".to_owned()],
            fields.iter().map(|(key, value)| vec![key.clone(), cell(value)]).collect(),
        ),
        Value::Array(list) if list.iter().all(Value::is_object) => {
            let keys: std::collections::BTreeSet<String> =
                list.iter().filter_map(Value::as_object).flat_map(|fields| fields.keys().cloned()).collect();
            let row = |entry: &Value| keys.iter().map(|key| entry.get(key).map_or_else(String::new, cell)).collect();
            (keys.iter().cloned().collect(), list.iter().map(row).collect())
        }
        scalar => {
            emit!("{}", cell(scalar));
            return;
        }
    };
    if rows.is_empty() {
        return;
    }
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let rule = |left: &str, middle: &str, right: &str, line: &str| {
        let parts: Vec<String> = widths.iter().map(|width| line.repeat(width + 2)).collect();
        emit!("{left}{}{right}", parts.join(middle));
    };
    let print_row = |row: &[String]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(text, width)| format!(" {text:<width$} ")).collect();
        emit!("│{}│", cells.join("│"));
    };
    rule("┌", "┬", "┐", "─");
    print_row(&header);
    rule("╞", "╪", "╡", "═");
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            rule("├", "┼", "┤", "─");
        }
        print_row(row);
    }
    rule("└", "┴", "┘", "─");
}
