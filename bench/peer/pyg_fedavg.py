#!/usr/bin/env python3
"""FedAvg over the clients of one graph, in plain PyTorch Geometric.

The peer that `cargo xtask bench peer` times boostfgl against: the same protocol, written the way a
competent PyG user would write it. Two-layer GCN with dropout 0.5 on the hidden layer, Adam with its
state kept by each client, one full-batch step per client and round, parameters averaged by number of
local nodes, and the global model evaluated once a round on every client's own graph.

What is done in the peer's favour: edges are held as a torch.sparse CSR matrix, the way of PyG's guide
"Memory-Efficient Aggregations" (`--adjacency edge-index` gives the plain edge list, which took about three
times the CPU time on the edges of ogbn-arxiv); the normalised adjacency of a client is computed once (`cached=True`,
`--no-cached` turns it off); loading the new global model into a client and the evaluation share one
copy; gradients are off during evaluation; partitioning is not timed (the clients are read from the
partition that boostfgl wrote).

    pyg_fedavg.py --graph cora.npz --partition run/partition.csv --rounds 50 --threads 1 --json out.json
"""

import time

# Before the heavy imports, so that the total includes them. The CPU total comes from the operating system
# and includes them anyway.
STARTED = time.perf_counter()

import argparse
import csv
import json
import platform
import resource
import sys

import numpy as np
import torch
import torch.nn.functional as F
import torch_geometric
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import subgraph, to_torch_csr_tensor, to_undirected


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    clients, classes = load(args)

    wall, cpu = time.perf_counter(), cpu_seconds()
    predictions = train(clients, classes, args)
    train_wall, train_cpu = time.perf_counter() - wall, cpu_seconds() - cpu

    report(args, clients, classes, predictions, train_wall, train_cpu)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graph", required=True, help="flat npz: edge_index, x or x_indptr/…, y")
    parser.add_argument("--partition", required=True, help="csv with the columns seed,node,client,split")
    parser.add_argument("--seed", type=int, default=0, help="which seed of the partition, and of the weights")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument(
        "--cached",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="normalise each client's adjacency once (default) or at every step",
    )
    parser.add_argument(
        "--adjacency",
        choices=("edge-index", "sparse"),
        default="sparse",
        help="a torch.sparse CSR matrix (default) or PyG's usual edge list",
    )
    parser.add_argument("--json", metavar="OUT", help="write the figures here as well as to stdout")
    return parser.parse_args()


def load(args):
    """The clients as PyG `Data` objects, and the number of classes."""
    with np.load(args.graph) as file:
        edge_index = torch.from_numpy(file["edge_index"].astype(np.int64))
        x = torch.from_numpy(dense_features(file))
        y = torch.from_numpy(file["y"].astype(np.int64))
    edge_index = to_undirected(edge_index, num_nodes=len(y))
    classes = int(y.max()) + 1
    client_of, split_of = read_partition(args.partition, args.seed, len(y))

    clients = []
    for client in np.unique(client_of[client_of >= 0]):
        nodes = torch.from_numpy(np.flatnonzero(client_of == client))
        local, _ = subgraph(nodes, edge_index, relabel_nodes=True, num_nodes=len(y))
        if args.adjacency == "sparse":
            local = to_torch_csr_tensor(local, size=(len(nodes), len(nodes)))
        split = split_of[nodes.numpy()]
        clients.append(
            Data(
                x=x[nodes],
                adjacency=local,
                y=y[nodes],
                train=torch.from_numpy(np.flatnonzero(split == "train")),
                test=torch.from_numpy(np.flatnonzero(split == "test")),
            )
        )
    if not clients:
        sys.exit(f"{args.partition}: no client under seed {args.seed}")
    return clients, classes


def dense_features(file):
    """The feature matrix as PyG's datasets hold it: dense, one row per node."""
    if "x" in file:
        return file["x"].astype(np.float32)
    indptr = file["x_indptr"].astype(np.int64)
    x = np.zeros(tuple(file["x_shape"]), dtype=np.float32)
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    x[rows, file["x_indices"]] = file["x_data"]
    return x


