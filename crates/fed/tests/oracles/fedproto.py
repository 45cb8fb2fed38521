"""FedProto: only class prototypes travel, every client keeps its own model.

client k:  CE + lambda * mean over training nodes of |h_v - p_{y_v}|^2 / h, from the second round on
           p_kc = mean of h_v over its training nodes of class c, from a pass after training
server:    p_c  = mean over the clients that own class c, weighted by their training nodes of it (or uniform)

    python3 fedproto.py [--selftest | --example]      inputs/fedproto.json -> expected/fedproto.json
"""
import numpy as np
import harness, toy
from toy import C, K

# Readings of the specification; see DUMP.md, fedproto.
PULL_MEAN = 'nodes-and-width'  # |h_v - p|^2 averaged over training nodes and the h entries; or 'nodes': summed over entries
MISSING = 'skip'               # a class nobody has sent yet: 'skip' its nodes in the pull, or pull to a 'zero' vector
MISSING_DENOMINATOR = 'all'    # with 'skip', divide by 'all' training nodes or by the 'present' ones (with a prototype)
KEEP_OLD = True                # a class without a sender in this round keeps its earlier prototype
SWITCHES = {'PULL_MEAN': ['nodes'], 'MISSING': ['zero'], 'MISSING_DENOMINATOR': ['present'], 'KEEP_OLD': [False]}

DEFAULTS = {'fedproto.lambda': 1.0, 'fedproto.prototype_weight': 'counts'}


def pull(h, cl, protos, present, lam):
    """lambda * mean |h_v - p_{y_v}|^2 / width over training nodes, and its derivative by H."""
    d = np.zeros_like(h)
    rows = [v for v in cl.train if present[cl.y[v]] or MISSING == 'zero']
    if not rows or lam == 0:
        return 0.0, d
    many = len(rows) if MISSING_DENOMINATOR == 'present' else len(cl.train)
    scale = lam / many / (h.shape[1] if PULL_MEAN == 'nodes-and-width' else 1)
    diff = h[rows] - protos[cl.y[rows]]
    d[rows] = 2 * scale * diff
    return scale * (diff ** 2).sum(), d


def local(th, cl, opt, epochs, protos, present, lam):
    losses = []
    for _ in range(epochs):
        f = toy.gcn_forward(th, cl.op, cl.x)
        ce, d_logits = toy.cross_entropy(f['logits'], cl.y, cl.train)
        extra, d_h = (0.0, None) if protos is None else pull(f['h'], cl, protos, present, lam)
        losses.append([ce, extra])
        th = opt.step(th, toy.gcn_backward(th, cl.op, f, d_logits, d_h))
    return th, losses


def class_means(th, cl):
    """Prototypes and counts of one client; a class without training nodes has a zero row and count 0."""
    h = toy.gcn_forward(th, cl.op, cl.x)['h']
    counts = np.array([sum(cl.y[v] == c for v in cl.train) for c in range(C)])
    protos = np.zeros((C, h.shape[1]))
    for c in range(C):
        if counts[c]:
            protos[c] = h[[v for v in cl.train if cl.y[v] == c]].mean(0)
    return protos, counts


def server_mean(sent, old, old_present, weighting):
    """Per class, over its owners only: counts-weighted (paper) or uniform (official code)."""
    protos = old.copy() if KEEP_OLD else np.zeros_like(old)
    present = old_present.copy() if KEEP_OLD else np.zeros(C, bool)
    for c in range(C):
        owners = [(p[c], n[c] if weighting == 'counts' else 1) for p, n in sent if n[c] > 0]
        if owners:
            protos[c] = sum(w * p for p, w in owners) / sum(w for _, w in owners)
            present[c] = True
    return protos, present


