"""FedTAD: FedAvg, then data-free distillation on the server, guided by class-wise reliability.

    python3 fedtad.py [--selftest | --example]      inputs/fedtad.json -> expected/fedtad.json
"""
import numpy as np
import harness, tape, toy
from toy import C, D

# Readings of the specification; see DUMP.md, fedtad.
WALKS = 5                     # p of the topology vector [T_vv, (T^2)_vv, .., (T^p)_vv]
FLOOR = 'client'              # a CKR_kc below 0 counts as 0 before normalising; 'class': only a class sum <= 0 gives r = 0
NORMALISE = 'clients'         # r_kc sums to 1 over clients (paper); 'classes': within a client (OpenFGL)
CONCATENATE = 'noise-first'   # generator input [embedding(c) | z]; or 'noise-first'
SYMMETRISE = 'union'          # u~v if either is among the other's nearest; or 'both', or 'mean' (weights 1/2)
SELF_WEIGHT = 1.0             # weight of the self-loop of a pseudo-node before symmetric normalisation
TEACHER_GRADIENT = True       # the generator's -L_dis is differentiated through the teachers too; False: teachers' outputs constant
PAIRS = 'all'                 # the diversity mean runs over all N_g^2 pairs; or 'distinct': i != j
STUDENT_STATE = 'keep'        # Adam moments of the student survive rounds; or 'reset'
REGENERATE = True             # pseudo features for the student come from the generator after its steps; False: before
SWITCHES = {'FLOOR': ['class'], 'NORMALISE': ['classes'], 'CONCATENATE': ['class-first'], 'SYMMETRISE': ['both', 'mean'], 'SELF_WEIGHT': [2.0],
            'TEACHER_GRADIENT': [False], 'PAIRS': ['distinct'], 'STUDENT_STATE': ['reset'], 'REGENERATE': [False]}
SMALL = 2000                  # larger arrays of the generator are not written; the pseudo features depend on all of them

DEFAULTS = {'fedtad.distance': 'kl', 'fedtad.generator_steps': 2, 'fedtad.lambda1': 1.0, 'fedtad.lambda2': 1.0,
            'fedtad.learning_rate': 0.001, 'fedtad.neighbours': 3, 'fedtad.noise': 3, 'fedtad.pseudo_nodes': 14,
            'fedtad.repetitions': 2, 'fedtad.student_steps': 3, 'fedtad.weight_decay': 5e-4}


# ---------------------------------------------------------------- reliability
def topology_vectors(adj):
    """Return probabilities: diagonals of T, T^2, .., T^p with T = A D^-1; 0 for a node without neighbours."""
    deg = adj.sum(0)
    t = adj * np.divide(1.0, deg, out=np.zeros_like(deg), where=deg > 0)[None, :]
    power, out = np.eye(len(adj)), []
    for _ in range(WALKS):
        power = power @ t
        out.append(np.diag(power))
    return np.stack(out, 1)


def node_reliability(cl):
    """phi_v = (1 + sum over neighbours of cos(e_v, e_u)) / (|N(v)| + 1) with e = [x | t], for every node."""
    e = np.concatenate([cl.x, topology_vectors(cl.adj)], 1)
    u = tape.unit_rows(tape.Var(e)).value
    return (1 + (cl.adj * (u @ u.T)).sum(1)) / (cl.adj.sum(1) + 1)


def class_reliability(cl):
    phi = node_reliability(cl)
    return np.array([sum(phi[v] for v in cl.train if cl.y[v] == c) for c in range(C)])


def normalised(ckr):
    """r_kc; a class (or client) without any reliability gets 0."""
    ckr = np.array(ckr, float)
    if FLOOR == 'client':
        ckr = np.maximum(ckr, 0)
    sums = ckr.sum(0 if NORMALISE == 'clients' else 1, keepdims=True)
    return np.where(sums > 0, ckr / np.where(sums > 0, sums, 1), 0.0)


