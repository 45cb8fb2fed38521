//! BoostFGL: FedAvg with node, topology and model boosting.
//!
//! The three boosts live in [`crate::boost`] and stack on any method; this entry only switches them
//! on.

use super::MethodInfo;
use crate::boost::Boost;

pub(super) use super::fedavg::{client, server};

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "boostfgl",
    summary: "FedAvg with node, topology and model boosting: the paper's method",
    paper: "Chen et al., BoostFGL: Boosting Fairness in Federated Graph Learning",
    equations: "difficulty:  d_v = 1 - p(y_v) (training nodes), 1 - max p (others); dbar_v = \
        (1-mu) dbar_v + mu d_v\n\
                \x20            p: the received model by plain propagation (scoring_propagation = \"boosted\": by beta of the last round)\n\
                node:        alpha_v = 1 + lambda_n dbar_v weighs the loss of training node v\n\
                topology:    s_uv = (dbar_u + dbar_v)/2 + h_uv; beta_uv = softmax over u of \
                (lambda_e s_uv)\n\
                \x20            h_uv = [y_u != y_v] between training nodes, else 1 - <p_u, p_v>\n\
                \x20            h'_v = gcn_vv h_v + sum_u gcn_vu d_v beta_uv h_u (mulgcn), d_v \
                neighbours of v, gcn the plain coefficients\n\
                model:       tau_k = 1/((1 + lambda_s |theta_k - theta|)(1 + gamma gap_k)); w_k ~ \
                n_k tau_k\n\
                server:      theta = sum_k w_k theta_k",
    wire: "up P + 3 (model, size, fairness gap, minority difficulty), down P",
    evaluated: "the global model, on every client's local graph, propagating with beta",
    departures: "The paper gives two forms of trust, leaves out self-loops, the gap's node set \
        and propagation in evaluation,\n\
                 and its signs contradict its text; each choice is a key under boost.*, with its \
                 default explained there.\n\
                 The default propagation_rule, mulgcn, is not the printed equation boosted_mp: it \
                 multiplies GCN's coefficients by\n\
                 d_v beta_uv, so that lambda_e = 0 is GCN. noself is the printed one (sum_u \
                 beta_uv h_u, nothing of v itself).\n\
                 The paper does not specify the propagation of the pass that scores nodes and edges. It \
                 is plain by default, though training\n\
                 and evaluation use beta; boost.topology.scoring_propagation = \"boosted\" takes \
                 beta of the client's last round.",
    boosts: &Boost::ALL,
    ..MethodInfo::PLAIN
};
