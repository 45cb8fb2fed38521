"""AdaFGL: FedAvg, then personal modules without any communication.

    python3 adafgl.py [--selftest | --example]      inputs/adafgl.json -> expected/adafgl.json
"""
import math
import numpy as np
import harness, tape, toy
from toy import C, D, K

# Readings of the specification; see DUMP.md, adafgl.
HCS_OPERATOR = 'graph'       # label propagation uses D^-1/2 (A+I) D^-1/2 of the client's own graph; or 'optimised' (A~)
HCS_INJECT = 'every-step'    # F0 is added on kept training rows in each of the 10 steps; or 'after' the last one only
HCS_STEPS = 10
TWICE_SOFTMAX = True         # S compares softmax(P^), not P^; the output of the homophilous module adds softmax(P^)
MSE_MEAN = 'entries'         # MSE(Z, P^) is a mean over all n*C entries; or 'nodes': summed over classes
STATISTICS_GRADIENT = True   # gradients go through mean and maximum of the learnt messages (the true derivative)
MESSAGE_MEAN = 'all'         # m is the mean of all n*n entries, zero diagonal included; or 'off-diagonal'
SLOPES_DECAY = True          # weight decay acts on PReLU slopes as on every other parameter
JOINT = 'sum'                # loss = homophilous + heterophilous; or 'hcs': HCS * first + (1 - HCS) * second
HARD_TRAINS = 'both'         # with combination = "hard" both modules train; or 'chosen' only
SWITCHES = {'HCS_OPERATOR': ['optimised'], 'HCS_INJECT': ['after'], 'TWICE_SOFTMAX': [False], 'MSE_MEAN': ['nodes'], 'STATISTICS_GRADIENT': [False],
            'MESSAGE_MEAN': ['off-diagonal'], 'SLOPES_DECAY': [False], 'JOINT': ['hcs'], 'HARD_TRAINS': ['chosen']}

DEFAULTS = {'adafgl.a': 0.05, 'adafgl.beta': 0.2, 'adafgl.combination': 'soft', 'adafgl.dropout': 0.0, 'adafgl.hidden': 4,
            'adafgl.learning_rate': 0.01, 'adafgl.personal_epochs': 5, 'adafgl.steps': 3, 'adafgl.switch': 0.9,
            'adafgl.threshold': 0.999, 'adafgl.weight_decay': 5e-4}


def cosines(a):
    """cos of all pairs of rows, zero diagonal."""
    u = tape.unit_rows(tape.Var(a)).value
    s = u @ u.T
    np.fill_diagonal(s, 0)
    return s


def topology(cl, th, s):
    """P^, the pairs alike, the optimised topology and the smoothed features."""
    p_hat = toy.softmax(toy.gcn_forward(th, cl.op, cl.x)['logits'])
    sim = cosines(toy.softmax(p_hat) if TWICE_SOFTMAX else p_hat)
    alike = (sim > s['adafgl.threshold']).astype(float)
    a_til = s['adafgl.a'] * cl.adj + (1 - s['adafgl.a']) * alike
    op = toy.sym_norm(a_til)
    hops = [cl.x]
    for _ in range(s['adafgl.steps']):
        hops.append(op @ hops[-1])
    off = ~np.eye(cl.n, dtype=bool)
    return dict(p_hat=p_hat, alike=alike, x_til=np.concatenate(hops, 1), op=op, margin=np.abs(sim - s['adafgl.threshold'])[off].min())


def homophily(cl, op, hidden):
    """HCS: accuracy on hidden training labels after F <- F/2 + F0/2 propagation with additive seeds."""
    if len(cl.train) < 2:
        return 0.5, 1.0, np.zeros((0, C))
    kept = [v for v in cl.train if v not in set(hidden)]
    f0 = np.full((cl.n, C), 1.0 / C)
    for v in kept:
        f0[v] = np.eye(C)[cl.y[v]]
    f = f0.copy()
    for step in range(HCS_STEPS):
        f = .5 * (op @ f) + .5 * f0
        if HCS_INJECT == 'every-step' or step == HCS_STEPS - 1:
            f[kept] += f0[kept]
    # ties (nodes that no seed reaches) go to the lowest class; rounding must not decide
    guess = [int(np.argmax(f[v] >= f[v].max() - 1e-9)) for v in hidden]
    gaps = [g for v in hidden for g in [np.diff(np.sort(f[v])[-2:])[0]] if g > 1e-9]
    return float(np.mean(guess == cl.y[hidden])), float(min(gaps, default=1.0)), f


