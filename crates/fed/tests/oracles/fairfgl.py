"""FairFGL: history, experts, sparse uploads, clustered means.

    python3 fairfgl.py [--selftest | --example]      inputs/fairfgl.json -> expected/fairfgl.json
"""
import math
import numpy as np
import harness, toy
from toy import C

# Readings of the specification; see DUMP.md, fairfgl.
HISTORY_INCLUDES_CURRENT = True  # W_hist averages the global just received too; False: earlier rounds' only
MIXTURE_FROM_ROUND = 2           # first round (counted from 1) in which alpha is learnt; before it alpha = 0
DISTILL_FROM_ROUND = 2           # first round with distillation
ALIGN_FROM_ROUND = 2             # first round with alignment
NO_HISTORY_LABELS = 'received'   # without any history, labels for H_v come from the 'received' model; or 'skip' alignment
MINORITY = 'below'               # shortest prefix of ascending classes whose mass reaches q; or 'below': longest with mass < q
ALPHA_OPTIMISER = 'adam'         # mixing weights: 'same' kind as the model's (adam or sgd), or 'adam', 'sgd'
ALPHA_DECAY = 0.0                # weight decay on a
ALPHA_STATE = 'keep'             # a and its moments stay with the client; or 'reset' every round
MODIFY_WHERE = 'both'            # step 3 changes the gradient by W_local; 'mixture': by W^, before the factor 1 - alpha, not a's;
                                 # 'both': the gradient by W^ that a sees too
EXPERT_MODEL = 'local'           # class gradients are taken at W^ after training; or 'local': at W_local
ISOLATED = 'homophilous'         # a node without neighbours: 'neither', 'homophilous' or 'heterophilous'
ALIGN_MEAN = 'with-centroid'     # L_align averages over nodes whose class has a centroid; or over 'all' heterophilous ones
SWITCHES = {'HISTORY_INCLUDES_CURRENT': [False], 'MIXTURE_FROM_ROUND': [1], 'DISTILL_FROM_ROUND': [1], 'ALIGN_FROM_ROUND': [1], 'NO_HISTORY_LABELS': ['skip'],
            'MINORITY': ['reach'], 'ALPHA_OPTIMISER': ['same', 'sgd'], 'ALPHA_DECAY': [5e-4], 'ALPHA_STATE': ['reset'], 'MODIFY_WHERE': ['mixture', 'local'],
            'EXPERT_MODEL': ['mixture'], 'ISOLATED': ['neither', 'heterophilous'], 'ALIGN_MEAN': ['all']}

DEFAULTS = {'fairfgl.align': 1.0, 'fairfgl.alpha': 'element', 'fairfgl.alpha_rate': 0.01, 'fairfgl.clusters': 'linkage',
            'fairfgl.distill': 1.0, 'fairfgl.history': 5, 'fairfgl.homophily': 0.5, 'fairfgl.keep': 0.3, 'fairfgl.modify': 0.5}
ORDER = ('w1', 'b1', 'w2', 'b2')  # places of an upload count through these arrays, each row by row
flat = lambda m: np.concatenate([m[k].ravel() for k in ORDER])
sigmoid = lambda a: 1 / (1 + np.exp(-a))


def roles(cl, q):
    """Majority and minority classes by local training counts; absent classes are neither."""
    counts = [sum(cl.y[v] == c for v in cl.train) for c in range(C)]
    minority, mass = [], 0
    for c in sorted((c for c in range(C) if counts[c]), key=lambda c: (counts[c], c)):
        target = q * sum(counts)
        if (mass >= target - 1e-9 * sum(counts)) if MINORITY == 'reach' else (mass + counts[c] >= target - 1e-9 * sum(counts)):
            break
        minority.append(c)
        mass += counts[c]
    return [c for c in range(C) if counts[c] and c not in minority], sorted(minority)


def alphas(a, mode, like):
    """Mixing weights as a dictionary of arrays (or numbers) that fit the model."""
    if mode == 'off':
        return {k: 0.0 for k in like}
    return {k: sigmoid(a['all' if mode == 'scalar' else k]) for k in like}


def mix(al, hist, local):
    return {k: al[k] * hist[k] + (1 - al[k]) * local[k] for k in local}