def read_partition(path, seed, nodes):
    """The client (-1 = none) and the split of every node under one seed."""
    client_of = np.full(nodes, -1, dtype=np.int64)
    split_of = np.full(nodes, "none", dtype="<U5")
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if int(row["seed"]) == seed and row["client"] != "":
                client_of[int(row["node"])] = int(row["client"])
                split_of[int(row["node"])] = row["split"]
    return client_of, split_of


class GCN(torch.nn.Module):
    """Two GCNConv layers; Glorot weights and zero biases are PyG's defaults."""

    def __init__(self, features, classes, args):
        super().__init__()
        self.first = GCNConv(features, args.hidden, cached=args.cached)
        self.second = GCNConv(args.hidden, classes, cached=args.cached)
        self.dropout = args.dropout

    def forward(self, data):
        hidden = self.first(data.x, data.adjacency).relu()
        hidden = F.dropout(hidden, p=self.dropout, training=self.training)
        return self.second(hidden, data.adjacency)


def train(clients, classes, args):
    """All rounds; the last global model's prediction for every node of every client."""
    features = clients[0].num_node_features
    # One model per client, because GCNConv keeps its cache of the normalised adjacency inside itself.
    models = [GCN(features, classes, args) for _ in clients]
    optimisers = [
        torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay) for model in models
    ]
    sizes = [data.num_nodes for data in clients]
    weights = [size / sum(sizes) for size in sizes]
    for model in models[1:]:
        model.load_state_dict(models[0].state_dict())

    predictions = [None] * len(clients)
    for _ in range(args.rounds):
        for model, optimiser, data in zip(models, optimisers, clients):
            if len(data.train) == 0:
                continue
            model.train()
            optimiser.zero_grad()
            loss = F.cross_entropy(model(data)[data.train], data.y[data.train])
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            for same in zip(*(model.parameters() for model in models)):
                average = sum(weight * parameter for weight, parameter in zip(weights, same))
                for parameter in same:
                    parameter.copy_(average)
            for i, (model, data) in enumerate(zip(models, clients)):
                model.eval()
                predictions[i] = model(data).argmax(dim=1)
    return predictions


def report(args, clients, classes, predictions, train_wall, train_cpu):
    truth = torch.cat([data.y[data.test] for data in clients])
    guess = torch.cat([prediction[data.test] for prediction, data in zip(predictions, clients)])
    figures = {
        "accuracy": 100.0 * (truth == guess).double().mean().item(),
        "overall_f1_pooled": 100.0 * macro_f1(truth, guess, classes),
        "test_nodes": len(truth),
        "clients": len(clients),
        "rounds": args.rounds,
        "hidden": args.hidden,
        "lr": args.lr,
        "cached": args.cached,
        "adjacency": args.adjacency,
        "threads": torch.get_num_threads(),
        "train_cpu_seconds": train_cpu,
        "cpu_seconds": cpu_seconds(),
        "train_wall_seconds": train_wall,
        "wall_seconds": time.perf_counter() - STARTED,
        "peak_rss_mib": peak_rss_mib(),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "torch_geometric": torch_geometric.__version__,
        },
    }
    text = json.dumps(figures, indent=2)
    print(text)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            file.write(text + "\n")


def macro_f1(truth, guess, classes):
    """Mean over all classes of the F1 score; a class nobody has or predicts counts as 0."""
    total = 0.0
    for label in range(classes):
        hits = ((truth == label) & (guess == label)).sum().item()
        named = (truth == label).sum().item() + (guess == label).sum().item()
        total += 2.0 * hits / named if named else 0.0
    return total / classes


def cpu_seconds():
    """User and system time of this process so far, all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_rss_mib():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0 * 1024.0 if sys.platform == "darwin" else 1024.0)


if __name__ == "__main__":
    main()
