//! The diagnostics, on the toy federation of the golden fixtures, on random networks and during
//! real runs.

mod passes;
mod pipeline;
mod toy;