def by_a(g, al, hist, local, mode):
    """From the gradient by W^ to the one by a, alpha = sigmoid(a)."""
    if mode == 'off':
        return None
    d = {k: al[k] * (1 - al[k]) * g[k] * (hist[k] - local[k]) for k in local}
    if mode == 'scalar':
        return {'all': sum(v.sum() for v in d.values())}
    return {k: v.sum() for k, v in d.items()} if mode == 'tensor' else d


def homophily(cl, logits):
    """H_v of training nodes: training labels, other neighbours by arg-max of `logits`; None without neighbours."""
    lab = logits.argmax(1)
    lab[cl.train] = cl.y[cl.train]
    out = {}
    for v in cl.train:
        nb = cl.neighbours(v)
        out[v] = sum(lab[u] == cl.y[v] for u in nb) / len(nb) if nb else None
    return out


def align_groups(cl, score, majority, least):
    """Homophilous and heterophilous training nodes of majority classes."""
    kind = {v: ISOLATED if h is None else 'homophilous' if h >= least else 'heterophilous' for v, h in score.items()}
    pick = lambda what: [v for v in cl.train if cl.y[v] in majority and kind[v] == what]
    return pick('homophilous'), pick('heterophilous')


def alignment(h, cl, homo, hete, mu=None):
    """mean of 1 - cos(h_v, mu_{y_v}) with constant centroids, its derivative by H, and the centroids."""
    d = np.zeros_like(h)
    if mu is None:
        mu = {c: h[[v for v in homo if cl.y[v] == c]].mean(0) for c in {int(cl.y[v]) for v in homo}}
    nodes = [v for v in hete if int(cl.y[v]) in mu]
    many, loss = len(nodes) if ALIGN_MEAN == 'with-centroid' else len(hete), 0.0
    for v in nodes:
        m = mu[int(cl.y[v])]
        a, b = np.linalg.norm(h[v]), np.linalg.norm(m)
        if a == 0 or b == 0:
            loss += 1 / many           # cos of a zero vector is 0, without gradient
            continue
        cos = h[v] @ m / (a * b)
        loss += (1 - cos) / many
        d[v] = -(m / (a * b) - cos * h[v] / a ** 2) / many
    return loss, d, mu


def objective(w, cl, z_hist, groups, s, mu=None):
    """CE + l1 L_distill + l2 L_align at the mixture W^: parts, gradient by W^, centroids."""
    f = toy.gcn_forward(w, cl.op, cl.x)
    ce, d = toy.cross_entropy(f['logits'], cl.y, cl.train)
    distill, align, d_h = 0.0, 0.0, None
    if z_hist is not None and s['fairfgl.distill']:
        rest = [v for v in range(cl.n) if v not in set(cl.train)]
        ph, lp = toy.softmax(z_hist), toy.log_softmax(f['logits'])
        distill = (ph * (toy.log_softmax(z_hist) - lp))[rest].sum() / len(rest)
        d[rest] += s['fairfgl.distill'] * (np.exp(lp) - ph)[rest] / len(rest)
    if groups is not None and s['fairfgl.align']:
        align, d_h, mu = alignment(f['h'], cl, *groups, mu)
        d_h = s['fairfgl.align'] * d_h
    return [ce, distill, align], toy.gcn_backward(w, cl.op, f, d, d_h), mu


def modify(g, minority, experts, eta):
    """g_c <- (1 - eta) g_c + eta |g_c| / |gbar_c| gbar_c, on column c of the last layer with its bias."""
    g = {k: v.copy() for k, v in g.items()}
    for c in minority:
        bar = experts[c]
        if eta and bar is not None and np.linalg.norm(bar) > 0:
            own = np.append(g['w2'][:, c], g['b2'][c])
            new = (1 - eta) * own + eta * np.linalg.norm(own) / np.linalg.norm(bar) * bar
            g['w2'][:, c], g['b2'][c] = new[:-1], new[-1]
    return g


def class_gradients(w, cl, classes):
    """Per class the gradient of its mean CE by column c of the last layer and its bias; None for other classes."""
    f, sent = toy.gcn_forward(w, cl.op, cl.x), [None] * C
    for c in classes:
        _, d = toy.cross_entropy(f['logits'], cl.y, [v for v in cl.train if cl.y[v] == c])
        sent[c] = np.append(f['ah'].T @ d[:, c], d[:, c].sum())
    return sent


