"""Two processes average a number; written in a notebook, where nothing guards the start of the processes."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

WORLD = 2


def work(rank):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29500"
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    value = torch.tensor([float(rank)])
    dist.all_reduce(value)
    print(f"rank {rank}: mean {value.item() / WORLD}")
    dist.destroy_process_group()


mp.set_start_method("spawn", force=True)
processes = [mp.Process(target=work, args=(rank,)) for rank in range(WORLD)]
for process in processes:
    process.start()
for process in processes:
    process.join()
    print(f"process ended with {process.exitcode}")
