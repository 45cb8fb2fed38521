"""Reverse-mode differentiation on float64 numpy arrays, for the losses that are long to differentiate by hand.

Every operation has its own rule; `python3 tape.py` checks each against central differences and a GCN against toy.py.
"""
import numpy as np
import harness, toy


class Var:
    """A value and, per parent, a function from the gradient of the value to the gradient of the parent."""
    def __init__(self, value, parents=()):
        self.value, self.parents = np.asarray(value, float), parents

    shape = property(lambda s: s.value.shape)
    __add__ = lambda a, b: add(a, b)
    __radd__ = lambda a, b: add(a, b)
    __sub__ = lambda a, b: add(a, neg(b))
    __rsub__ = lambda a, b: add(b, neg(a))
    __mul__ = lambda a, b: mul(a, b)
    __rmul__ = lambda a, b: mul(a, b)
    __truediv__ = lambda a, b: mul(a, reciprocal(b)) if isinstance(b, Var) else mul(a, 1 / np.asarray(b))
    __neg__ = lambda a: neg(a)
    __matmul__ = lambda a, b: matmul(a, b)
    __rmatmul__ = lambda a, b: matmul(b, a)
    __array_ufunc__ = None          # numpy arrays on the left defer to Var

    @property
    def T(self):
        return Var(self.value.T, [(self, lambda g: g.T)])


val = lambda a: a.value if isinstance(a, Var) else np.asarray(a, float)


def fit(g, shape):
    """Sums a gradient over the axes along which its value was broadcast."""
    while g.ndim > len(shape):
        g = g.sum(0)
    for axis, n in enumerate(shape):
        if n == 1 and g.shape[axis] != 1:
            g = g.sum(axis, keepdims=True)
    return g


def node(value, *pairs):
    return Var(value, [(p, f) for p, f in pairs if isinstance(p, Var)])


def add(a, b):
    x, y = val(a), val(b)
    return node(x + y, (a, lambda g: fit(g, x.shape)), (b, lambda g: fit(g, y.shape)))


def mul(a, b):
    x, y = val(a), val(b)
    return node(x * y, (a, lambda g: fit(g * y, x.shape)), (b, lambda g: fit(g * x, y.shape)))


def matmul(a, b):
    x, y = val(a), val(b)
    return node(x @ y, (a, lambda g: g @ y.T), (b, lambda g: x.T @ g))


def neg(a):
    return node(-val(a), (a, lambda g: -g))


def reciprocal(a):
    x = val(a)
    return node(1 / x, (a, lambda g: -g / (x * x)))


def relu(a):
    x = val(a)
    return node(np.maximum(x, 0), (a, lambda g: g * (x > 0)))


def prelu(a, slope):
    """max(x, 0) + slope min(x, 0); the slope is one number (shape ()) and learns too."""
    x, s = val(a), val(slope)
    return node(np.where(x > 0, x, s * x), (a, lambda g: g * np.where(x > 0, 1.0, s)), (slope, lambda g: np.sum(g * np.minimum(x, 0))))


def tanh(a):
    y = np.tanh(val(a))
    return node(y, (a, lambda g: g * (1 - y * y)))


def exp(a):
    y = np.exp(val(a))
    return node(y, (a, lambda g: g * y))


def absolute(a):
    x = val(a)
    return node(np.abs(x), (a, lambda g: g * np.sign(x)))


def smooth_l1(a):
    """x^2 / 2 where |x| < 1, else |x| - 1/2."""
    x = val(a)
    return node(np.where(np.abs(x) < 1, .5 * x * x, np.abs(x) - .5), (a, lambda g: g * np.clip(x, -1, 1)))


def softmax(a):
    y = toy.softmax(val(a))
    return node(y, (a, lambda g: y * (g - (g * y).sum(1, keepdims=True))))


def log_softmax(a):
    y = toy.log_softmax(val(a))
    return node(y, (a, lambda g: g - np.exp(y) * g.sum(1, keepdims=True)))


def total(a):
    x = val(a)
    return node(x.sum(), (a, lambda g: np.broadcast_to(g, x.shape)))


def mean(a):
    return total(a) * (1.0 / val(a).size)


def greatest(a):
    """The largest entry; the gradient goes to the first place that holds it."""
    x = val(a)
    at = np.unravel_index(np.argmax(x), x.shape)

    def back(g):
        out = np.zeros_like(x)
        out[at] = g
        return out
    return node(x[at], (a, back))


def where(mask, a, b):
    m = np.asarray(mask, float)
    return a * m + b * (1 - m)


def rows(a, index):
    x, index = val(a), np.asarray(index, int)

    def back(g):
        out = np.zeros_like(x)
        np.add.at(out, index, g)
        return out
    return node(x[index], (a, back))


def columns(parts):
    """Side by side."""
    cuts = np.cumsum([0] + [val(p).shape[1] for p in parts])
    return node(np.concatenate([val(p) for p in parts], 1), *[(p, lambda g, i=i: g[:, cuts[i]:cuts[i + 1]]) for i, p in enumerate(parts)])


