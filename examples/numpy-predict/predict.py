"""The logits of a GCN that boostfgl trained, with NumPy alone, as CSV:

    python predict.py RUN/model.safetensors graph.npz seed0 > logits.csv

`boostfgl data export DATA --to graph.npz` writes such a graph; this script takes undirected ones
without edge weights. A client's own model is called seed0.client2. docs/model-format.md describes
the model file.
"""
import json
import sys

import numpy as np

model, graph, name = open(sys.argv[1], "rb").read(), np.load(sys.argv[2]), sys.argv[3]
start = 8 + int.from_bytes(model[:8], "little")
header = json.loads(model[8:start])
about = header["__metadata__"]
assert (about["backbone"], about["feature_scaling"]) == ("gcn", "raw"), "another network or scaling"


def tensor(key):
    entry = header[f"{name}.{key}"]
    data = model[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]]
    return np.frombuffer(data, "<f4").astype(float).reshape(entry["shape"])


n = len(graph["y"])
h = graph["x"].astype(float) if "x" in graph else np.zeros(graph["x_shape"])
if "x_indptr" in graph:
    rows = np.repeat(np.arange(n), np.diff(graph["x_indptr"].astype(int)))
    h[rows, graph["x_indices"].astype(int)] = graph["x_data"]
if f"{name}.features.shift" in header:
    h = (h - tensor("features.shift")) / tensor("features.scale")
u, v = np.concatenate([graph["edge_index"], graph["edge_index"][::-1]], axis=1).astype(int)
root = np.sqrt(1 + np.bincount(v, minlength=n))[:, None]
for layer in range(1, int(about["layers"]) + 1):
    z = h @ tensor(f"layer{layer}.weight") / root
    h = z.copy()
    np.add.at(h, v, z[u])  # (A + I) z
    h = h / root + tensor(f"layer{layer}.bias")
    h = np.maximum(h, 0) if layer < int(about["layers"]) else h
np.savetxt(sys.stdout, h, "%.9g", ",", header=",".join(json.loads(about["classes"])), comments="")
