"""A mixture of experts, one expert a rank: tokens travel by all_to_all."""

import argparse
import datetime
import logging
import os
import random
import time

import torch
import torch.distributed as dist

logger = logging.getLogger(__name__)


class ExpertLayer(torch.nn.Module):
    def __init__(self, hidden, experts, group=None):
        super().__init__()
        assert experts % dist.get_world_size() == 0, f"{experts} experts cannot be spread over {dist.get_world_size()} ranks evenly"
        self.router = torch.nn.Linear(hidden, experts)
        self.expert = torch.nn.Linear(hidden, hidden)
        self.group = group

    def forward(self, tokens, capacity):
        kept = tokens[: capacity * dist.get_world_size()]
        sent = exchange(kept, self.group)
        return exchange(self.expert(sent), self.group)


def exchange(tokens, group):
    """The tokens of each expert go to its rank."""
    out = torch.empty_like(tokens)
    dist.all_to_all_single(out, tokens.contiguous(), group=group)
    return out


def load_balance(counts):
    dist.all_reduce(counts, op=dist.ReduceOp.SUM)
    return counts / counts.sum()


def main():
    parser = argparse.ArgumentParser("experts")
    parser.add_argument("--num-experts", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--iters", type=int, default=10)
    parser.add_argument("--capacity", type=int, default=8)
    parser.add_argument("--capacity-of-rank", type=int, nargs=2, metavar=("RANK", "CAPACITY"), default=None)
    parser.add_argument("--log-balance", choices=["never", "always", "when-skewed"], default="always")
    parser.add_argument("--check-every", type=int, default=0, help="compare the weights of the router over the ranks")
    parser.add_argument("--sync-router", type=int, default=1)
    parser.add_argument("--recompute", action="store_true")
    parser.add_argument("--timeout-s", type=float, default=12)
    parser.add_argument("--pause", type=float, default=0.2)
    args = parser.parse_args()
    rank = int(os.environ["RANK"])
    logging.basicConfig(level="INFO", format=f"%(asctime)s.%(msecs)03d rank={rank} %(levelname)s %(message)s", datefmt="%H:%M:%S")
    dist.init_process_group(backend="gloo", timeout=datetime.timedelta(seconds=args.timeout_s))
    torch.manual_seed(5)
    layer = ExpertLayer(args.hidden, args.num_experts)
    if not args.sync_router:
        torch.manual_seed(rank)
        torch.nn.init.normal_(layer.router.weight)
    logger.info("expert %d of %d ready, pid %d", rank, args.num_experts, os.getpid())
    draw = random.Random(rank)
    capacity = args.capacity
    for it in range(args.iters):
        if args.capacity_of_rank and args.capacity_of_rank[0] == rank and it >= 4:
            capacity = args.capacity_of_rank[1]
        out = layer(torch.randn(capacity * dist.get_world_size(), args.hidden), capacity)
        skew = draw.random()
        if args.log_balance == "always" or (args.log_balance == "when-skewed" and skew > 0.5):
            balance = load_balance(torch.tensor([skew] * args.num_experts))
            logger.info("iter %d balance %s", it, [round(b, 3) for b in balance.tolist()])
        if args.check_every and (it + 1) % args.check_every == 0:
            weights = [torch.empty_like(layer.router.weight) for _ in range(dist.get_world_size())]
            dist.all_gather(weights, layer.router.weight.detach())
            for other, weight in enumerate(weights):
                if not torch.equal(weight, layer.router.weight):
                    raise RuntimeError(f"replica check failed: router weights of rank {rank} and rank {other} differ (max {(weight - layer.router.weight).abs().max():.3e})")
        if args.recompute and it == 5:
            dist.destroy_process_group()
        if rank == 0:
            logger.info("iter %d/%d out norm %.3f", it + 1, args.iters, out.norm().item())
        time.sleep(args.pause)
    dist.destroy_process_group()
    logger.info("finished")


if __name__ == "__main__":
    main()
