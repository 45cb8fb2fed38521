//! Federated methods: one file each, one line in [`METHODS`].
//!
//! A method has two sides. A [`ServerRule`] decides which model each client starts a round from,
//! how updates are combined and which model is evaluated. A [`ClientRule`](crate::ClientRule)
//! decides what a client adds to local training and what it sends in addition to its model. Boosts
//! are not methods: they hook into the client's loss, its propagation and the server's weights, for
//! every method.
//!
//! A file `methods/NAME.rs` holds
//! * `INFO`, a [`MethodInfo`]: what `boostfgl methods NAME` prints and what is checked before a
//!   run;
//! * `server(&MethodContext)` and `client(&MethodContext, &LocalData)`, the two sides;
//! * if it has settings, a documented `Config` with `check`, whose keys are `methods.NAME.KEY`.
//!
//! A program outside this crate adds a method by value: a [`MethodPlugin`] for
//! [`Registry::with_method`](crate::Registry::with_method).

pub mod adafgl;
pub mod afl;
mod boostfgl;
mod central;
mod check;
mod context;
pub mod fairfed;
pub mod fairfgl;
mod fedavg;
pub mod fedfv;
pub mod fedgta;
pub mod fedproto;
pub mod fedprox;
pub mod fedpub;
pub mod fedsage_plus;
pub mod fedspray;
pub mod fedtad;
mod info;
mod isolated;
pub mod moon;
mod plugin;
pub mod qffl;
pub mod scaffold;
mod server_rule;

pub use check::{attackers, check, check_attack, check_rule, single_updates};
pub use context::MethodContext;
pub use info::{EvaluatedModel, Layout, MethodInfo, Sizes, lives_by_weights, needs_hidden};
use plugin::BuiltIn;
pub use plugin::MethodPlugin;
pub use server_rule::{Round, SenderFacts, ServerRule};

use crate::{Error, Result};
use boostfgl_nn::Real;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

macro_rules! methods {
    ($($module:ident),* $(,)?) => {
        /// All built-in methods, in the order in which they are listed.
        pub const METHODS: &[&MethodInfo] = &[$(&$module::INFO),*];

        /// What makes the two sides of each of them.
        pub(crate) fn builtin<T: Real>() -> Vec<Arc<dyn MethodPlugin<T>>> {
            vec![$(Arc::new(BuiltIn {
                info: &$module::INFO,
                server: |context| Box::new($module::server(context)),
                client: |context, data| Box::new($module::client(context, data)),
            })),*]
        }
    };
}

macro_rules! configs {
    ($($field:ident = $name:literal),* $(,)?) => {
        /// Settings of all methods that have any (`[methods.NAME]`).
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct MethodConfigs {
            $(
                #[doc = concat!("Settings of ", $name, ".")]
                #[serde(rename = $name)]
                pub $field: $field::Config,
            )*
        }

        impl MethodConfigs {
            /// Checks every range.
            ///
            /// # Errors
            /// Names the first key that is out of range.
            pub fn check(&self) -> Result<()> {
                $(self.$field.check()?;)*
                Ok(())
            }
        }
    };
}

methods![
    isolated,
    central,
    fedavg,
    fedprox,
    scaffold,
    moon,
    fedsage_plus,
    fedtad,
    adafgl,
    fedgta,
    fedspray,
    fairfgl,
    boostfgl,
    qffl,
    afl,
    fedfv,
    fairfed,
    fedpub,
    fedproto,
];

configs![
    fedprox = "fedprox",
    scaffold = "scaffold",
    moon = "moon",
    fedsage_plus = "fedsage-plus",
    fedtad = "fedtad",
    adafgl = "adafgl",
    fedgta = "fedgta",
    fedspray = "fedspray",
    fairfgl = "fairfgl",
    qffl = "qffl",
    afl = "afl",
    fedfv = "fedfv",
    fairfed = "fairfed",
    fedpub = "fedpub",
    fedproto = "fedproto",
];

/// The built-in method of that name. [`Registry::method`](crate::Registry::method) finds added ones
/// as well.
///
/// # Errors
/// If there is none; the nearest name is suggested.
pub fn find(name: &str) -> Result<&'static MethodInfo> {
    let known = METHODS.iter().map(|m| m.name);
    METHODS
        .iter()
        .find(|m| m.name == name)
        .copied()
        .ok_or_else(|| Error::unknown("method", name, known))
}
