//! The conformance suite: what every method must hold, with every boost.
//!
//! The methods and boosts of `boostfgl-fed` are tested with it, and so can those of other crates. A
//! crate takes it as a dev-dependency, and a test of a few lines checks every property:
//!
//! ```
//! use boostfgl_conformance::{Suite, properties};
//! use boostfgl_fed::Registry;
//! use boostfgl_fed::boost::Boost;
//!
//! let registry = Registry::builtin(); // .with_method(Mine).with_boost(MyBoost)
//! let fedavg = registry.method("fedavg")?;
//! let suite = Suite::new(&registry, fedavg).boosts(&[vec![], vec![Boost::Node]]);
//! suite.check_one(properties::find("same bits on any number of threads"));
//! // Every property: suite.check();
//! # Ok::<(), boostfgl_fed::Error>(())
//! ```
//!
//! [`PROPERTIES`] lists them. A property that does not hold panics with its name, the method, the
//! boosts and what was found. Runs are on a [small] generated federation: 300 nodes, 4 clients, 3
//! rounds.
//!
//! * [`Suite`] — a method with sets of boosts, in a registry.
//! * [`properties`] — one file per subject; each property is a function of a suite.
//! * [`small`] — the federation; [`run`], [`watch`], [`assert_same`] — runs and how they are
//!   compared; [`Wire`] — server and clients that share bytes only. They serve further tests of a
//!   method as well.

#![forbid(unsafe_code)]

pub mod properties;
mod runs;
pub mod small;
mod suite;
mod wire;

pub use properties::{PROPERTIES, Property};
pub use runs::{Round, assert_same, bits, run, watch, with_threads};
pub use suite::{Also, Case, Suite};
pub use wire::{Ended, Fault, Wire};
