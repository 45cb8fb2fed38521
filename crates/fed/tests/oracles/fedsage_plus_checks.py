"""Self-tests of fedsage_plus.py: python3 fedsage_plus.py --selftest"""
import math
import numpy as np
import fedsage_plus as F
import harness, tape, toy
from toy import K


def by_loops(q, g, cl, hidden, noise, s, peers):
    """The losses of phases A and B once more, number by number, from the formulas."""
    p, n = s['fedsage-plus.max_neighbours'], g.n
    q = {k: v.tolist() for k, v in q.items()}
    x = [cl.x[v].tolist() for v in g.keep]
    near = [[i for i, u in enumerate(g.keep) if cl.adj[v, u]] for v in g.keep]
    relu = lambda row: [max(0.0, a) for a in row]
    dense = lambda name, row: [b + sum(a * w[j] for a, w in zip(row, q[name[0]])) for j, b in enumerate(q[name[1]])]
    mean_of = lambda rows: [sum(c) / len(rows) for c in zip(*rows)]
    h = [relu(dense(('enc.w1', 'enc.b1'), mean_of([x[i]] + [x[u] for u in near[i]]))) for i in range(n)]
    z = [relu(dense(('enc.w2', 'enc.b2'), mean_of([h[i]] + [h[u] for u in near[i]]))) for i in range(n)]
    count = [max(0.0, dense(('deg.w', 'deg.b'), row)[0]) for row in z]
    made = []
    for i in range(n):
        a = relu(dense(('gen.w1', 'gen.b1'), [u + e for u, e in zip(z[i], noise[i])]))
        flat = [math.tanh(v) for v in dense(('gen.w3', 'gen.b3'), relu(dense(('gen.w2', 'gen.b2'), a)))]
        made.append([flat[j * 6:j * 6 + 6] for j in range(p)])
    lost = [[u for u in range(cl.n) if cl.adj[v, u] and u in hidden] for v in g.keep]
    tr = [i for i, v in enumerate(g.keep) if v in cl.train]
    l_d = 0.0
    for i in tr:
        d = abs(count[i] - len(lost[i]))
        l_d += (d * d / 2 if d < 1 else d - .5) / len(tr)
    few = [min(p, int(c)) for c in count]
    mse = lambda a, b: sum((u - v) ** 2 for u, v in zip(a, b)) / 6

    def feature(targets):
        return sum(min(mse(made[i][j], u) for u in targets(at, i)) for at, i in enumerate(tr) if lost[i] for j in range(few[i])) / (len(tr) * p)
    l_f = feature(lambda at, i: [cl.x[u] for u in lost[i][:p]])
    cross = [feature(lambda at, i: c[at]) for c in peers]
    # mended graph: an edge list both ways, generated nodes numbered after the real ones
    feat, nb = [r for r in x], [list(b) for b in near]
    for i in range(n):
        for j in range(few[i]):
            nb[i].append(len(feat))
            nb.append([i])
            feat.append(made[i][j])
    deg = [len(b) + 1 for b in nb]
    prop = lambda rows: [[sum(rows[u][c] / deg[v] for u in nb[v] + [v]) for c in range(len(rows[0]))] for v in range(len(nb))]
    hid = [relu(dense(('cls.w1', 'cls.b1'), r)) for r in prop(feat)]
    out = [dense(('cls.w2', 'cls.b2'), r) for r in prop(hid)]
    l_c = sum(math.log(sum(math.exp(v) for v in out[i])) - out[i][cl.y[g.keep[i]]] for i in tr) / len(tr)
    return [l_d, l_f, l_c] + cross


