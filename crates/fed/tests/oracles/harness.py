"""Settings, files, comparison and self-test functions shared by the oracles.

Command line of every method's script (METHOD below):
    python3 METHOD.py [--all]          inputs/METHOD.json -> expected/METHOD.json, with --all what the program does not show, too
    python3 METHOD.py --selftest       no dump needed
    python3 METHOD.py --example        writes inputs/METHOD.example.json, a complete dump with random numbers of its own
    python3 METHOD.py --conditioning   how far outputs move if all given numbers change by 1e-15 of their size: no comparison
                                       can be tighter. Uses inputs/METHOD.json, or the example if there is none
    python3 METHOD.py --alternatives   which outputs change first if one named constant at the top of the script is switched
"""
import json, os, re, sys
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))

# ---------------------------------------------------------------- settings and files
BASE = {'fed.rounds': 4, 'fed.epochs': 2, 'fed.client_weight': 'nodes', 'fed.loss': 'mean', 'fed.participation': 1.0,
        'fairfgl.minority_ratio': 0.5, 'model.backbone': 'gcn', 'model.dropout': 0.0, 'model.hidden': 5, 'model.layers': 2,
        'model.message_noise': 0.0, 'optimizer.optimizer': 'adam', 'optimizer.learning_rate': 0.01, 'optimizer.momentum': 0.0,
        'optimizer.optimizer_state': 'keep', 'optimizer.weight_decay': 5e-4, 'data.features': 'raw'}
FIXED = ('fed.client_weight', 'fed.loss', 'model.backbone', 'model.dropout', 'model.layers', 'model.message_noise',
         'optimizer.momentum', 'optimizer.optimizer_state', 'data.features')


def settings_of(case, defaults):
    """BASE, the method's values, then the dump's. What the oracles do not cover must have its BASE value."""
    s = {**BASE, **defaults, **case.get('settings', {})}
    for key in FIXED:
        assert s[key] == BASE[key], f'{key} = {s[key]}: the oracles cover {BASE[key]} only'
    return s


def arrays(obj):
    """Dictionary of nested lists -> dictionary of float64 arrays (a model of the dump)."""
    return {key: np.array(v, float) for key, v in obj.items()}


def plain(obj):
    """numpy -> JSON types, at any depth."""
    if isinstance(obj, dict):
        return {str(k): plain(v) for k, v in obj.items()}
    if isinstance(obj, (list, tuple)):
        return [plain(v) for v in obj]
    if isinstance(obj, np.ndarray):
        return obj.tolist()
    return obj.item() if isinstance(obj, np.generic) else obj


# ---------------------------------------------------------------- self-tests
def check(name, ok, detail=''):
    print(f'  {"ok  " if ok else "FAIL"} {name} {detail}')
    if not ok:
        sys.exit(1)


def same(a, b, tol=0.0):
    return all(np.abs(np.asarray(a[k]) - np.asarray(b[k])).max(initial=0) <= tol for k in a)


def finite_differences(name, loss, params, grads, rng, tries=40, eps=1e-6, tol=1e-6):
    """Central differences of `loss(params)` at random entries against `grads`, for every array of `grads`."""
    worst = 0.0
    for key in grads:
        shape, g = np.shape(params[key]), np.asarray(grads[key], float)
        for _ in range(min(tries, max(1, int(np.prod(shape))))):
            at = tuple(rng.integers(0, s) for s in shape)
            val = []
            for sign in (1, -1):
                p = {k: np.array(v, float) for k, v in params.items()}
                p[key][at] += sign * eps
                val.append(loss(p))
            fd = (val[0] - val[1]) / (2 * eps)
            worst = max(worst, abs(fd - g[at]) / (1 + abs(fd)))
    check(f'gradient of {name}', worst < tol, f'worst {worst:.1e}')


# ---------------------------------------------------------------- comparison
def leaves(obj, path=''):
    """Arrays of numbers (lists of any depth that hold numbers only) with their paths; `margins` are left out."""
    if isinstance(obj, dict):
        for k, v in obj.items():
            if k != 'margins':
                yield from leaves(v, f'{path}.{k}' if path else k)
        return
    if isinstance(obj, (int, float)):
        obj = [obj]
    if isinstance(obj, list) and obj:
        try:
            a = np.array(obj, float)
        except (ValueError, TypeError):
            a = None
        if a is not None and not np.isnan(a).any():
            yield path, a
        else:
            for i, v in enumerate(obj):
                yield from leaves(v, f'{path}[{i}]')


