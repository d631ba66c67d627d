"""Clusters points by k-means; every rank has a share of the points and the centres are agreed on in every round."""

import argparse
import sys
import time

import numpy as np
from mpi4py import MPI


def read_share(rank, count, columns, damaged=None):
    generator = np.random.default_rng(100 + rank)
    points = generator.normal(size=(count, columns)) + 3 * generator.integers(0, 3, size=(count, 1))
    if rank == damaged:
        points[count // 2] = np.nan
    check(points, rank)
    return points


def nearest(points, centres):
    distances = np.linalg.norm(points[:, None, :] - centres[None, :, :], axis=2)
    return distances.argmin(axis=1), distances.min(axis=1).sum()


def check(points, rank):
    rows = np.isnan(points).any(axis=1)
    if rows.any():
        raise ValueError(f"share {rank}: {rows.sum()} of {len(points)} points have missing values")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--clusters", type=int, default=3)
    parser.add_argument("--damaged", type=int)
    parser.add_argument("--more-clusters-on", type=int)
    parser.add_argument("--checkpoint")
    parser.add_argument("--pause", type=float, default=0.02)
    args = parser.parse_args()

    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    if rank == 0:
        print(f"k-means on {size} ranks, {args.points} points each", flush=True)
    centres = np.zeros((args.clusters, 4))
    if rank == 0:
        centres = np.load(args.checkpoint) if args.checkpoint else np.arange(args.clusters)[:, None] * np.ones((1, 4))
    comm.Bcast(centres, root=0)
    points = read_share(rank, args.points, 4)

    for number in range(1, args.rounds + 1):
        if number == 20:
            points = read_share(rank, args.points, 4, args.damaged)
        labels, spread = nearest(points, centres)
        clusters = args.clusters + 1 if number == 20 and rank == args.more_clusters_on else args.clusters
        sums = np.zeros((clusters, 5))
        for label in range(args.clusters):
            mine = points[labels == label]
            sums[label, :4], sums[label, 4] = mine.sum(axis=0), len(mine)
        if rank == 0:
            whole, part = sums.copy(), np.zeros((args.clusters, 5))
            for other in range(1, size):
                comm.Recv(part, source=other, tag=7)
                whole += part
        else:
            whole = np.zeros((args.clusters, 5))
            comm.Send(sums, dest=0, tag=7)
        comm.Bcast(whole, root=0)
        centres = whole[:, :4] / np.maximum(whole[:, 4:], 1)
        total = comm.allreduce(spread)
        if rank == 0 and number % 5 == 0:
            print(f"round {number}/{args.rounds} spread {total / size / args.points:.4f}", flush=True)
        time.sleep(args.pause)
    if rank == 0:
        print("done: centres", np.round(centres[:, 0], 3).tolist(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
