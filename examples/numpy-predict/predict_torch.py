"""The same as predict.py, by PyTorch: the model becomes a torch.nn.Module.

    python predict_torch.py RUN/model.safetensors graph.npz seed0 > logits.csv
"""
import json
import sys

import numpy as np
import torch

model, graph, name = open(sys.argv[1], "rb").read(), np.load(sys.argv[2]), sys.argv[3]
start = 8 + int.from_bytes(model[:8], "little")
header = json.loads(model[8:start])
about = header["__metadata__"]
assert (about["backbone"], about["feature_scaling"]) == ("gcn", "raw"), about


class Gcn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = [int(about["inputs"])] + [int(about["hidden"])] * (int(about["layers"]) - 1)
        self.sizes.append(len(json.loads(about["classes"])))
        self.layers = torch.nn.ModuleList(map(torch.nn.Linear, self.sizes, self.sizes[1:]))

    def forward(self, x, p):
        for at, layer in enumerate(self.layers):
            x = p @ (x @ layer.weight.T) + layer.bias
            x = x.relu() if at + 1 < len(self.layers) else x
        return x


def tensor(key):
    entry = header[f"{name}.{key}"]
    data = model[slice(*(start + at for at in entry["data_offsets"]))]
    return torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(entry["shape"])


network = Gcn()
for number, layer in enumerate(network.layers, 1):
    layer.weight.data = tensor(f"layer{number}.weight").T
    layer.bias.data = tensor(f"layer{number}.bias")
n = len(graph["y"])
if "x" in graph:
    x = torch.tensor(graph["x"])
else:
    x, counts = torch.zeros(*graph["x_shape"]), np.diff(graph["x_indptr"].astype(int))
    x[np.repeat(np.arange(n), counts), graph["x_indices"].astype(int)] = torch.tensor(graph["x_data"])
edges = torch.tensor(graph["edge_index"].astype(int))
assert "edge_weight" not in graph and not np.any(graph.get("directed", 0))
edges = torch.cat([edges, edges.flip(0), torch.arange(n).repeat(2, 1)], 1)
degree = torch.bincount(edges[1], minlength=n).float()
weights = 1 / torch.sqrt(degree[edges[0]] * degree[edges[1]])
p = torch.sparse_coo_tensor(edges.flip(0), weights, (n, n), check_invariants=True)
with torch.no_grad():
    logits = network(x.float(), p)
names = ",".join(json.loads(about["classes"]))
np.savetxt(sys.stdout, logits.numpy(), "%.9g", ",", header=names, comments="")