def local_round(cl, st, received, experts, t, s):
    """Steps 1 to 3 of one client. `st` is what the client keeps: history, a, optimisers, roles."""
    if HISTORY_INCLUDES_CURRENT:
        st['history'] = (st['history'] + [received])[-s['fairfgl.history']:]
    past, mode = st['history'], s['fairfgl.alpha']
    hist = toy.weighted_mean(past, [1] * len(past)) if past else None
    mixing = mode if hist is not None and t >= MIXTURE_FROM_ROUND else 'off'
    logits = lambda m: toy.gcn_forward(m, cl.op, cl.x)['logits']
    z_hist = logits(hist) if hist is not None and t >= DISTILL_FROM_ROUND else None
    judge = hist if hist is not None else received if NO_HISTORY_LABELS == 'received' else None
    score = homophily(cl, logits(judge)) if judge is not None else None
    groups = align_groups(cl, score, st['majority'], s['fairfgl.homophily']) if score and t >= ALIGN_FROM_ROUND else None
    if ALPHA_STATE == 'reset':
        st['a'], st['a_opt'] = fresh_alpha(received, mode, s)
    w, losses = received, []
    for _ in range(s['fed.epochs']):
        al = alphas(st['a'], mixing, w)
        parts, g, _ = objective(mix(al, hist or w, w), cl, z_hist, groups, s)
        losses.append(parts)
        if MODIFY_WHERE == 'both':
            g = modify(g, st['minority'], experts, s['fairfgl.modify'])
        d_a = by_a(g, al, hist, w, mixing)
        if MODIFY_WHERE == 'mixture':
            g = modify(g, st['minority'], experts, s['fairfgl.modify'])
        g = {k: (1 - al[k]) * g[k] for k in g}
        if MODIFY_WHERE == 'local':
            g = modify(g, st['minority'], experts, s['fairfgl.modify'])
        w = st['opt'].step(w, g)
        if mixing != 'off':
            st['a'] = st['a_opt'].step(st['a'], d_a)
    al = alphas(st['a'], mixing, w)
    mixture = mix(al, hist or w, w)
    sent = class_gradients(mixture if EXPERT_MODEL == 'mixture' else w, cl, st['majority'])
    if not HISTORY_INCLUDES_CURRENT:
        st['history'] = (st['history'] + [received])[-s['fairfgl.history']:]
    return w, dict(history=hist, homophily=None if score is None else [score[v] for v in cl.train], losses=losses, alpha=al,
                   mixture=mixture, experts=sent)


def fresh_alpha(model, mode, s):
    kind = s['optimizer.optimizer'] if ALPHA_OPTIMISER == 'same' else ALPHA_OPTIMISER
    a = {'all': np.zeros(())} if mode == 'scalar' else {k: np.zeros(v.shape if mode == 'element' else ()) for k, v in model.items()}
    return a, toy.Optimiser(kind, s['fairfgl.alpha_rate'], ALPHA_DECAY)


def top(delta, rho):
    """Step 4: places of the ceil(rho P) entries of largest size, ties to the lower place; and the margin."""
    many, order = math.ceil(rho * len(delta)), np.argsort(-np.abs(delta), kind='stable')
    size = np.abs(delta)[order]
    return np.sort(order[:many]), float(size[many - 1] - size[many]) if many < len(delta) else 1.0


def clusters(dense, how):
    """Step 5: groups of clients by cosine of their dense updates."""
    norm = [np.linalg.norm(x) for x in dense]
    cos = np.array([[dense[i] @ dense[j] / (norm[i] * norm[j]) if norm[i] * norm[j] else 0.0 for j in range(len(dense))] for i in range(len(dense))])
    groups = [[i] for i in range(len(dense))]
    link = lambda a, b: np.mean([cos[i, j] for i in a for j in b])
    while how == 'linkage' and len(groups) > 2:    # average linkage: the pair with the largest mean cosine merges
        i, j = max(((i, j) for i in range(len(groups)) for j in range(i + 1, len(groups))), key=lambda p: link(groups[p[0]], groups[p[1]]))
        groups = [g for n, g in enumerate(groups) if n not in (i, j)] + [sorted(groups[i] + groups[j])]
    while how == 'components':
        pair = next(((a, b) for a in groups for b in groups if a is not b and any(cos[i, j] > 0 for i in a for j in b)), None)
        if pair is None:
            break
        groups = [g for g in groups if g is not pair[0] and g is not pair[1]] + [sorted(pair[0] + pair[1])]
    if how == 'one':
        groups = [list(range(len(dense)))]
    return sorted(groups), cos