def stack(parts):
    """One below the other."""
    cuts = np.cumsum([0] + [val(p).shape[0] for p in parts])
    return node(np.concatenate([val(p) for p in parts], 0), *[(p, lambda g, i=i: g[cuts[i]:cuts[i + 1]]) for i, p in enumerate(parts)])


def reshape(a, shape):
    x = val(a)
    return node(x.reshape(shape), (a, lambda g: g.reshape(x.shape)))


def unit_rows(a):
    """Rows divided by their lengths; a zero row stays zero."""
    x = val(a)
    n = np.sqrt((x * x).sum(1, keepdims=True))
    inv = np.divide(1.0, n, out=np.zeros_like(n), where=n > 0)
    y = x * inv
    return node(y, (a, lambda g: inv * (g - y * (g * y).sum(1, keepdims=True))))


def cross_entropy(logits, y, at):
    """Mean over the nodes `at`."""
    pick = np.zeros(val(logits).shape)
    pick[at, np.asarray(y)[at]] = -1.0 / len(at)
    return total(log_softmax(logits) * pick)


def gcn(p, op, x):
    """The two-layer GCN: logits and hidden layer."""
    h = relu(op @ (x @ p['w1']) + p['b1'])
    return op @ (h @ p['w2']) + p['b2'], h


def gradients(loss, params):
    """Derivatives of a scalar by every Var of a dictionary."""
    order, seen = [], set()

    def visit(v):
        if id(v) not in seen:
            seen.add(id(v))
            for p, _ in v.parents:
                visit(p)
            order.append(v)
    visit(loss)
    grad = {id(loss): np.ones(())}
    for v in reversed(order):
        g = grad.get(id(v))
        if g is not None:
            for p, f in v.parents:
                d = f(g)
                grad[id(p)] = grad[id(p)] + d if id(p) in grad else d
    return {key: np.array(grad.get(id(v), np.zeros(v.shape))) for key, v in params.items()}


def value_and_gradients(build, params):
    """`build` maps a dictionary of Vars to a scalar Var (or to one and whatever else is wanted)."""
    ps = {key: Var(v) for key, v in params.items()}
    out = build(ps)
    loss, rest = out if isinstance(out, tuple) else (out, None)
    return float(loss.value), gradients(loss, ps), rest


def selftest():
    rng = np.random.default_rng(5)
    p = {'a': rng.normal(size=(4, 3)), 'b': rng.normal(size=(3, 3)), 'r': rng.normal(size=(1, 3)), 's': np.array(.3)}
    w = {k: rng.normal(size=k) for k in [(4, 3), (3, 4), (8, 3), (4, 6), (4, 1), (2, 6), (5, 3)]}
    ops = {'add, mul, broadcast': lambda q: (q['a'] + q['r']) * q['r'] - 2.0 * q['a'], 'matmul': lambda q: q['a'] @ q['b'],
           'transpose': lambda q: (q['b'] @ q['a'].T), 'division': lambda q: q['a'] / (q['r'] * q['r'] + 1.0), 'relu': lambda q: relu(q['a']),
           'prelu': lambda q: prelu(q['a'], q['s']), 'tanh': lambda q: tanh(q['a']), 'exp': lambda q: exp(q['a']), 'abs': lambda q: absolute(q['a']),
           'smooth_l1': lambda q: smooth_l1(q['a']), 'softmax': lambda q: softmax(q['a']), 'log_softmax': lambda q: log_softmax(q['a']),
           'mean, greatest': lambda q: q['a'] * mean(q['a']) + greatest(q['a']), 'where': lambda q: where(p['a'] > .1, q['a'] * q['a'], q['a']),
           'rows': lambda q: rows(q['a'], [0, 2, 2, 1, 3]), 'columns': lambda q: columns([q['a'], q['a'] @ q['b']]),
           'stack': lambda q: stack([q['a'], q['a'] @ q['b']]), 'reshape': lambda q: reshape(q['a'], (2, 6)), 'unit_rows': lambda q: unit_rows(q['a'])}
    for name, op in ops.items():
        build = lambda q: total(op(q) * w[op(q).shape])
        harness.finite_differences(name, lambda q: value_and_gradients(build, q)[0], p, value_and_gradients(build, p)[1], rng, 12)
    c, th = toy.clients_of({})[0], toy.initial_model(rng)
    f = toy.gcn_forward(th, c.op, c.x)
    loss, d = toy.cross_entropy(f['logits'], c.y, c.train)
    v, g, _ = value_and_gradients(lambda q: cross_entropy(gcn(q, c.op, c.x)[0], c.y, c.train), th)
    harness.check('GCN equals the backward pass by hand', abs(v - loss) < 1e-14 and harness.same(g, toy.gcn_backward(th, c.op, f, d), 1e-14))


if __name__ == '__main__':
    selftest()