# ---------------------------------------------------------------- distillation
def pseudo_labels(many):
    """Balanced over classes, the remainder goes to the last class."""
    return np.minimum(np.arange(many) // (many // C), C - 1)


def generate(g, z, labels):
    """Class embedding and noise, three tanh layers, one linear layer."""
    e = tape.rows(g['embedding'], labels)
    x = tape.columns([e, z] if CONCATENATE == 'class-first' else [z, e])
    for i in (1, 2, 3):
        x = tape.tanh(x @ g[f'w{i}'] + g[f'b{i}'])
    return x @ g['w4'] + g['b4']


def pseudo_graph(x, k):
    """Cosine kNN, k counting the node itself, made symmetric, self-loops set; adjacency without loops, and the margin."""
    u = tape.unit_rows(tape.Var(x)).value
    cos = u @ u.T
    np.fill_diagonal(cos, np.inf)
    near = np.zeros_like(cos)
    order = np.argsort(-cos, 1, kind='stable')
    margin = 1.0
    for i in range(len(x)):
        near[i, order[i, :k]] = 1
        if 1 <= k < len(x):
            margin = min(margin, cos[i, order[i, k - 1]] - cos[i, order[i, k]])
    np.fill_diagonal(near, 0)
    adj = {'union': np.maximum(near, near.T), 'both': np.minimum(near, near.T), 'mean': (near + near.T) / 2}[SYMMETRISE]
    return adj, float(margin)


def disagreement(teachers, student, weights, distance):
    """L_dis = sum_k sum_i w_ki dist(teacher k, student) at node i; w_ki = r_k,c(i) / (nodes of class c(i))."""
    loss = 0.0
    for t, w in zip(teachers, weights):
        if distance == 'kl':       # KL(softmax t || softmax s)
            per = tape.softmax(t) * (tape.log_softmax(t) - tape.log_softmax(student))
            loss = loss + tape.total(per * w[:, None])
        else:                      # mean over dimensions of |s - t| on raw logits
            diff = tape.absolute(student - t)
            loss = loss + tape.total(diff * w[:, None]) * (1 / C)
    return loss


def generator_loss(g, op, z, labels, thetas, student, weights, s):
    """lambda1 L_sem - L_dis + lambda2 L_div, and the three parts. `op`: operator of the pseudo graph, constant."""
    x = generate(g, z, labels)
    ts = [tape.gcn(th, op, x)[0] for th in thetas]
    st = tape.gcn(student, op, x)[0]
    sem = 0.0
    for t, w in zip(ts, weights):
        pick = np.zeros(t.shape)
        pick[np.arange(len(labels)), labels] = -w
        sem = sem + tape.total(tape.log_softmax(t) * pick)
    held = ts if TEACHER_GRADIENT else [tape.Var(t.value) for t in ts]
    dis = disagreement(held, st, weights, s['fedtad.distance'])
    n = len(z)
    i, j = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    dz = ((z[i] - z[j]) ** 2).mean(1)
    dx = tape.absolute(tape.rows(x, i) - tape.rows(x, j))
    apart = tape.total(dx * dz[:, None]) * (1 / (dx.shape[1] * (n * n if PAIRS == 'all' else n * (n - 1))))
    div = tape.exp(-apart) * float(len(thetas))
    return sem * s['fedtad.lambda1'] - dis + div * s['fedtad.lambda2'], [float(v.value) for v in (sem, dis, div)]


def student_loss(student, op, x, teachers, weights, distance):
    return disagreement([tape.Var(t) for t in teachers], tape.gcn(student, op, x)[0], weights, distance)


def outputs(th, op, x):
    return tape.gcn({n: tape.Var(v) for n, v in th.items()}, op, x)[0].value


def operator(x, k):
    adj, margin = pseudo_graph(x, k)
    return toy.sym_norm(adj, SELF_WEIGHT), adj, margin


def distil(student, thetas, g, g_opt, s_opt, noise, r, s):
    """`repetitions` of {noise; generator steps; student steps}. Teachers and, in turn, the other network stay as they are."""
    labels = pseudo_labels(s['fedtad.pseudo_nodes'])
    sizes = np.bincount(labels, minlength=C)
    weights = [r_k[labels] / sizes[labels] for r_k in r]
    k, log = s['fedtad.neighbours'], []
    features = lambda z: generate({n: tape.Var(v) for n, v in g.items()}, z, labels).value
    for z in noise:
        z, g_losses, s_losses, margins = np.array(z, float), [], [], []
        x = features(z)
        for _ in range(s['fedtad.generator_steps']):
            op, _, margin = operator(features(z), k)
            margins.append(margin)
            _, grads, parts = tape.value_and_gradients(lambda q: generator_loss(q, op, z, labels, thetas, student, weights, s), g)
            g = g_opt.step(g, grads)
            g_losses.append(parts)
        x = features(z) if REGENERATE else x
        op, adj, margin = operator(x, k)
        teachers = [outputs(th, op, x) for th in thetas]
        for _ in range(s['fedtad.student_steps']):
            loss, grads, _ = tape.value_and_gradients(lambda q: student_loss(q, op, x, teachers, weights, s['fedtad.distance']), student)
            student = s_opt.step(student, grads)
            s_losses.append(loss)
        log.append({'generator_losses': g_losses, 'student_losses': s_losses, 'pseudo_features': x, 'pseudo_adjacency': adj,
                    'student': student, 'margins': {'knn': min(margins + [margin])}})
    return student, g, log


def run_case(case):
    s = harness.settings_of(case, DEFAULTS)
    cls, th, g = toy.clients_of(case), harness.arrays(case['init']), harness.arrays(case.get('generator', {}))
    ckr = [class_reliability(c) for c in cls]
    r = normalised(ckr)
    opts = [toy.client_optimiser(s) for _ in cls]
    make = lambda: toy.Optimiser('adam', s['fedtad.learning_rate'], s['fedtad.weight_decay'])
    g_opt, s_opt, rounds = make(), make(), []
    for t in range(s['fed.rounds']):
        done = [toy.local_training(th, c, o, s['fed.epochs']) for c, o in zip(cls, opts)]
        models = [m for m, _ in done]
        mean = toy.weighted_mean(models, [c.n for c in cls])
        s_opt = make() if STUDENT_STATE == 'reset' else s_opt
        noise = case['noise'][t][:s['fedtad.repetitions']]
        assert len(noise) == s['fedtad.repetitions']
        th, g, log = distil(mean, models, g, g_opt, s_opt, noise, r, s)
        rounds.append({'clients': models, 'losses': [l for _, l in done], 'averaged': mean, 'repetitions': log, 'global': th})
    return {'ckr': ckr, 'reliability': r, 'node_reliability': [node_reliability(c) for c in cls], 'rounds': rounds,
            'generator': {k: v for k, v in g.items() if v.size <= SMALL}}


# ---------------------------------------------------------------- examples
def draw_generator(rng, noise):
    widths = [noise + C, 64, 128, 256, D]
    p = {'embedding': rng.normal(size=(C, C))}
    for i, (a, b) in enumerate(zip(widths, widths[1:]), 1):
        p[f'w{i}'], p[f'b{i}'] = rng.uniform(-1, 1, (a, b)) * np.sqrt(6 / (a + b)), np.zeros(b)
    return p


def example(seed=9):
    rng = np.random.default_rng(seed)
    cases = []
    for name, graph, more in [('kl', 'toy', {}), ('l1', 'dense', {'fedtad.distance': 'l1', 'fedtad.lambda1': 0.5, 'fedtad.lambda2': 2.0}),
                              ('off', 'dense', {'fedtad.repetitions': 0})]:
        s = {**harness.BASE, **DEFAULTS, 'fed.rounds': 3, 'fedtad.learning_rate': 0.003, **more}
        noise = [rng.normal(size=(s['fedtad.repetitions'], s['fedtad.pseudo_nodes'], s['fedtad.noise'])) for _ in range(s['fed.rounds'])]
        cases.append({'name': name, 'graph': graph, 'settings': s, 'init': toy.initial_model(rng), 'noise': noise,
                      **({'generator': draw_generator(rng, s['fedtad.noise'])} if name != 'off' else {})})
    return cases


def selftest():
    import fedtad_checks
    fedtad_checks.selftest()


if __name__ == '__main__':
    harness.main('fedtad', run_case, example, selftest, SWITCHES, ('repetitions', 'averaged', 'node_reliability', 'reliability'))