def run_case(case):
    s = harness.settings_of(case, DEFAULTS)
    cls = toy.clients_of(case)
    models = [harness.arrays(m) for m in case['init']]
    opts = [toy.client_optimiser(s) for _ in cls]
    protos, present, started, rounds = np.zeros((C, s['model.hidden'])), np.zeros(C, bool), False, []
    for t in range(s['fed.rounds']):
        who = case['participants'][t] if 'participants' in case else range(K)
        losses, sent = [None] * K, [None] * K
        for k in who:
            models[k], losses[k] = local(models[k], cls[k], opts[k], s['fed.epochs'], protos if started else None, present,
                                         s['fedproto.lambda'])
            sent[k] = class_means(models[k], cls[k])
        protos, present = server_mean([x for x in sent if x is not None], protos, present, s['fedproto.prototype_weight'])
        started = True
        rounds.append({'clients': list(models), 'losses': losses, 'local_prototypes': [x and x[0] for x in sent],
                       'counts': [x and x[1] for x in sent], 'global_prototypes': protos, 'present': present.astype(int)})
    return {'rounds': rounds}


# ---------------------------------------------------------------- examples and self-tests
def example(seed=1):
    rng = np.random.default_rng(seed)
    init = [toy.initial_model(rng) for _ in range(K)]
    case = lambda name, graph='toy', more=None, **s: {'name': name, 'graph': graph, 'settings': {**harness.BASE, **DEFAULTS, **s},
                                                      'init': init, **(more or {})}
    return [case('counts'), case('uniform', 'dense', **{'fedproto.prototype_weight': 'uniform', 'fedproto.lambda': 5.0}),
            case('off', **{'fedproto.lambda': 0.0}),
            case('partial', 'dense', {'participants': [[1], [0, 2], [1, 2], [0]]}, **{'fed.participation': 0.5})]


def selftest():
    rng = np.random.default_rng(3)
    cases = {c['name']: c for c in example()}
    cls = toy.clients_of({})
    th = toy.initial_model(rng)
    protos, present = rng.normal(size=(C, 5)), np.array([True, True, False, True])

    def loss(p):
        f = toy.gcn_forward(p, cls[0].op, cls[0].x)
        return toy.cross_entropy(f['logits'], cls[0].y, cls[0].train)[0] + pull(f['h'], cls[0], protos, present, 3.0)[0]
    f = toy.gcn_forward(th, cls[0].op, cls[0].x)
    g = toy.gcn_backward(th, cls[0].op, f, toy.cross_entropy(f['logits'], cls[0].y, cls[0].train)[1],
                         pull(f['h'], cls[0], protos, present, 3.0)[1])
    harness.finite_differences('CE + pull to prototypes', loss, th, g, rng)
    alone = [toy.local_training(harness.arrays(cases['off']['init'][k]), cls[k], toy.Optimiser('adam', .01, 5e-4), 8)[0] for k in range(K)]
    off, on = run_case(cases['off'])['rounds'], run_case(cases['counts'])['rounds']
    harness.check('lambda = 0 is isolated training', all(harness.same(a, b) for a, b in zip(off[-1]['clients'], alone)))
    harness.check('round 0 is isolated training', all(harness.same(a, b) for a, b in zip(on[0]['clients'], off[0]['clients'])))
    harness.check('later rounds are not', not harness.same(on[1]['clients'][0], off[1]['clients'][0]))
    r = run_case(cases['uniform'])['rounds'][0]
    own = [[k for k in range(K) if r['counts'][k][c]] for c in range(C)]
    harness.check('a class with one owner has its prototype', [len(o) for o in own].count(1) > 0 and all(
        np.array_equal(r['global_prototypes'][c], r['local_prototypes'][o[0]][c]) for c, o in enumerate(own) if len(o) == 1))
    p = run_case(cases['partial'])['rounds']
    harness.check('partial: clients away keep their models', harness.same(p[0]['clients'][0], harness.arrays(cases['partial']['init'][0])))
    harness.check('partial: some class has no prototype after round 0', p[0]['present'].min() == 0)


if __name__ == '__main__':
    harness.main('fedproto', run_case, example, selftest, SWITCHES)
