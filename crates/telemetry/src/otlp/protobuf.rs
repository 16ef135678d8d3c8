//! The wire format of Protocol Buffers, as far as OTLP needs it.

/// What a field's bytes are.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;

/// A message that is being written. Texts and numbers that say nothing are left out, as the format wants it of fields
/// without presence.
#[derive(Debug, Default)]
pub(super) struct ProtobufMessage(Vec<u8>);

impl ProtobufMessage {
    pub fn text(&mut self, field: u64, text: &str) {
        if !text.is_empty() {
            self.present_bytes(field, text.as_bytes());
        }
    }

    pub fn bytes(&mut self, field: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.present_bytes(field, bytes);
        }
    }

    /// Also where there are none: a member of a `oneof` says by being there which it is.
    pub fn present_bytes(&mut self, field: u64, bytes: &[u8]) {
        self.tag(field, LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub fn message(&mut self, field: u64, message: &Self) {
        self.present_bytes(field, &message.0);
    }

    pub fn number(&mut self, field: u64, number: u64) {
        if number != 0 {
            self.present_number(field, number);
        }
    }

    pub fn present_number(&mut self, field: u64, number: u64) {
        self.tag(field, VARINT);
        self.varint(number);
    }

    pub fn fixed_64(&mut self, field: u64, number: u64) {
        if number != 0 {
            self.tag(field, FIXED_64);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub fn fixed_32(&mut self, field: u64, number: u32) {
        if number != 0 {
            self.tag(field, FIXED_32);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub fn present_double(&mut self, field: u64, number: f64) {
        self.tag(field, FIXED_64);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Numbers of eight bytes, one behind the other.
    pub fn packed(&mut self, field: u64, numbers: impl IntoIterator<Item = [u8; 8]>) {
        let bytes: Vec<u8> = numbers.into_iter().flatten().collect();
        self.bytes(field, &bytes);
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn tag(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

/// A field that was read: a number, or bytes.
#[derive(Debug, PartialEq)]
pub(super) enum ProtobufField<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, in order; ends early where it is broken.
pub(super) fn fields(mut bytes: &[u8]) -> Vec<(u64, ProtobufField<'_>)> {
    let mut fields = Vec::new();
    while let Some(field) = next_field(&mut bytes) {
        fields.push(field);
    }
    fields
}

fn next_field<'a>(bytes: &mut &'a [u8]) -> Option<(u64, ProtobufField<'a>)> {
    let tag = read_varint(bytes)?;
    let value = match tag & 7 {
        VARINT => ProtobufField::Number(read_varint(bytes)?),
        FIXED_64 => ProtobufField::Bytes(split(bytes, 8)?),
        LENGTH => {
            let length = usize::try_from(read_varint(bytes)?).ok()?;
            ProtobufField::Bytes(split(bytes, length)?)
        }
        FIXED_32 => ProtobufField::Bytes(split(bytes, 4)?),
        _ => return None,
    };
    Some((tag >> 3, value))
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_format_wants_them() {
        let mut inner = ProtobufMessage::default();
        inner.text(1, "");
        inner.text(2, "testing");
        let mut message = ProtobufMessage::default();
        message.number(1, 150);
        message.number(2, 0);
        message.message(3, &inner);
        message.fixed_32(16, 1);
        // The bytes of the format's own page: 150 is 96 01, and "testing" as field 2 is 12 07 …
        let expected = [
            &[0x08, 0x96, 0x01, 0x1a, 0x09, 0x12, 0x07][..],
            b"testing",
            &[0x85, 0x01, 1, 0, 0, 0],
        ];
        assert_eq!(message.0, expected.concat());
    }

    #[test]
    fn what_was_written_is_read_and_what_is_cut_ends() {
        let mut message = ProtobufMessage::default();
        message.number(1, u64::MAX);
        message.text(5, "no");
        let bytes = message.into_bytes();
        let expected = [
            (1, ProtobufField::Number(u64::MAX)),
            (5, ProtobufField::Bytes(b"no")),
        ];
        assert_eq!(fields(&bytes), expected);
        assert_eq!(fields(&bytes[..bytes.len() - 1]).len(), 1);
        assert_eq!(fields(&[0xff; 12]), []);
    }
}
