//! Saved state is restored bit for bit, and every damage of it is an error.

use super::*;
use crate::TensorShape;
use proptest::prelude::*;

#[derive(Debug, Default, PartialEq)]
struct State {
    round: u64,
    cached: Option<Matrix<f32>>,
    models: Vec<Params<f32>>,
    losses: Vec<f64>,
    name: String,
    places: Vec<usize>,
}

fn model(x: f32) -> Params<f32> {
    let shapes = [TensorShape::weight("w", 2, 3), TensorShape::bias("b", 2)];
    let tensors = vec![
        Matrix::from_rows(2, 3, &[x, 2.0, 3.0, 4.0, 5.0, -x]),
        Matrix::from_rows(1, 2, &[x, x]),
    ];
    Params::from_tensors(&shapes, tensors)
}

impl Stateful for State {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.visit("round", &mut self.round)?;
        visitor.option("cached", &mut self.cached, || Matrix::zeros(2, 2))?;
        visitor.each("models", &mut self.models, || model(0.0))?;
        visitor.visit("losses", &mut self.losses)?;
        visitor.visit("name", &mut self.name)?;
        visitor.visit("places", &mut self.places)
    }
}

fn saved(state: &mut State) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.visit(&mut StateVisitor::saving(&mut bytes)).unwrap();
    bytes
}

proptest! {
    #[test]
    fn saved_state_is_restored_bit_for_bit(
        round in any::<u64>(),
        cached in prop::option::of(prop::array::uniform4(any::<f32>())),
        models in prop::collection::vec(any::<f32>(), 0..4),
        losses in prop::collection::vec(any::<f64>(), 0..9),
        name in ".{0,9}",
        places in prop::collection::vec(any::<usize>(), 0..5),
    ) {
        let cached = cached.map(|x| Matrix::from_rows(2, 2, &x));
        let models = models.into_iter().map(model).collect();
        let mut state = State { round, cached, models, losses, name, places };
        let bytes = saved(&mut state);
        let mut restored = State { losses: vec![9.0], ..State::default() };
        let mut visitor = StateVisitor::restoring(&bytes);
        restored.visit(&mut visitor).unwrap();
        prop_assert_eq!(visitor.unread(), 0);
        // As bytes, since NaN is not equal to itself.
        prop_assert_eq!(saved(&mut restored), bytes);
    }

    /// No bytes make it panic, or allocate more memory than there are bytes.
    #[test]
    fn random_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut state = State::default();
        prop_assert!(state.visit(&mut StateVisitor::restoring(&bytes)).is_err());
    }
}

#[test]
fn truncation_and_other_shapes_and_names_are_errors_that_name_the_entry() {
    let mut state = State { models: vec![model(1.0)], losses: vec![1.0], ..State::default() };
    let bytes = saved(&mut state);
    for length in 0..bytes.len() {
        assert!(
            State::default().visit(&mut StateVisitor::restoring(&bytes[..length])).is_err(),
            "truncated at {length}"
        );
    }
    let mut saved = Vec::new();
    StateVisitor::saving(&mut saved).visit("w", &mut Matrix::<f32>::zeros(2, 3)).unwrap();
    let error =
        StateVisitor::restoring(&saved).visit("w", &mut Matrix::<f64>::zeros(2, 3)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "w: expected 2 x 3 numbers of 8 bytes, found 2 x 3 numbers of 4 bytes"
    );
    let error =
        StateVisitor::restoring(&saved).visit("v", &mut Matrix::<f32>::zeros(2, 3)).unwrap_err();
    assert_eq!(error.to_string(), "v: expected `v`, found `w`");
}

#[test]
fn a_huge_number_of_rows_is_an_error_before_any_allocation() {
    let mut bytes = Vec::new();
    let mut visitor = StateVisitor::saving(&mut bytes);
    visitor
        .within("table", |visitor| {
            (u64::MAX / 2).visit(visitor)?;
            0u64.visit(visitor)
        })
        .unwrap();
    let error = StateVisitor::restoring(&bytes)
        .table("table", &mut Matrix::<f32>::zeros(0, 3))
        .unwrap_err();
    assert!(error.to_string().starts_with("table: expected at most 0 numbers, found "), "{error}");
}
