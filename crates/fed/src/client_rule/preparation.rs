//! Hooks before the first round: exchanges between clients, and the graph that follows from them.

use super::ClientContext;
use crate::Result;
use crate::local_data::LocalData;
use crate::screen::Form;
use boostfgl_nn::Real;
use boostfgl_protocol::Message;

/// What a client does before the first round. By default nothing.
pub trait PreparationHooks<T: Real> {
    /// The question that goes to every other client in exchange `number`, after the local work that
    /// precedes it; `None` if there is no question.
    ///
    /// # Errors
    /// If the local work fails.
    fn question(
        &mut self,
        _context: &ClientContext<'_, T>,
        _number: usize,
    ) -> Result<Option<Message<T>>> {
        Ok(None)
    }

    /// The answer to a question from client `asker`.
    ///
    /// # Errors
    /// If the question is malformed.
    fn answer(
        &self,
        _context: &ClientContext<'_, T>,
        _number: usize,
        _asker: usize,
        _question: &Message<T>,
    ) -> Result<Message<T>> {
        Ok(Message::default())
    }

    /// The form of an answer to this client's question. Answers of another form are discarded.
    fn answer_form(&self, _question: &Message<T>) -> Form {
        Form::message()
    }

    /// Processes the answers, each with the client that gave it, in the order of clients.
    ///
    /// # Errors
    /// If the answers cannot be used.
    fn receive_answers(
        &mut self,
        _context: &ClientContext<'_, T>,
        _number: usize,
        _answers: &[(usize, Message<T>)],
    ) -> Result<()> {
        Ok(())
    }

    /// Ends the preparation. A graph that is returned replaces the client's own in all rounds; its
    /// first nodes must be the client's, in the same order.
    ///
    /// # Errors
    /// If the preparation fails.
    fn finish_preparation(
        &mut self,
        _context: &ClientContext<'_, T>,
    ) -> Result<Option<LocalData<T>>> {
        Ok(None)
    }
}
