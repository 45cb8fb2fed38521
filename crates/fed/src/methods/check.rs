//! Which combinations of method, boosts, network, robust rule and attack are possible.

use super::{Layout, MethodInfo};
use crate::aggregate::{self, Rule};
use crate::boost::{Boost, Place};
use crate::config::Model;
use crate::{Error, Result, attack};
use boostfgl_nn::backbones::ViewPlan;

/// Checks that the method can run with these boosts on this network, which has this plan.
///
/// # Errors
/// The reason, if it cannot.
pub fn check(method: &MethodInfo, boosts: &[Boost], model: &Model, plan: ViewPlan) -> Result<()> {
    let backbone = &model.backbone;
    for &boost in boosts {
        if let Some(reason) = (method.refuses)(boost) {
            return Err(refusal(method, format!("{} boosting", boost.name()), reason));
        }
        if boost.info().acts_on(Place::Propagation) && plan.hops == 0 {
            let reason = "it reweights messages, and this network passes none";
            let what = format!("{} boosting on the backbone {backbone}", boost.name());
            return Err(refusal(method, what, reason));
        }
    }
    if model.message_noise > 0.0 {
        if let Some(reason) = method.noise {
            return Err(refusal(method, "noise on messages (model.message_noise)".into(), reason));
        }
        if plan.hops == 0 {
            let reason = "there would be nothing to disturb: this network passes no messages";
            return Err(refusal(
                method,
                format!("noise on the messages (model.message_noise) of the backbone {backbone}"),
                reason,
            ));
        }
    }
    match (method.network)(plan) {
        Some(reason) => Err(refusal(method, format!("the backbone {backbone}"), reason)),
        None => Ok(()),
    }
}

/// The error that the method cannot run with `what`.
fn refusal(method: &MethodInfo, what: String, reason: &'static str) -> Error {
    Error::Refused { method: method.name, what, reason }
}

/// Checks that this rule can combine the models of the method, given the number of participants.
///
/// # Errors
/// The reason, if it cannot.
pub fn check_rule(
    method: &MethodInfo,
    aggregation: aggregate::Config,
    participants: usize,
) -> Result<()> {
    let rule = aggregation.rule;
    if rule == Rule::Mean {
        return Ok(());
    }
    match (method.outvotes)(rule) {
        Some(reason) => {
            let what = format!("the rule {} (aggregation.rule)", rule.name());
            Err(Error::Refused { method: method.name, what, reason })
        }
        None => aggregation.check(participants),
    }
}

/// Why the server needs every single update under these settings, if a weighted sum of all is not
/// enough: the reason for which secure aggregation has to be refused. The screen also looks at
/// single updates; it is a check that a run can do without (`screen.enabled`).
pub fn single_updates(
    method: &MethodInfo,
    boosts: &[Boost],
    aggregation: aggregate::Config,
) -> Option<&'static str> {
    let trusts = boosts.iter().any(|boost| boost.info().acts_on(Place::Aggregation));
    let outvotes = aggregation.rule != Rule::Mean;
    method
        .single_updates
        .or(trusts.then_some("trust follows from the length of each update"))
        .or(outvotes.then_some("a robust rule compares updates with each other"))
}

/// The clients that attack, of `clients`.
///
/// # Errors
/// As [`check_attack`].
pub fn attackers(
    method: &MethodInfo,
    attack: &attack::Config,
    clients: usize,
) -> Result<Vec<usize>> {
    check_attack(method, attack, clients)?;
    attack.attackers(clients)
}

/// Checks that the configured attack is possible under the method with this number of clients.
///
/// # Errors
/// If there are fewer clients than attackers, or the method has no clients.
pub fn check_attack(method: &MethodInfo, attack: &attack::Config, clients: usize) -> Result<()> {
    if attack.kind != attack::Kind::None && method.layout == Layout::Whole {
        let reason = "one place holds all data: there is no client that could attack";
        return Err(Error::Refused {
            method: method.name,
            what: "an attack (attack.kind)".into(),
            reason,
        });
    }
    attack.check_clients(clients)
}
