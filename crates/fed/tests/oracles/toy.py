"""Toy graph, two-layer GCN with a backward pass written by hand, optimisers, FedAvg.

Everything is float64 numpy, dense, and written from the published formulas.
    python3 toy.py --write DIR     writes DIR/toy, DIR/toy_partition.csv, DIR/dense, DIR/dense_partition.csv
    python3 toy.py --selftest
"""
import math, os, random, sys
import numpy as np
from harness import check, finite_differences, same

N, D, C, K = 90, 6, 4, 3            # nodes, features, classes, clients
# name -> undirected edges before the partition, clients of nodes 0, 1, 2, .. (repeated): 30 nodes each; 40, 30 and 20 nodes
GRAPHS = {'toy': (260, [0, 1, 2]), 'dense': (900, [0, 1, 2, 0, 1, 0, 2, 1, 0])}
ADAM_B1, ADAM_B2, ADAM_EPS = 0.9, 0.999, 1e-8


# ---------------------------------------------------------------- the graph
def toy(name='toy'):
    """The graph of the other oracles (seed 7); `dense` is the same recipe with more edges and unequal clients."""
    many, owners = GRAPHS[name]
    r = random.Random(7)
    y = [r.choices(range(C), [8, 4, 2, 1])[0] for _ in range(N)]
    for c in range(C):
        y[c] = c
    x = [[round(r.gauss(0.8 if j == y[v] else 0, 1), 4) for j in range(D)] for v in range(N)]
    edges = set()
    while len(edges) < many:
        a, b = r.randrange(N), r.randrange(N)
        if a != b and (y[a] == y[b] or r.random() < .4):
            edges.add((min(a, b), max(a, b)))
    split = ['train' if r.random() < .5 else r.choice(['val', 'test']) for _ in range(N)]
    return dict(y=y, x=x, edges=sorted(edges), split=split, client=[owners[v % len(owners)] for v in range(N)])


def write_csv(folder):
    for name in GRAPHS:
        g = toy(name)
        os.makedirs(f'{folder}/{name}', exist_ok=True)
        with open(f'{folder}/{name}/nodes.csv', 'w') as f:
            f.write('id,label,' + ','.join(f'f{j}' for j in range(D)) + '\n')
            for v in range(N):
                f.write(f'{v:03d},c{g["y"][v]},' + ','.join(map(str, g['x'][v])) + '\n')
        with open(f'{folder}/{name}/edges.csv', 'w') as f:
            f.write('src,dst\n' + ''.join(f'{a:03d},{b:03d}\n' for a, b in g['edges']))
        with open(f'{folder}/{name}_partition.csv', 'w') as f:
            f.write('seed,node,client,split\n')
            for v in range(N):
                f.write(f'0,{v:03d},{g["client"][v]},{g["split"][v]}\n')


class Client:
    """Induced subgraph of one client; edges between clients are gone. Local order = `nodes`."""
    def __init__(self, graph, nodes, features=None):
        self.nodes, self.n = list(nodes), len(nodes)
        at = {v: i for i, v in enumerate(self.nodes)}
        self.adj = np.zeros((self.n, self.n))
        for a, b in graph['edges']:
            if a in at and b in at:
                self.adj[at[a], at[b]] = self.adj[at[b], at[a]] = 1
        self.x = np.array([graph['x'][v] for v in self.nodes], float)
        if features is not None:       # as the program holds them, e.g. after a trip through f32
            given = np.array(features, float)
            assert np.abs(given - self.x).max() < 1e-6, 'the dump has other features than the toy graph'
            self.x = given
        self.y = np.array([graph['y'][v] for v in self.nodes])
        part = {s: [i for i, v in enumerate(self.nodes) if graph['split'][v] == s] for s in ('train', 'val', 'test')}
        self.train, self.val, self.test = part['train'], part['val'], part['test']
        self.op = sym_norm(self.adj)

    def neighbours(self, v):
        return [u for u in range(self.n) if self.adj[v, u] > 0]


def clients_of(case):
    """Clients of a case of a dump. `clients` may be left out: then nodes go up by id."""
    graph = toy(case.get('graph', 'toy'))
    given = case.get('clients')
    if given is None:
        given = [{'nodes': [v for v in range(N) if graph['client'][v] == k]} for k in range(K)]
    out = []
    for k, c in enumerate(given):
        assert sorted(c['nodes']) == [v for v in range(N) if graph['client'][v] == k], f'nodes of client {k}'
        out.append(Client(graph, c['nodes'], c.get('features')))
    return out


def sym_norm(adj, self_weight=1.0):
    """D~^-1/2 (A + I) D~^-1/2; A may be weighted."""
    a = adj + self_weight * np.eye(len(adj))
    s = 1 / np.sqrt(a.sum(1))
    return s[:, None] * a * s[None, :]


# ---------------------------------------------------------------- the model
def gcn_forward(th, op, x):
    """H = ReLU(op X W1 + b1), logits = op H W2 + b2, no dropout."""
    ax = op @ x
    z = ax @ th['w1'] + th['b1']
    h = np.maximum(z, 0)
    ah = op @ h
    return dict(ax=ax, z=z, h=h, ah=ah, logits=ah @ th['w2'] + th['b2'])


