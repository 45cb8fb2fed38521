//! The form of what the server sends in addition to a model, which the client checks.

use crate::screen::{Form, Reason};
use boostfgl_nn::Real;
use boostfgl_protocol::Message;

/// What the server of a method sends with the model at the start of a round. A client uses no
/// message of another form: it arrives from a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum BroadcastForm {
    /// No message.
    #[default]
    Nothing,
    /// A message of this form.
    Always(Form),
    /// A message of this form, or none: in the first rounds there is nothing to send yet.
    Sometimes(Form),
}

impl BroadcastForm {
    /// Why a message is not of this form, if it is not.
    pub(crate) fn misfit<T: Real>(&self, message: Option<&Message<T>>) -> Option<Reason> {
        match (self, message) {
            (Self::Nothing | Self::Sometimes(_), None) => None,
            (Self::Always(form) | Self::Sometimes(form), Some(message)) => {
                form.misfit(false, message).or_else(|| {
                    (!message.is_finite()).then_some(Reason::NotFinite { what: "message" })
                })
            }
            (Self::Nothing, Some(_)) => Some(misfit("no message", "one")),
            (Self::Always(_), None) => Some(misfit("a message", "none")),
        }
    }
}

fn misfit(expected: &str, found: &str) -> Reason {
    Reason::Message { expected: expected.to_owned(), found: found.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Part;
    use boostfgl_nn::Matrix;

    fn form() -> Form {
        Form::message().tensors(vec![(2, 3)]).with(Part::new("share", 1, 0.0..=1.0))
    }

    fn message(rows: usize, share: f64) -> Message<f32> {
        Message { tensors: vec![Matrix::zeros(rows, 3)], ..Message::numbers(vec![share]) }
    }

    #[test]
    fn messages_of_another_form_are_named() {
        let [nothing, always, sometimes] = [
            BroadcastForm::Nothing,
            BroadcastForm::Always(form()),
            BroadcastForm::Sometimes(form()),
        ];
        let fits = message(2, 0.5);
        assert_eq!([nothing.misfit::<f32>(None), sometimes.misfit::<f32>(None)], [None, None]);
        assert_eq!([always.misfit(Some(&fits)), sometimes.misfit(Some(&fits))], [None, None]);
        let mut nan = message(2, 0.5);
        nan.tensors[0].row_mut(0)[0] = f32::NAN;
        for (form, message, expected) in [
            (&nothing, Some(&fits), "expected no message, found one"),
            (&always, None, "expected a message, found none"),
            (&always, Some(&message(1, 0.5)), "expected a message with tensors of 2×3"),
            (&sometimes, Some(&message(2, 1.5)), "expected a share from 0 to 1, found 1.5"),
            (&always, Some(&nan), "infinity or NaN"),
        ] {
            let reason = form.misfit(message).unwrap().to_string();
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