def server(received, deltas, kept, sizes, how):
    """Per coordinate an n_k-weighted mean over members that sent it (0 if none), then the plain mean of clusters."""
    dense = [np.where(np.isin(np.arange(len(d)), p), d, 0.0) for d, p in zip(deltas, kept)]
    groups, cos = clusters(dense, how)
    step = np.zeros(len(deltas[0]))
    for g in groups:
        num = sum(sizes[k] * dense[k] for k in g)
        den = sum(sizes[k] * np.isin(np.arange(len(step)), kept[k]) for k in g)
        step += np.divide(num, den, out=np.zeros_like(step), where=den > 0) / len(groups)
    new, at = {}, 0
    for k in ORDER:
        n = received[k].size
        new[k] = received[k] + step[at:at + n].reshape(received[k].shape)
        at += n
    return new, groups, cos


def run_case(case):
    s = harness.settings_of(case, DEFAULTS)
    cls, th = toy.clients_of(case), harness.arrays(case['init'])
    state = []
    for cl in cls:
        majority, minority = roles(cl, s['fairfgl.minority_ratio'])
        a, a_opt = fresh_alpha(th, s['fairfgl.alpha'], s)
        state.append(dict(history=[], a=a, a_opt=a_opt, opt=toy.client_optimiser(s), majority=majority, minority=minority))
    experts, rounds = [None] * C, []
    for t in range(1, s['fed.rounds'] + 1):
        done = [local_round(c, st, th, experts, t, s) for c, st in zip(cls, state)]
        deltas = [flat(w) - flat(th) for w, _ in done]
        kept, margins = zip(*[top(d, s['fairfgl.keep']) for d in deltas])
        th, groups, cos = server(th, deltas, kept, [c.n for c in cls], s['fairfgl.clusters'])
        sent = [[e['experts'][c] for _, e in done if e['experts'][c] is not None] for c in range(C)]
        experts = [sum(x) / len(x) if x else None for x in sent]
        rounds.append({**{key: [e[key] for _, e in done] for key in done[0][1]}, 'clients': [w for w, _ in done], 'expert_means': experts,
                       'kept': kept, 'cosines': cos, 'clusters': groups, 'global': th, 'margins': {'kept': min(margins)}})
    return {'roles': [{'majority': st['majority'], 'minority': st['minority']} for st in state], 'rounds': rounds}


# ---------------------------------------------------------------- examples
def example(seed=6):
    rng = np.random.default_rng(seed)
    case = lambda name, graph, **s: {'name': name, 'graph': graph, 'init': toy.initial_model(rng),
                                     'settings': {**harness.BASE, **DEFAULTS, 'fairfgl.minority_ratio': 0.2, 'fed.rounds': 5, 'fairfgl.history': 3, **s}}
    return [case('element', 'dense', **{'fairfgl.minority_ratio': 0.08, 'fairfgl.homophily': 0.25}),
            case('tensor', 'toy', **{'fairfgl.alpha': 'tensor', 'fairfgl.clusters': 'components', 'fairfgl.keep': 0.6}),
            case('scalar-sgd', 'dense', **{'fairfgl.alpha': 'scalar', 'fairfgl.alpha_rate': 0.5, 'optimizer.optimizer': 'sgd', 'fairfgl.minority_ratio': 0.08, 'fairfgl.homophily': 0.25,
                                           'optimizer.learning_rate': 0.5}),
            case('off', 'dense', **{'fairfgl.alpha': 'off', 'fairfgl.align': 0.0, 'fairfgl.distill': 0.0, 'fairfgl.modify': 0.0,
                                  'fairfgl.keep': 1.0, 'fairfgl.clusters': 'one'})]


def selftest():
    import fairfgl_checks
    fairfgl_checks.selftest()


if __name__ == '__main__':
    harness.main('fairfgl', run_case, example, selftest, SWITCHES, ('history', 'homophily', 'mixture', 'experts', 'kept', 'cosines'))
