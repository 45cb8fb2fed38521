//! A method and a boost outside of boostfgl: [`FedAvgM`] and [`DegreeBoost`].
//!
//! ```
//! use boostfgl_fed::Registry;
//! use own_method::{DegreeBoost, FedAvgM};
//!
//! let registry: Registry<f32> = Registry::builtin()
//!     .with_method(FedAvgM { momentum: 0.5 })
//!     .with_boost(DegreeBoost { strength: 1.0 });
//! assert!(registry.method("fedavgm").is_ok());
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod degree;
mod fedavgm;

pub use degree::DegreeBoost;
pub use fedavgm::{FedAvgM, INFO};
