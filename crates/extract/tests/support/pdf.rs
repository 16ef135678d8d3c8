//! PDF files from their objects.

use std::io::Write;

/// The text of an object without its number, `<< … >>`, and its stream.
pub struct PdfObject {
    pub text: String,
    pub stream: Option<Vec<u8>>,
}

impl PdfObject {
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            stream: None,
        }
    }

    /// A dictionary, of which `entries` are part, with a stream.
    pub fn stream(entries: &str, stream: &[u8]) -> Self {
        let text = format!("<< /Length {} {entries} >>", stream.len());
        Self {
            text,
            stream: Some(stream.to_vec()),
        }
    }
}

/// A file of objects with the numbers 1, 2, 3 …, of which the first is the catalog.
pub fn pdf(objects: &[PdfObject]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(file.len());
        write!(file, "{number} 0 obj\n{}\n", object.text).unwrap();
        if let Some(stream) = &object.stream {
            file.extend(b"stream\n");
            file.extend(stream);
            file.extend(b"\nendstream\n");
        }
        file.extend(b"endobj\n");
    }
    let table = file.len();
    write!(file, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).unwrap();
    for place in places {
        writeln!(file, "{place:010} 00000 n ").unwrap();
    }
    let size = objects.len() + 1;
    write!(
        file,
        "trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"
    )
    .unwrap();
    file
}
