"""Self-tests of fairfgl.py: python3 fairfgl.py --selftest"""
import numpy as np
import fairfgl as F
import harness, toy
from toy import C


def selftest():
    rng = np.random.default_rng(8)
    cases = {c['name']: c for c in F.example()}
    outs = {name: F.run_case(c) for name, c in cases.items()}
    for name, o in outs.items():
        print('  ', name, 'roles', [(r['majority'], r['minority']) for r in o['roles']], 'clusters', [r['clusters'] for r in o['rounds']],
              'least margin', f"{min(r['margins']['kept'] for r in o['rounds']):.0e}", 'last losses', np.round([l[-1] for l in o['rounds'][-1]['losses']], 4).tolist())
    case = cases['element']
    s, cl = harness.settings_of(case, F.DEFAULTS), toy.clients_of(case)[0]
    w, hist = toy.initial_model(rng), toy.initial_model(rng)
    maj, _ = F.roles(cl, .2)
    z = toy.gcn_forward(hist, cl.op, cl.x)['logits']
    score = F.homophily(cl, z)
    groups = F.align_groups(cl, score, maj, .5)
    print('   homophilous, heterophilous', [len(g) for g in groups])
    parts, g, mu = F.objective(w, cl, z, groups, s)
    harness.finite_differences('CE + distillation + alignment', lambda p: sum(F.objective(p, cl, z, groups, s, mu)[0]), w, g, rng)
    # the chain to W_local and a
    for mode in ('element', 'tensor', 'scalar'):
        a = F.fresh_alpha(w, mode, s)[0]
        a = {k: v + rng.normal(size=v.shape) for k, v in a.items()}
        loss = lambda p: sum(F.objective(F.mix(F.alphas({k[2:]: v for k, v in p.items() if k[:2] == 'a.'}, mode, w), hist,
                                               {k: p[k] for k in w}), cl, z, groups, s, mu0)[0])
        al = F.alphas(a, mode, w)
        _, gm, mu0 = F.objective(F.mix(al, hist, w), cl, z, groups, s)
        d = F.by_a(gm, al, hist, w, mode)
        grads = {**{k: (1 - al[k]) * gm[k] for k in w}, **{'a.' + k: v for k, v in d.items()}}
        harness.finite_differences(f'W_local and a, alpha = {mode}', loss, {**w, **{'a.' + k: v for k, v in a.items()}}, grads, rng, 10)
    for c in maj:
        sent = F.class_gradients(w, cl, maj)[c]
        own = [v for v in cl.train if cl.y[v] == c]
        loss = lambda p: toy.cross_entropy(toy.gcn_forward({**w, 'w2': np.where(np.arange(C) == c, p['x'][:-1, None], w['w2']),
                                                            'b2': np.where(np.arange(C) == c, p['x'][-1], w['b2'])}, cl.op, cl.x)['logits'], cl.y, own)[0]
        harness.finite_differences(f'class {c}, the expert', loss, {'x': np.append(w['w2'][:, c], w['b2'][c])}, {'x': sent}, rng)
    # the server's step, place by place
    ds, sizes, start = rng.normal(size=(3, 59)), [40, 30, 20], toy.initial_model(rng)
    ks = [F.top(d, .3)[0] for d in ds]
    new, groups, _ = F.server(start, ds, ks, sizes, 'linkage')
    for i in range(59):
        means = [[(sizes[k], ds[k][i]) for k in g_ if i in ks[k]] for g_ in groups]
        want = F.flat(start)[i] + sum(sum(a * b for a, b in m) / sum(a for a, _ in m) if m else 0.0 for m in means) / len(groups)
        if abs(F.flat(new)[i] - want) > 1e-14:
            harness.check(f'server, place {i}', False)
    harness.check('server place by place', len(groups) == 2)
    # degenerate equalities
    off = cases['off']
    avg = toy.fedavg(harness.arrays(off['init']), toy.clients_of(off), [toy.client_optimiser(harness.settings_of(off, {})) for _ in range(3)], 5, 2)
    harness.check('everything off is FedAvg', all(harness.same(a['global'], b['global'], 1e-15) for a, b in zip(outs['off']['rounds'], avg)))
    harness.check('history of equal globals is that global', harness.same(toy.weighted_mean([w] * 5, [1] * 5), w, 1e-15))
    zero = F.objective(hist, cl, z, None, {**s, 'fairfgl.align': 0.0})[0][1]
    harness.check('W = W_hist: distillation is 0', abs(zero) < 1e-15)
    d = rng.normal(size=59)
    kept, _ = F.top(d, .3)
    harness.check('rho = 0.3 keeps 18 of 59, the largest', len(kept) == 18 and np.abs(d)[kept].min() >= np.abs(np.delete(d, kept)).max())
    harness.check('rho = 1 keeps all', np.array_equal(F.top(d, 1.0)[0], np.arange(59)))
    for how in ('linkage', 'components'):
        harness.check(f'equal updates fall in one cluster ({how})', [0, 2] in F.clusters([d, -d + .1 * rng.normal(size=59), d], how)[0])
    harness.check('no minority class: gradient untouched', harness.same(F.modify(g, [], [d[:6]] * C, .5), g))
    m = F.modify(g, [1], [d[:6]] * C, 1.0)
    harness.check('eta = 1 keeps the length and takes the direction', abs(np.linalg.norm(np.append(m['w2'][:, 1], m['b2'][1])) - np.linalg.norm(
        np.append(g['w2'][:, 1], g['b2'][1]))) < 1e-14 and harness.same({'x': m['w2'][:, [0, 2, 3]]}, {'x': g['w2'][:, [0, 2, 3]]}))
    harness.check('experts reach minority classes', any(o['expert_means'][c] is not None for o in outs['element']['rounds'] for r in outs['element']['roles'] for c in r['minority']))