def gcn_backward(th, op, f, d_logits, d_h=None):
    """Gradient of a loss whose derivatives by logits and (directly) by H are given."""
    back = op.T @ d_logits @ th['w2'].T
    if d_h is not None:
        back = back + d_h
    dz = back * (f['z'] > 0)
    return dict(w1=f['ax'].T @ dz, b1=dz.sum(0), w2=f['ah'].T @ d_logits, b2=d_logits.sum(0))


def softmax(a):
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def log_softmax(a):
    s = a - a.max(1, keepdims=True)
    return s - np.log(np.exp(s).sum(1, keepdims=True))


def cross_entropy(logits, y, rows):
    """Mean over `rows` and its derivative by the logits."""
    d = np.zeros_like(logits)
    loss = -log_softmax(logits)[rows, y[rows]].mean()
    d[rows] = softmax(logits)[rows]
    d[rows, y[rows]] -= 1
    return loss, d / len(rows)


# ---------------------------------------------------------------- optimisers and FedAvg
class Optimiser:
    """Adam or SGD on a dictionary of arrays; weight decay is added to the gradient of every array but `no_decay`."""
    def __init__(self, kind='adam', lr=0.01, wd=0.0, no_decay=()):
        self.kind, self.lr, self.wd, self.no_decay = kind, lr, wd, no_decay
        self.m, self.v, self.t = {}, {}, 0

    def step(self, params, grads):
        """Steps the arrays named in `grads`, returns the new dictionary."""
        out = dict(params)
        self.t += 1
        for key, g in grads.items():
            g = g + (0.0 if key in self.no_decay else self.wd) * params[key]
            if self.kind == 'sgd':
                out[key] = params[key] - self.lr * g
                continue
            m = self.m[key] = ADAM_B1 * self.m.get(key, 0.0) + (1 - ADAM_B1) * g
            v = self.v[key] = ADAM_B2 * self.v.get(key, 0.0) + (1 - ADAM_B2) * g * g
            mh, vh = m / (1 - ADAM_B1 ** self.t), v / (1 - ADAM_B2 ** self.t)
            out[key] = params[key] - self.lr * mh / (np.sqrt(vh) + ADAM_EPS)
        return out


def client_optimiser(s):
    return Optimiser(s['optimizer.optimizer'], s['optimizer.learning_rate'], s['optimizer.weight_decay'])


def weighted_mean(models, weights):
    total = float(sum(weights))
    return {key: sum(w / total * m[key] for m, w in zip(models, weights)) for key in models[0]}


def local_training(th, cl, opt, epochs, op=None, x=None):
    """E full-batch epochs of CE over the training nodes; op, x: another graph whose first nodes are the client's."""
    op, x, losses = cl.op if op is None else op, cl.x if x is None else x, []
    y = np.concatenate([cl.y, np.zeros(len(x) - cl.n, int)])
    for _ in range(epochs):
        f = gcn_forward(th, op, x)
        loss, d = cross_entropy(f['logits'], y, cl.train)
        losses.append(loss)
        th = opt.step(th, gcn_backward(th, op, f, d))
    return th, losses


def fedavg(th, cls, opts, rounds, epochs):
    """Plain FedAvg with weights n_k: models after every round, and the clients' models."""
    log = []
    for _ in range(rounds):
        locals_ = [local_training(th, c, o, epochs)[0] for c, o in zip(cls, opts)]
        th = weighted_mean(locals_, [c.n for c in cls])
        log.append({'clients': locals_, 'global': th})
    return log


def initial_model(rng, d=D, h=5, c=C):
    """Glorot-like draws, used by self-tests and examples only; real cases read the dump."""
    g = lambda a, b: rng.uniform(-1, 1, (a, b)) * math.sqrt(6 / (a + b))
    return dict(w1=g(d, h), b1=np.zeros(h), w2=g(h, c), b2=np.zeros(c))


def selftest():
    rng = np.random.default_rng(0)
    for name in GRAPHS:
        cls = clients_of({'graph': name})
        print(name, [(c.n, int(c.adj.sum()) // 2, np.bincount(c.y[c.train], minlength=C).tolist(), len(c.val)) for c in cls])
    c = clients_of({})[0]
    th = initial_model(rng)
    th['b1'] += rng.normal(size=5) * .3
    u, w = rng.normal(size=(c.n, C)), rng.normal(size=(c.n, 5))

    def loss(p):
        f = gcn_forward(p, c.op, c.x)
        return cross_entropy(f['logits'], c.y, c.train)[0] + (u * f['logits']).sum() + (w * f['h']).sum()
    f = gcn_forward(th, c.op, c.x)
    g = gcn_backward(th, c.op, f, cross_entropy(f['logits'], c.y, c.train)[1] + u, w)
    finite_differences('GCN, cross-entropy, direct gradient on H', loss, th, g, rng)
    opt = Optimiser('adam', .1, 0)
    p = opt.step({'a': np.array([1.0])}, {'a': np.array([3.0])})
    check('first Adam step has length lr', abs(p['a'][0] - (1 - .1 * 3 / (3 + ADAM_EPS))) < 1e-15)
    r = fedavg(th, [c], [Optimiser()], 3, 2)[-1]['global']
    check('FedAvg of one client is local training', same(r, local_training(th, c, Optimiser(), 6)[0]))


if __name__ == '__main__':
    write_csv(sys.argv[2]) if '--write' in sys.argv else selftest()