def mlp(p, name, x):
    """Linear, PReLU, ..., Linear; layers counted from 1, one slope per hidden layer; no dropout."""
    i = 1
    while f'{name}.w{i + 1}' in p:
        x = tape.prelu(x @ p[f'{name}.w{i}'] + p[f'{name}.b{i}'], p[f'{name}.s{i}'])
        i += 1
    return x @ p[f'{name}.w{i}'] + p[f'{name}.b{i}']


def messages(p, e, t, beta):
    """Signed matrix R of learnt messages, then pos and neg through one PReLU slope."""
    n = len(t['alike'])
    off = 1 - np.eye(n)
    u = tape.unit_rows(tape.softmax(e))
    r = beta * t['alike'] + (1 - beta) * ((u @ u.T) * off)
    m, top = tape.total(r) * (1 / (n * n if MESSAGE_MEAN == 'all' else n * (n - 1))), tape.greatest(r)
    if not STATISTICS_GRADIENT:
        m, top = tape.Var(m.value), tape.Var(top.value)
    centred = r - m
    r = tape.where(centred.value > 0, centred / (top - m), -(centred + m) / m)
    r = r + np.eye(n)
    return tape.prelu(r, p['hete.message']), tape.prelu(-r, p['hete.message'])


def outputs(p, cl, t, s):
    """All heads: Z, the three heterophilous heads, E."""
    z, a, b, e = mlp(p, 'homo', t['x_til']), mlp(p, 'hete.a', cl.x), mlp(p, 'hete.b', t['x_til']), mlp(p, 'hete.c', t['x_til'])
    pos, neg = messages(p, e, t, s['adafgl.beta'])
    return z, a, b, (tape.softmax(pos @ e) - tape.softmax(neg @ e) + e) * .5


def losses(p, cl, t, s, hcs):
    """Total loss and its parts [CE(Z), MSE, CE(a), CE(b), CE(c)]."""
    z, a, b, c = outputs(p, cl, t, s)
    diff = z - t['p_hat']
    mse = tape.total(diff * diff) * (1 / (cl.n * (C if MSE_MEAN == 'entries' else 1)))
    ce = [tape.cross_entropy(x, cl.y, cl.train) for x in (z, a, b, c)]
    homo, hete = ce[0] + mse, ce[1] + ce[2] + ce[3]
    wo, we = (hcs, 1 - hcs) if JOINT == 'hcs' else (1.0, 1.0)
    if s['adafgl.combination'] == 'hard' and HARD_TRAINS == 'chosen':
        wo, we = (1.0, 0.0) if hcs >= s['adafgl.switch'] else (0.0, 1.0)
    return homo * wo + hete * we, [float(x.value) for x in (ce[0], mse, *ce[1:])]


def combined(p, cl, t, s, hcs):
    """What is evaluated, an n x C matrix of probabilities."""
    z, a, b, c = [x.value for x in outputs({k: tape.Var(v) for k, v in p.items()}, cl, t, s)]
    homo = .5 * (toy.softmax(z) + (toy.softmax(t['p_hat']) if TWICE_SOFTMAX else t['p_hat']))
    hete = (toy.softmax(a) + toy.softmax(b) + toy.softmax(c)) / 3
    if s['adafgl.combination'] == 'hard':
        return homo if hcs >= s['adafgl.switch'] else hete
    return hcs * homo + (1 - hcs) * hete