def differences(want, got):
    """[(path, largest |want - got| over the largest |want| of that array)] in the order of the run; a path that is missing
    in `got` gives None, another shape gives inf."""
    have, out = dict(leaves(got)), []
    for path, a in leaves(want):
        b = have.get(path)
        if b is None:
            out.append((path, None))
        elif a.shape != b.shape:
            out.append((path, float('inf')))
        else:
            out.append((path, float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-12))))
    return out


def summary(diffs):
    """The worst difference per kind of array, numbers in brackets dropped."""
    worst = {}
    for path, d in diffs:
        key = re.sub(r'\[\d+\]', '[]', path)
        if d is not None:
            worst[key] = max(worst.get(key, 0.0), d)
    return worst


# ---------------------------------------------------------------- command line
def shaken(obj, rng):
    """Every float times 1 + 1e-15 u, u uniform in [-1, 1]; whole numbers and settings stay."""
    if isinstance(obj, dict):
        return {k: v if k in ('settings', 'clients') else shaken(v, rng) for k, v in obj.items()}
    if isinstance(obj, list):
        return [shaken(v, rng) for v in obj]
    return obj * (1 + 1e-15 * rng.uniform(-1, 1)) if isinstance(obj, float) else obj


def load(method):
    """Cases of a dump; what stands under `shared` belongs to every case that does not bring its own."""
    dump = json.load(open(f'{HERE}/inputs/{method}.json'))
    assert dump['method'] == method, dump['method']
    return [{**dump.get('shared', {}), **c} for c in dump['cases']]


def read(method, example):
    if os.path.exists(f'{HERE}/inputs/{method}.json'):
        return load(method)
    print(f'  no inputs/{method}.json: the example instead')
    return json.loads(json.dumps(plain(example())))


def conditioning(method, run_case, example):
    for case in read(method, example):
        base = plain(run_case(case))
        diffs = [d for seed in range(3) for d in differences(base, plain(run_case(shaken(case, np.random.default_rng(seed)))))]
        path, worst = max(diffs, key=lambda d: d[1])
        print(f'  {case["name"]:12s} worst {worst:.1e} at {path}')


def alternatives(method, run_case, example, module, switches):
    """Runs every case under every other value of every named constant; prints the first array that differs and the end."""
    cases = read(method, example)
    base = {c['name']: plain(run_case(c)) for c in cases}
    for name, values in switches.items():
        usual = getattr(module, name)
        for value in values:
            setattr(module, name, value)
            for c in cases:
                try:
                    d = [(p, x) for p, x in differences(base[c['name']], plain(run_case(c))) if x is None or x > 1e-9]
                    text = f'first {d[0][0]}, {len(d)} arrays differ' if d else 'no difference'
                except (KeyError, ValueError) as e:
                    text = f'needs another dump ({e})'
                print(f'  {name} = {value!r:16} {c["name"]:12s} {text}')
        setattr(module, name, usual)


def without(obj, unseen):
    """The same without the entries of these names, at any depth."""
    if isinstance(obj, dict):
        return {k: without(v, unseen) for k, v in obj.items() if k not in unseen}
    return [without(v, unseen) for v in obj] if isinstance(obj, list) else obj


def main(method, run_case, example, selftest, switches=None, unseen=()):
    """`unseen` names what the program does not show: it is written with --all only."""
    print(method)
    if '--selftest' in sys.argv:
        return selftest()
    if '--conditioning' in sys.argv:
        return conditioning(method, run_case, example)
    if '--alternatives' in sys.argv:
        return alternatives(method, run_case, example, sys.modules['__main__'], switches or {})
    if '--example' in sys.argv:
        dst = f'{HERE}/inputs/{method}.example.json'
        os.makedirs(os.path.dirname(dst), exist_ok=True)
        json.dump(plain({'method': method, 'cases': example()}), open(dst, 'w'))
        return print('wrote', dst)
    unseen = () if '--all' in sys.argv else unseen
    out = [{'name': c['name'], **without(plain(run_case(c)), unseen)} for c in load(method)]
    dst = f'{HERE}/expected/{method}.json'
    os.makedirs(os.path.dirname(dst), exist_ok=True)
    json.dump({'method': method, 'cases': out}, open(dst, 'w'))
    print('wrote', dst)
