//! The upload of a client at the end of a round.

use boostfgl_protocol::Message;

/// The upload at the end of a round.
#[derive(Debug)]
pub struct Upload<T> {
    /// Whether the trained model is sent.
    pub model: bool,
    /// Whether the client's size is sent.
    pub size: bool,
    /// The message of the method.
    pub message: Message<T>,
    /// ‖Δ‖₂ of each tensor of what is combined, where that is not the model.
    pub moved: Option<Vec<f64>>,
}

impl<T> Upload<T> {
    /// The trained model and the client's size, as in FedAvg.
    pub fn model() -> Self {
        Self { model: true, size: true, message: Message::default(), moved: None }
    }

    /// Nothing.
    pub fn nothing() -> Self {
        Self { model: false, size: false, message: Message::default(), moved: None }
    }

    /// The trained model with a message; the server needs no size.
    pub fn with(message: Message<T>) -> Self {
        Self { model: true, size: false, message, moved: None }
    }

    /// A message without the model.
    pub fn only(message: Message<T>) -> Self {
        Self { model: false, size: false, message, moved: None }
    }
}