def personal(cl, th, p, hidden, s):
    t = topology(cl, th, s)
    hcs, hcs_margin, field = homophily(cl, cl.op if HCS_OPERATOR == 'graph' else t['op'], hidden)
    no_decay = () if SLOPES_DECAY else [k for k in p if '.s' in k or k == 'hete.message']
    opt = toy.Optimiser('adam', s['adafgl.learning_rate'], s['adafgl.weight_decay'], no_decay)
    epochs = []
    for _ in range(s['adafgl.personal_epochs']):
        _, g, parts = tape.value_and_gradients(lambda q: losses(q, cl, t, s, hcs), p)
        p = opt.step(p, g)
        epochs.append({'losses': parts, 'modules': p, 'output': combined(p, cl, t, s, hcs)})
    return {'p_hat': t['p_hat'], 'alike': t['alike'], 'x_til': t['x_til'], 'hcs_field': field, 'hcs': hcs,
            'epochs': epochs, 'margins': {'threshold': t['margin'], 'hcs': hcs_margin}}


def run_case(case):
    s = harness.settings_of(case, DEFAULTS)
    cls = toy.clients_of(case)
    rounds = toy.fedavg(harness.arrays(case['init']), cls, [toy.client_optimiser(s) for _ in cls], s['fed.rounds'], s['fed.epochs'])
    return {'rounds': rounds, 'personal': [personal(c, rounds[-1]['global'], harness.arrays(m), h, s)
                                           for c, m, h in zip(cls, case['modules'], case['hcs_hidden'])]}


# ---------------------------------------------------------------- examples and self-tests
def draw_modules(rng, steps=3, h=4):
    p = {'hete.message': np.array(.25)}
    for name, widths in {'homo': [D * (steps + 1), h, C], 'hete.a': [D, h, h, C], 'hete.b': [D * (steps + 1), h, h, C],
                         'hete.c': [D * (steps + 1), h, h, C]}.items():
        for i, (a, b) in enumerate(zip(widths, widths[1:]), 1):
            p[f'{name}.w{i}'], p[f'{name}.b{i}'] = rng.uniform(-1, 1, (a, b)) * np.sqrt(6 / (a + b)), np.zeros(b)
            if i + 1 < len(widths):
                p[f'{name}.s{i}'] = np.array(.25)
    return p


