"""FedSage+: a generator of missing neighbours, learnt in two phases, then FedAvg on mended graphs.

    python3 fedsage_plus.py [--selftest | --example]      inputs/fedsage_plus.json -> expected/fedsage_plus.json
"""
import numpy as np
import harness, tape, toy
from toy import C, D, K

# Readings of the specification; see DUMP.md, fedsage_plus.
ENCODER = 'row'              # ReLU(D^-1 (A+I) X W + b) twice (official code); 'sym': symmetric operator; 'sage': own and neighbours' weights
ENCODER_LAST_RELU = True     # ReLU after the encoder's second layer too
LOCAL_CLASSIFIER = 'row'     # phase A/B: two layers of width fedsage-plus.hidden on the mended impaired graph, D^-1 (A+I) as in the
                             # encoder; 'gcn': symmetric operator; or 'sage'
TRUTH_CAP = False            # the truth n_v of the degree loss is not capped at p
CANDIDATES = 'first'         # targets are the first p hidden neighbours by ascending local number; or 'all' of them
SLOTS = 'predicted'          # slots in the feature loss: j < min(p, int(count_v)); 'truth': j < min(p, n_v); 'all': j < p
FEATURE_MEAN = 'all'         # L_f divides by n_train * p (and d), used or not; 'used': by the number of used slots
MEND_NODES = 'all'           # in L_c every node of the impaired graph is mended; or 'train': training nodes only
PHASE_B_ADAM = 'fresh'       # phase B has a new Adam; 'keep': the generator's moments and the step count of phase A go on
MEND_ON = 'impaired'         # final counts and features come from the impaired graph (hidden nodes get none); or 'original'
SWITCHES = {'ENCODER': ['sym', 'sage'], 'ENCODER_LAST_RELU': [False], 'LOCAL_CLASSIFIER': ['gcn', 'sage'], 'TRUTH_CAP': [True], 'CANDIDATES': ['all'],
            'SLOTS': ['truth', 'all'], 'FEATURE_MEAN': ['used'], 'MEND_NODES': ['train'], 'PHASE_B_ADAM': ['keep'], 'MEND_ON': ['original']}

DEFAULTS = {'fedsage-plus.count': 'truncate', 'fedsage-plus.dropout': 0.0, 'fedsage-plus.gen_epochs': 15, 'fedsage-plus.hidden': 4,
            'fedsage-plus.hide': 0.5, 'fedsage-plus.lambda_class': 1.0, 'fedsage-plus.lambda_degree': 1.0, 'fedsage-plus.lambda_feature': 1.0,
            'fedsage-plus.latent': 6, 'fedsage-plus.learning_rate': 0.05, 'fedsage-plus.max_neighbours': 3, 'fedsage-plus.narrow': 5,
            'fedsage-plus.weight_decay': 1e-4, 'fedsage-plus.wide': 7}
FROZEN_IN_B = ('enc.', 'deg.', 'cls.')


class Impaired:
    """The client's graph without the hidden nodes, and the truth about them. Numbers here count remaining nodes in local order."""
    def __init__(self, cl, hidden, p):
        self.keep = [v for v in range(cl.n) if v not in set(hidden)]
        at = {v: i for i, v in enumerate(self.keep)}
        self.adj, self.x, self.y, self.n = cl.adj[np.ix_(self.keep, self.keep)], cl.x[self.keep], cl.y[self.keep], len(self.keep)
        self.train = [at[v] for v in cl.train]       # hidden nodes are validation nodes: no training node is lost
        lost = [[u for u in cl.neighbours(v) if u in set(hidden)] for v in self.keep]
        self.truth = np.array([len(u) for u in lost])
        self.targets = [cl.x[u[:p] if CANDIDATES == 'first' else u] for u in lost]


# ---------------------------------------------------------------- networks
def operators(adj, kind):
    """Operator of a layer: row-normalised A+I, symmetric A+I, or the mean of neighbours (sage)."""
    if kind == 'row':
        a = adj + np.eye(len(adj))
        return a / a.sum(1, keepdims=True)
    if kind in ('sym', 'gcn'):
        return toy.sym_norm(adj)
    return adj / np.maximum(adj.sum(1, keepdims=True), 1)