def selftest():
    rng = np.random.default_rng(13)
    cases = {c['name']: c for c in F.example()}
    outs = {n: F.run_case(c) for n, c in cases.items()}
    for n in ('plus', 'round'):
        for c in outs[n]['clients']:
            print('  ', n, 'truth', c['truth'].tolist(), 'generated', c['generated'].tolist(), 'L_d, L_f, L_c', np.round(c['phase_a'][-1]['losses'], 4).tolist(),
                  'phase B', np.round(c['phase_b'][-1]['losses'], 4).tolist(), f"margin {c['margins']['count']:.0e}")
    case = cases['plus']
    s, cls = harness.settings_of(case, F.DEFAULTS), toy.clients_of(case)
    g = F.Impaired(cls[0], case['hidden'][0], 3)
    q = {k: v + rng.normal(size=v.shape) * .1 for k, v in outs['plus']['clients'][0]['phase_a'][-1]['modules'].items()}
    q['deg.b'] = q['deg.b'] + .8
    noise = rng.normal(size=(g.n, 6))
    peers = [cls[j].x[rng.integers(0, cls[j].n, (len(g.train), 3))] for j in (1, 2)]
    s = {**s, 'fedsage-plus.lambda_degree': 2.0, 'fedsage-plus.lambda_feature': 3.0, 'fedsage-plus.lambda_class': .5}
    loss = lambda v: F.total_loss(v, g, noise, s, peers, 3.0)
    val, grads, info = tape.value_and_gradients(loss, q)
    near = np.abs(info['counts'] - np.round(info['counts'])).min()
    print('   counts', np.round(info['counts'], 2).tolist(), f'nearest to a whole number {near:.0e}', 'losses', np.round(info['losses'], 4).tolist())
    want = by_loops(q, g, cls[0], set(case['hidden'][0]), noise.tolist(), s, peers)
    harness.check('losses number by number', np.abs(np.array(info['losses']) - want).max() < 1e-12 and abs(val - np.dot([2, 3, .5, 3, 3], want) / 3) < 1e-12)
    harness.finite_differences('all three losses and the cross terms', lambda v: tape.value_and_gradients(loss, v)[0], q, grads, rng, 12, eps=1e-7, tol=1e-6)
    harness.check('every network has a gradient', all(any(np.abs(v).max() > 1e-6 for k, v in grads.items() if k.startswith(n)) for n in ('enc', 'deg', 'gen', 'cls')))
    # the gradient that a peer returns, by the generated features, pushed through the generator
    z = F.encode({k: tape.Var(v) for k, v in q.items()}, g.adj, g.x).value
    counts = F.whole(info['counts'], 3)
    direct = tape.value_and_gradients(lambda v: F.greedy(F.features(v, z, noise, 3), g.train, g.truth, counts, peers[0], 3), q)[1]
    x = F.features({k: tape.Var(v) for k, v in q.items()}, z, noise, 3).value
    back = tape.value_and_gradients(lambda v: F.greedy(v['x'], g.train, g.truth, counts, peers[0], 3), {'x': x})[1]['x']
    pushed = tape.value_and_gradients(lambda v: tape.total(F.features(v, z, noise, 3) * back), q)[1]
    harness.check('gradient returned by a peer = gradient with raw access', harness.same(direct, pushed, 1e-15))
    in_a, in_b = F.step(q, g, noise, s, toy.Optimiser('sgd', 1.0))[0], F.step(q, g, noise, s, toy.Optimiser('sgd', 1.0), [], 1.0, F.FROZEN_IN_B)[0]
    harness.check('one client: phase B moves the generator as phase A does, and nothing else', all(
        np.array_equal(in_b[k], in_a[k] if k.startswith('gen.') else q[k]) for k in q))
    # the greedy loss
    cand = [rng.normal(size=(max(1, g.truth[v]), 6)) for v in g.train]
    xg = np.zeros((g.n * 3, 6))
    for i, v in enumerate(g.train):
        xg[v * 3:v * 3 + 3] = cand[i][rng.integers(0, len(cand[i]), 3)]
    full = np.full(g.n, 3)
    harness.check('greedy loss 0 where slots equal hidden neighbours', F.greedy(tape.Var(xg), g.train, g.truth, full, cand, 3).value == 0)
    a, b = [F.greedy(tape.Var(x), g.train, g.truth, full, c, 3).value for c in (cand, [m[::-1] for m in cand])]
    harness.check('greedy loss invariant to the order of neighbours', a == b and a > 0)
    # mending
    k = max(range(K), key=lambda k: outs['plus']['clients'][k]['generated'].sum())
    made = outs['plus']['clients'][k]
    adj = F.mend(cls[k].adj, made['generated'])
    n, owner = cls[k].n, np.repeat(np.arange(cls[k].n), made['generated'])
    harness.check('some neighbours were generated', len(owner) > 0, f'client {k}: {len(owner)}')
    harness.check('mended graph symmetric; without new nodes it is the original', np.array_equal(adj, adj.T) and np.array_equal(adj[:n, :n], cls[k].adj))
    th, x = harness.arrays(case['init']), np.concatenate([cls[k].x, made['generated_features']])
    x2 = x.copy()
    x2[n] += 1
    d = np.abs(toy.gcn_forward(th, toy.sym_norm(adj), x2)['logits'] - toy.gcn_forward(th, toy.sym_norm(adj), x)['logits'])[owner[0]].max()
    harness.check('a generated feature reaches its real neighbour', d > 0)
    # phase B leaves everything but the generator alone: counts of all its epochs are equal
    for c in outs['plus']['clients']:
        harness.check('phase B: encoder and counts bit-identical', all(np.array_equal(e['counts'], c['phase_b'][0]['counts']) for e in c['phase_b']))
    off = cases['off']
    base, opts, m = toy.clients_of(off), [toy.client_optimiser(harness.settings_of(off, {})) for _ in range(K)], harness.arrays(off['init'])
    for r in outs['off']['rounds']:
        m = toy.weighted_mean([toy.local_training(m, c, o, 2)[0] for c, o in zip(base, opts)], [1] * K)
        harness.check('p = 0 is FedSage: FedAvg with equal weights', harness.same(m, r['global']))
