//! Tests of whole federations, in one program, so that every generic method is compiled once.

mod conformance;
mod equalities;
mod every;
mod message_noise;
mod methods;
mod oracles;
mod probabilities;
mod refusals;
mod resume;
mod scoring;
mod screening;
mod small;
mod theory;
mod toy;
mod toy_boost;
mod trajectories;
mod two_sides;
mod two_sides_lost;
mod unusual_data;
