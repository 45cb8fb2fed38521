"""Self-tests of fedtad.py: python3 fedtad.py --selftest"""
import math
import numpy as np
import harness, tape, toy
from toy import C
from fedtad import (DEFAULTS, distil, draw_generator, example, generate, generator_loss, node_reliability, normalised, operator, outputs,
                    pseudo_labels, run_case, student_loss, topology_vectors)


def by_loops(x, z, labels, adj, thetas, student, r, s):
    """The generator's objective once more, number by number, from the formulas of 2.4."""
    n, d = len(x), len(x[0])
    deg = [1 + sum(row) for row in adj]
    op = [[(adj[i][j] + (i == j)) / math.sqrt(deg[i] * deg[j]) for j in range(n)] for i in range(n)]

    def net(th):
        w1, b1, w2, b2 = (th[k] for k in ('w1', 'b1', 'w2', 'b2'))
        ax = [[sum(op[i][u] * x[u][j] for u in range(n)) for j in range(d)] for i in range(n)]
        h = [[max(0.0, b1[q] + sum(ax[i][j] * w1[j][q] for j in range(d))) for q in range(len(b1))] for i in range(n)]
        ah = [[sum(op[i][u] * h[u][q] for u in range(n)) for q in range(len(b1))] for i in range(n)]
        return [[b2[c] + sum(ah[i][q] * w2[q][c] for q in range(len(b1))) for c in range(C)] for i in range(n)]

    def probs(row):
        e = [math.exp(v) for v in row]
        return [v / sum(e) for v in e]
    st, sem, dis = net(student), 0.0, 0.0
    for k, th in enumerate(thetas):
        t = net(th)
        for c in range(C):
            nodes = [i for i in range(n) if labels[i] == c]
            sem += r[k][c] * sum(-math.log(probs(t[i])[c]) for i in nodes) / len(nodes)
            for i in nodes:
                if s['fedtad.distance'] == 'kl':
                    p, q = probs(t[i]), probs(st[i])
                    one = sum(a * math.log(a / b) for a, b in zip(p, q))
                else:
                    one = sum(abs(a - b) for a, b in zip(st[i], t[i])) / C
                dis += r[k][c] * one / len(nodes)
    apart = sum(sum((a - b) ** 2 for a, b in zip(z[i], z[j])) / len(z[0]) * sum(abs(a - b) for a, b in zip(x[i], x[j])) / d
                for i in range(n) for j in range(n)) / n ** 2
    div = len(thetas) * math.exp(-apart)
    return s['fedtad.lambda1'] * sem - dis + s['fedtad.lambda2'] * div


def selftest():
    rng = np.random.default_rng(10)
    cases = {c['name']: c for c in example()}
    outs = {n: run_case(c) for n, c in cases.items()}
    for n in ('kl', 'l1'):
        last = outs[n]['rounds'][-1]['repetitions'][-1]
        print('  ', n, 'reliability', np.round(outs[n]['reliability'], 3).tolist(), 'sem, dis, div', np.round(last['generator_losses'][-1], 4).tolist(),
              'student', np.round(last['student_losses'], 5).tolist(), 'kNN margin', f"{min(p['margins']['knn'] for r in outs[n]['rounds'] for p in r['repetitions']):.0e}")
    s = harness.settings_of(cases['kl'], DEFAULTS)
    thetas, student, g = [toy.initial_model(rng) for _ in range(3)], toy.initial_model(rng), draw_generator(rng, 3)
    labels, z = pseudo_labels(14), rng.normal(size=(14, 3))
    harness.check('labels balanced, remainder last', np.bincount(labels).tolist() == [3, 3, 3, 5])
    r = normalised(rng.uniform(size=(3, C)))
    w = [rk[labels] / np.bincount(labels)[labels] for rk in r]
    x = generate({k: tape.Var(v) for k, v in g.items()}, z, labels).value
    op, adj, _ = operator(x, 3)
    harness.check('pseudo graph: symmetric, at least k - 1 neighbours', np.array_equal(adj, adj.T) and adj.sum(1).min() >= 2)
    held = [outputs(t, op, x) for t in thetas]
    for dist in ('kl', 'l1'):
        f = lambda q: generator_loss(q, op, z, labels, thetas, student, w, {**s, 'fedtad.distance': dist})
        harness.finite_differences(f'generator, {dist}', lambda q: tape.value_and_gradients(f, q)[0], g, tape.value_and_gradients(f, g)[1], rng, 8)
        f2 = lambda q: student_loss(q, op, x, held, w, dist)
        harness.finite_differences(f'student, {dist}', lambda q: tape.value_and_gradients(f2, q)[0], student, tape.value_and_gradients(f2, student)[1], rng, 10)
        small = {**s, 'fedtad.distance': dist, 'fedtad.lambda1': .7, 'fedtad.lambda2': 1.3}
        v = generator_loss({k: tape.Var(a) for k, a in g.items()}, op, z, labels, thetas, student, w, small)[0].value
        harness.check(f'objective number by number, {dist}', abs(v - by_loops(x.tolist(), z.tolist(), labels, adj.tolist(), thetas, student, r, small)) < 1e-12)
    off = cases['off']
    avg = toy.fedavg(harness.arrays(off['init']), toy.clients_of(off), [toy.client_optimiser(harness.settings_of(off, {})) for _ in range(3)], 3, 2)
    harness.check('no repetitions is FedAvg', all(harness.same(a['global'], b['global']) for a, b in zip(outs['off']['rounds'], avg)))
    harness.check('reliabilities sum to 1 over clients', np.abs(outs['kl']['reliability'].sum(0) - 1).max() < 1e-12)
    one = distil(student, [student], g, toy.Optimiser(lr=.01), toy.Optimiser(lr=.01), z[None], normalised([[1.0] * C]), {**s, 'fedtad.distance': 'l1'})
    harness.check('one client, l1: L_dis = 0 and the student stays', harness.same(one[0], student) and max(one[2][0]['student_losses']) == 0)
    _, zero, _ = tape.value_and_gradients(lambda q: student_loss(q, op, x, [outputs(student, op, x)], w[:1], 'kl'), student)
    harness.check('one client, kl: no gradient beyond rounding', max(np.abs(v).max() for v in zero.values()) < 1e-14)
    harness.check('the generator did move', not harness.same(one[1], g))
    cl = toy.clients_of({})[0]
    lone = [v for v in range(cl.n) if cl.adj[v].sum() == 0]
    harness.check('an isolated node has phi = 1', len(lone) > 0 and np.all(node_reliability(cl)[lone] == 1))
    deg, t = cl.adj.sum(1), topology_vectors(cl.adj)
    want = [sum(1 / (deg[u] * deg[v]) for u in cl.neighbours(v)) for v in range(cl.n)]
    harness.check('T_vv = 0 and (T^2)_vv from degrees', np.all(t[:, 0] == 0) and np.abs(t[:, 1] - want).max() < 1e-15)
    phi = [(1 + sum(np.dot(a, b) / math.sqrt(np.dot(a, a) * np.dot(b, b)) for a, b in [(e[v], e[u]) for u in cl.neighbours(v)])) / (len(cl.neighbours(v)) + 1)
           for e in [np.concatenate([cl.x, t], 1)] for v in range(cl.n)]
    harness.check('phi node by node', np.abs(node_reliability(cl) - phi).max() < 1e-14)
