//! What a saved state holds, read without the code that made it: names, and the numbers that follow
//! them.

use boostfgl_fed::Training;
use boostfgl_nn::{Matrix, StateVisitor};
use serde_json::Value;

/// A state as a sequence of names and numbers.
pub(super) struct State(Vec<Token>);

enum Token {
    Name(String),
    Numbers(Table),
}

/// Numbers in rows.
#[derive(Clone, Debug)]
pub(super) struct Table {
    columns: usize,
    numbers: Vec<f64>,
}

impl Table {
    pub(super) fn rows(&self) -> Value {
        self.numbers
            .chunks(self.columns.max(1))
            .map(|row| Value::from(row.to_vec()))
            .collect::<Vec<_>>()
            .into()
    }

    pub(super) fn flat(&self) -> Value {
        self.numbers.clone().into()
    }

    pub(super) fn numbers(&self) -> &[f64] {
        &self.numbers
    }
}

impl From<&Matrix<f64>> for Table {
    fn from(matrix: &Matrix<f64>) -> Self {
        Self { columns: matrix.columns(), numbers: matrix.to_vec() }
    }
}

impl State {
    pub(super) fn of(course: &mut Training<f64>) -> Self {
        let mut bytes = Vec::new();
        course.visit(&mut StateVisitor::saving(&mut bytes)).unwrap();
        let mut reader = Reader(&bytes);
        let mut tokens = Vec::new();
        while !reader.0.is_empty() {
            tokens.push(reader.token());
        }
        Self(tokens)
    }

    /// The first numbers after these names, which follow each other in this order.
    pub(super) fn after(&self, names: &[&str]) -> &Table {
        self.some_after(names, 1)[0]
    }

    /// The given number of values after these names.
    pub(super) fn some_after(&self, names: &[&str], count: usize) -> Vec<&Table> {
        let mut rest = self.0.iter();
        for name in names {
            assert!(
                rest.any(|token| matches!(token, Token::Name(found) if found == name)),
                "{name} of {names:?}"
            );
        }
        let tables = rest
            .filter_map(|token| if let Token::Numbers(table) = token { Some(table) } else { None });
        let found: Vec<&Table> = tables.take(count).collect();
        assert_eq!(found.len(), count, "after {names:?}");
        found
    }
}

/// The format of [`StateVisitor`]: a letter for the type of the entry, and bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, count: usize) -> &[u8] {
        let (head, tail) = self.0.split_at(count);
        self.0 = tail;
        head
    }

    fn count(&mut self) -> usize {
        u64::from_le_bytes(self.take(8).try_into().unwrap()) as usize
    }

    fn floats(&mut self, count: usize) -> Vec<f64> {
        self.take(8 * count).chunks(8).map(|x| f64::from_le_bytes(x.try_into().unwrap())).collect()
    }

    fn token(&mut self) -> Token {
        let kind = self.take(1)[0];
        let numbers = match kind {
            b'n' | b's' => {
                let count = self.count();
                return Token::Name(String::from_utf8(self.take(count).to_vec()).unwrap());
            }
            b'u' => vec![self.count() as f64],
            b'b' => vec![f64::from(self.take(1)[0])],
            b'f' => self.floats(1),
            b'F' => {
                let count = self.count();
                self.floats(count)
            }
            b'U' => {
                let count = self.count();
                let read = |x: &[u8]| f64::from(u32::from_le_bytes(x.try_into().unwrap()));
                self.take(4 * count).chunks(4).map(read).collect()
            }
            b'Y' => {
                let count = self.count();
                self.take(count).iter().map(|byte| f64::from(*byte)).collect()
            }
            b'C' => {
                let count = self.count();
                (0..count).map(|_| self.count() as f64).collect()
            }
            b'm' => {
                let (rows, columns, bytes) = (self.count(), self.count(), self.count());
                assert_eq!(bytes, 8, "numbers are f64");
                return Token::Numbers(Table { columns, numbers: self.floats(rows * columns) });
            }
            other => panic!("unknown kind of entry: {other}"),
        };
        Token::Numbers(Table { columns: numbers.len(), numbers })
    }
}