def example(seed=2):
    rng = np.random.default_rng(seed)
    cases = []
    for name, graph, more in [('soft', 'toy', {}), ('hard', 'dense', {'adafgl.combination': 'hard', 'adafgl.a': 0.5, 'adafgl.beta': 0.0,
                                                                      'adafgl.steps': 2, 'adafgl.threshold': 0.9995, 'adafgl.switch': 0.6})]:
        s = {**harness.BASE, **DEFAULTS, 'optimizer.learning_rate': 0.05, **more}
        hidden = [sorted(rng.permutation(c.train)[:len(c.train) // 2].tolist()) for c in toy.clients_of({'graph': graph})]
        cases.append({'name': name, 'graph': graph, 'settings': s, 'init': toy.initial_model(rng),
                      'modules': [draw_modules(rng, s['adafgl.steps']) for _ in range(K)], 'hcs_hidden': hidden})
    return cases


def by_loops(p, cl, t, s):
    """All five losses once more, number by number, from the formulas."""
    n, p = cl.n, {k: v.tolist() for k, v in p.items()}

    def soft(row):
        e = [math.exp(v) for v in row]
        return [v / sum(e) for v in e]

    def net(name, row):
        i = 1
        while True:
            row = [b + sum(a * w[j] for a, w in zip(row, p[f'{name}.w{i}'])) for j, b in enumerate(p[f'{name}.b{i}'])]
            if f'{name}.w{i + 1}' not in p:
                return row
            row = [a if a > 0 else p[f'{name}.s{i}'] * a for a in row]
            i += 1
    ce = lambda out: sum(-math.log(soft(out[v])[cl.y[v]]) for v in cl.train) / len(cl.train)
    xs, xt = cl.x.tolist(), t['x_til'].tolist()
    z, a, b, e = ([net(k, row) for row in rows] for k, rows in (('homo', xt), ('hete.a', xs), ('hete.b', xt), ('hete.c', xt)))
    mse = sum((z[v][c] - t['p_hat'][v][c]) ** 2 for v in range(n) for c in range(C)) / (n * C)
    q = [soft(row) for row in e]
    dot = lambda u, v: sum(x * y for x, y in zip(u, v))
    r = [[0.0 if i == j else s['adafgl.beta'] * t['alike'][i][j] + (1 - s['adafgl.beta']) * dot(q[i], q[j]) / math.sqrt(dot(q[i], q[i]) * dot(q[j], q[j]))
          for j in range(n)] for i in range(n)]
    m, top = sum(map(sum, r)) / n ** 2, max(map(max, r))
    r = [[((x - m) / (top - m) if x > m else -x / m) + (i == j) for j, x in enumerate(row)] for i, row in enumerate(r)]
    pre = lambda x: x if x > 0 else p['hete.message'] * x
    pos, neg = ([soft([sum(pre(sign * r[i][u]) * e[u][c] for u in range(n)) for c in range(C)]) for i in range(n)] for sign in (1, -1))
    out = [[.5 * (pos[i][c] - neg[i][c] + e[i][c]) for c in range(C)] for i in range(n)]
    return [ce(z), mse, ce(a), ce(b), ce(out)]


def selftest():
    rng = np.random.default_rng(4)
    soft, hard = example()
    out, out2 = run_case(soft), run_case(hard)
    for o in (out, out2):
        print('   HCS', [round(p['hcs'], 3) for p in o['personal']], 'share alike', [round(float(p['alike'].mean()), 3) for p in o['personal']],
              'margins', [{k: f'{x:.0e}' for k, x in p['margins'].items()} for p in o['personal']])
    cls = toy.clients_of(soft)
    s = harness.settings_of(soft, DEFAULTS)
    th = out['rounds'][-1]['global']
    t = topology(cls[0], th, s)
    p = {k: v + rng.normal(size=v.shape) * .05 for k, v in harness.arrays(soft['modules'][0]).items()}
    f = lambda q: losses(q, cls[0], t, s, .7)
    harness.finite_differences('both modules', lambda q: tape.value_and_gradients(f, q)[0], p, tape.value_and_gradients(f, p)[1], rng, 12)
    total, parts = losses({k: tape.Var(v) for k, v in p.items()}, cls[0], t, s, .7)
    want = by_loops(p, cls[0], t, s)
    harness.check('losses number by number', np.abs(np.array(parts) - want).max() < 1e-12 and abs(total.value - sum(want)) < 1e-12)
    avg = toy.fedavg(harness.arrays(soft['init']), cls, [toy.client_optimiser(s) for _ in cls], 4, 2)
    harness.check('step 1 is FedAvg; step 2 leaves the global model', harness.same(avg[-1]['global'], th))
    one = topology(cls[1], th, {**s, 'adafgl.a': 1.0})
    harness.check('a = 1 smooths with the plain operator', np.allclose(one['x_til'][:, -D:], cls[1].op @ cls[1].op @ cls[1].op @ cls[1].x, atol=1e-14))
    # four cliques of one class each, every one with a kept seed: HCS = 1 and the soft output is the homophilous one
    q = toy.clients_of({})[0]
    q.n, q.y = 20, np.repeat(np.arange(4), 5)
    q.adj, q.train, q.x = np.kron(np.eye(4), np.ones((5, 5)) - np.eye(5)), list(range(20)), rng.normal(size=(20, D))
    q.op = toy.sym_norm(q.adj)
    hcs, _, _ = homophily(q, q.op, [v for v in range(20) if v % 5 > 1])
    harness.check('HCS = 1 on cliques of one class', hcs == 1.0)
    tq = topology(q, th, s)
    a, b = combined(p, q, tq, s, 1.0), combined(p, q, tq, {**s, 'adafgl.combination': 'hard'}, 1.0)
    harness.check('HCS = 1: the soft output is the homophilous one', np.abs(a - b).max() == 0)
    harness.check('outputs are distributions', all(np.abs(e['epochs'][-1]['output'].sum(1) - 1).max() < 1e-12 for e in out['personal'] + out2['personal']))


if __name__ == '__main__':
    harness.main('adafgl', run_case, example, selftest, SWITCHES, ('alike', 'x_til', 'hcs_field'))
