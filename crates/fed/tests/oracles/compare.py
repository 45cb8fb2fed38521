"""Compares what the program computed with what an oracle expects.

    python3 compare.py expected/METHOD.json actual/METHOD.json [tolerance, default 1e-9]

`actual` has the layout of `expected`; arrays it leaves out are counted, not compared. Prints per case the worst difference
of every kind of array (largest |difference| over the largest |expected| of the array) and the first array, in the order of
the run, that is out of tolerance. Exit code 1 if there is one.
"""
import json, sys
from harness import differences, summary


def main():
    want, got = (json.load(open(p)) for p in sys.argv[1:3])
    tol = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-9
    have, bad = {c['name']: c for c in got['cases']}, False
    for case in want['cases']:
        if case['name'] not in have:
            print(f'{case["name"]}: not in {sys.argv[2]}')
            continue
        d = differences(case, have[case['name']])
        print(f'{case["name"]}: {sum(x is not None for _, x in d)} arrays compared, {sum(x is None for _, x in d)} left out')
        for kind, worst in summary(d).items():
            print(f'  {"    " if worst <= tol else "FAIL"} {worst:8.1e} {kind}')
        first = next((p for p, x in d if x is not None and not x <= tol), None)
        if first:
            bad = True
            print('  first out of tolerance:', first)
    sys.exit(bad)


if __name__ == '__main__':
    main()