def layer(p, name, kind, i, op, x):
    """Graph convolution; a sage layer has weights v{i} for the node itself besides w{i} for its neighbours' mean."""
    out = op @ (x @ p[f'{name}.w{i}']) + p[f'{name}.b{i}']
    return out + x @ p[f'{name}.v{i}'] if kind == 'sage' else out


def encode(p, adj, x):
    op = operators(adj, ENCODER)
    z = layer(p, 'enc', ENCODER, 2, op, tape.relu(layer(p, 'enc', ENCODER, 1, op, x)))
    return tape.relu(z) if ENCODER_LAST_RELU else z


def degrees(p, z):
    """dGen: count_v = ReLU(w z_v + b), one column."""
    return tape.relu(z @ p['deg.w'] + p['deg.b'])


def features(p, z, noise, slots):
    """fGen: tanh(W3 ReLU(W2 ReLU(W1 (z + noise)))), one row per node and slot: row v * p + j."""
    a = tape.relu((z + noise) @ p['gen.w1'] + p['gen.b1'])
    a = tape.tanh(tape.relu(a @ p['gen.w2'] + p['gen.b2']) @ p['gen.w3'] + p['gen.b3'])
    return tape.reshape(a, (a.shape[0] * slots, a.shape[1] // slots))


def whole(count, p, how='truncate'):
    """min(p, int(count)) as integers, one per node."""
    c = count.reshape(-1)
    return np.minimum(p, np.floor(c + .5) if how == 'round' else np.floor(c)).astype(int)


def mend(adj, counts):
    """Adjacency with counts[v] new nodes hanging on v (both directions), and the node of every new one, in order of v."""
    owner = [v for v, c in enumerate(counts) for _ in range(c)]
    n = len(adj)
    out = np.zeros((n + len(owner), n + len(owner)))
    out[:n, :n] = adj
    for i, v in enumerate(owner):
        out[v, n + i] = out[n + i, v] = 1
    return out


# ---------------------------------------------------------------- losses
def greedy(x_gen, nodes, truth, counts, candidates, p):
    """L_f: for each training node with n_v > 0 and each used slot, the least mean square to a candidate; mean over all slots."""
    used, target = [], []
    for i, v in enumerate(nodes):
        if truth[v] == 0 or len(candidates[i]) == 0:
            continue
        many = {'predicted': counts[v], 'truth': min(p, truth[v]), 'all': p}[SLOTS]
        for j in range(many):
            dist = ((x_gen.value[v * p + j] - candidates[i]) ** 2).mean(1)
            used.append(v * p + j)
            target.append(candidates[i][dist.argmin()])
    if not used:
        return tape.Var(0.0)
    diff = tape.rows(x_gen, used) - np.array(target)
    return tape.total(diff * diff) * (1 / (diff.shape[1] * (len(nodes) * p if FEATURE_MEAN == 'all' else len(used))))


def classifier_loss(q, g, x_gen, counts, p):
    """L_c: cross-entropy on training nodes of the mended impaired graph; no gradient through the counts."""
    if MEND_NODES == 'train':
        counts = [c if v in g.train else 0 for v, c in enumerate(counts)]
    slots = [v * p + j for v in range(g.n) for j in range(counts[v])]
    x = tape.stack([tape.Var(g.x), tape.rows(x_gen, slots)]) if slots else tape.Var(g.x)
    op = operators(mend(g.adj, counts), LOCAL_CLASSIFIER)
    logits = layer(q, 'cls', LOCAL_CLASSIFIER, 2, op, tape.relu(layer(q, 'cls', LOCAL_CLASSIFIER, 1, op, x)))
    return tape.cross_entropy(logits, np.concatenate([g.y, np.zeros(len(slots), int)]), g.train)


def total_loss(q, g, noise, s, peers=(), divide=1.0):
    """(lambda_d L_d + lambda_f L_f + lambda_c L_c + lambda_f sum over peers of L_f) / divide; parts, counts.
    `peers`: per other client the candidates (training nodes x p x d)."""
    p = s['fedsage-plus.max_neighbours']
    z = encode(q, g.adj, g.x)
    count = degrees(q, z)
    x_gen = features(q, z, noise, p)
    counts = whole(count.value, p)
    truth = np.minimum(g.truth, p) if TRUTH_CAP else g.truth
    l_d = tape.mean(tape.smooth_l1(tape.rows(count, g.train) - truth[g.train][:, None]))
    l_f = greedy(x_gen, g.train, g.truth, counts, [g.targets[v] for v in g.train], p)
    l_c = classifier_loss(q, g, x_gen, counts, p)
    cross = [greedy(x_gen, g.train, g.truth, counts, np.array(c), p) for c in peers]
    lf = s['fedsage-plus.lambda_feature']
    loss = l_d * s['fedsage-plus.lambda_degree'] + l_f * lf + l_c * s['fedsage-plus.lambda_class']
    for c in cross:
        loss = loss + c * lf
    return loss * (1 / divide), {'losses': [float(v.value) for v in (l_d, l_f, l_c, *cross)], 'counts': count.value.reshape(-1)}


def step(q, g, noise, s, opt, peers=(), divide=1.0, frozen=()):
    _, grads, info = tape.value_and_gradients(lambda v: total_loss(v, g, noise, s, peers, divide), q)
    return opt.step(q, {k: v for k, v in grads.items() if not k.startswith(tuple(frozen))} if frozen else grads), info


# ---------------------------------------------------------------- phases
def in_turn(q, g, p):
    """Which of a peer's draws a training node gets: peers draw for the nodes that are compared only (a hidden neighbour and a
    generated one), one after the other; counts do not change in phase B. Nodes that are not compared may have any."""
    v = {k: tape.Var(a) for k, a in q.items()}
    counts, turns, turn = whole(degrees(v, encode(v, g.adj, g.x)).value, p), [], 0
    for node in g.train:
        turns.append(turn)
        turn += int(g.truth[node] > 0 and counts[node] > 0)
    return np.minimum(turns, len(g.train) - 1)


def learn_generators(cls, case, s):
    """Phases A and B for every client; nothing but candidate features passes between clients."""
    p, epochs = s['fedsage-plus.max_neighbours'], s['fedsage-plus.gen_epochs']
    make = lambda: toy.Optimiser('adam', s['fedsage-plus.learning_rate'], s['fedsage-plus.weight_decay'])
    out = []
    for k, cl in enumerate(cls):
        g, q, opt = Impaired(cl, case['hidden'][k], p), harness.arrays(case['modules'][k]), make()
        log = {'truth': g.truth, 'phase_a': [], 'phase_b': []}
        for e in range(epochs):
            q, info = step(q, g, np.array(case['noise_a'][k][e], float), s, opt)
            log['phase_a'].append({**info, 'modules': q})
        opt = make() if PHASE_B_ADAM == 'fresh' else opt
        turns = in_turn(q, g, p)
        for e in range(epochs):
            draws = case['peer_draws'][k][e]      # [peer][turn][slot] -> local node of the peer; own entry empty
            peers = [cls[j].x[np.array(draws[j], int)[turns]] for j in range(K) if j != k]
            q, info = step(q, g, np.array(case['noise_b'][k][e], float), s, opt, peers, float(K), FROZEN_IN_B)
            log['phase_b'].append({**info, 'generator': {n: v for n, v in q.items() if n.startswith('gen.')}})
        out.append((g, q, log))
    return out


def mended(cl, g, q, noise, s):
    """The original graph with what the generator predicts: counts per local node, adjacency, features of all nodes."""
    p, v = s['fedsage-plus.max_neighbours'], {k: tape.Var(a) for k, a in q.items()}
    adj, x, place = (g.adj, g.x, g.keep) if MEND_ON == 'impaired' else (cl.adj, cl.x, list(range(cl.n)))
    z = encode(v, adj, x)
    count, x_gen = degrees(v, z).value.reshape(-1), features(v, z, noise, p).value
    per = whole(count, p, s['fedsage-plus.count'])
    counts, rows = np.zeros(cl.n, int), []
    for i, node in enumerate(place):
        counts[node] = per[i]
        rows += [i * p + j for j in range(per[i])]
    new = x_gen[rows]
    return counts, mend(cl.adj, counts), np.concatenate([cl.x, new]), count


def run_case(case):
    s = harness.settings_of(case, DEFAULTS)
    cls, th, result = toy.clients_of(case), harness.arrays(case['init']), {'clients': []}
    graphs = [(c.op, c.x) for c in cls]
    if s['fedsage-plus.max_neighbours'] > 0:
        for k, (g, q, log) in enumerate(learn_generators(cls, case, s)):
            counts, adj, x, raw = mended(cls[k], g, q, np.array(case['noise_mend'][k], float), s)
            graphs[k] = (toy.sym_norm(adj), x)
            every = np.concatenate([e['counts'] for e in log['phase_a']] + [raw + .5 if s['fedsage-plus.count'] == 'round' else raw])
            near = every[(every > .5) & (every < s['fedsage-plus.max_neighbours'] + .5)]
            result['clients'].append({**log, 'predicted': raw, 'generated': counts, 'generated_features': x[cls[k].n:],
                                      'margins': {'count': np.abs(near - np.round(near)).min(initial=.5)}})
    opts, result['rounds'] = [toy.client_optimiser(s) for _ in cls], []
    for _ in range(s['fed.rounds']):                     # phase C: FedAvg, every client alike
        done = [toy.local_training(th, c, o, s['fed.epochs'], *gr) for c, o, gr in zip(cls, opts, graphs)]
        th = toy.weighted_mean([m for m, _ in done], [1] * K)
        result['rounds'].append({'clients': [m for m, _ in done], 'losses': [l for _, l in done], 'global': th})
    return result


# ---------------------------------------------------------------- examples
def draw_modules(rng, s):
    w = {x: s[f'fedsage-plus.{x}'] for x in ('hidden', 'latent', 'narrow', 'wide', 'max_neighbours')}
    out = {'deg.w': (w['latent'], 1), 'deg.b': (1,)}
    for name, widths in {'enc': [D, w['hidden'], w['latent']], 'cls': [D, w['hidden'], C],
                         'gen': [w['latent'], w['narrow'], w['wide'], w['max_neighbours'] * D]}.items():
        for i, (a, b) in enumerate(zip(widths, widths[1:]), 1):
            out[f'{name}.w{i}'], out[f'{name}.b{i}'] = (a, b), (b,)
            if (name, 'sage') in (('enc', ENCODER), ('cls', LOCAL_CLASSIFIER)):
                out[f'{name}.v{i}'] = (a, b)
    return {k: rng.uniform(-1, 1, v) * np.sqrt(6 / sum(v)) if len(v) == 2 else np.zeros(v) for k, v in out.items()}


def example(seed=12):
    rng = np.random.default_rng(seed)
    cases = []
    for name, graph, more in [('plus', 'dense', {'fedsage-plus.hide': 1.0}), ('round', 'dense', {'fedsage-plus.count': 'round', 'fedsage-plus.lambda_degree': 2.0,
                              'fedsage-plus.lambda_feature': 3.0, 'fedsage-plus.lambda_class': 0.5}), ('off', 'dense', {'fedsage-plus.max_neighbours': 0})]:
        s = {**harness.BASE, **DEFAULTS, **more}
        case = {'name': name, 'graph': graph, 'settings': s, 'init': toy.initial_model(rng)}
        p, epochs, latent = s['fedsage-plus.max_neighbours'], s['fedsage-plus.gen_epochs'], s['fedsage-plus.latent']
        cls = toy.clients_of(case)
        if p:
            hidden = [sorted(rng.permutation(c.val)[:int(len(c.val) * s['fedsage-plus.hide'])].tolist()) for c in cls]
            left = [c.n - len(h) for c, h in zip(cls, hidden)]
            peer = lambda c, many: [rng.choice(c.neighbours(rng.choice(np.flatnonzero(c.adj.sum(1)))), p).tolist() for _ in range(many)]
            case.update(hidden=hidden, modules=[draw_modules(rng, s) for _ in cls], noise_a=[rng.normal(size=(epochs, n, latent)) for n in left],
                        noise_b=[rng.normal(size=(epochs, n, latent)) for n in left], noise_mend=[rng.normal(size=(n, latent)) for n in left],
                        peer_draws=[[[peer(cls[j], len(cls[k].train)) if j != k else [] for j in range(K)] for _ in range(epochs)] for k in range(K)])
        cases.append(case)
    return cases


def selftest():
    import fedsage_plus_checks
    fedsage_plus_checks.selftest()


if __name__ == '__main__':
    harness.main('fedsage_plus', run_case, example, selftest, SWITCHES, ('phase_a', 'phase_b', 'truth', 'predicted'))
