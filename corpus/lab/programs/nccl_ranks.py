"""The first steps of a NCCL job without torch: rank 0 makes the id, writes it to a file, all ranks open the communicator."""

from __future__ import annotations

import argparse
import ctypes
import glob
import os
import socket
import sys
import time
from pathlib import Path

RESULTS = (
    "ncclSuccess",
    "ncclUnhandledCudaError",
    "ncclSystemError",
    "ncclInternalError",
    "ncclInvalidArgument",
    "ncclInvalidUsage",
)


class UniqueId(ctypes.Structure):
    _fields_ = (("internal", ctypes.c_char * 128),)


def check(nccl: ctypes.CDLL, rank: int, call: str, result: int) -> None:
    """End like the usual NCCLCHECK macro of C programs."""
    if result:
        name = RESULTS[result] if result < len(RESULTS) else result
        why = nccl.ncclGetErrorString(result).decode()
        print(
            f"{socket.gethostname()}: rank {rank}: NCCL failure in {call}: {name} '{why}'", file=sys.stderr, flush=True
        )
        sys.exit(3)


def exchange(nccl: ctypes.CDLL, rank: int, path: Path) -> UniqueId:
    """Rank 0 makes the id, the others read it."""
    unique = UniqueId()
    if rank == 0:
        check(nccl, rank, "ncclGetUniqueId", nccl.ncclGetUniqueId(ctypes.byref(unique)))
        path.with_suffix(".new").write_bytes(bytes(unique))
        path.with_suffix(".new").rename(path)
    while not path.exists():
        time.sleep(0.1)
    return UniqueId.from_buffer_copy(path.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rank", type=int, default=int(os.environ.get("RANK", "0")))
    parser.add_argument("--nranks", type=int, default=int(os.environ.get("WORLD_SIZE", "2")))
    parser.add_argument("--id-file", type=Path, default=Path("nccl.id"))
    parser.add_argument("--only-id", action="store_true", help="a smoke test: stop when the id is there")
    args = parser.parse_args()
    library = glob.glob(f"{sys.prefix}/lib/python*/site-packages/nvidia/nccl/lib/libnccl.so.2")[0]
    nccl = ctypes.CDLL(library)
    nccl.ncclGetErrorString.restype = ctypes.c_char_p
    nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
    version = ctypes.c_int()
    nccl.ncclGetVersion(ctypes.byref(version))
    print(
        f"{socket.gethostname()}: rank {args.rank} of {args.nranks}, NCCL {version.value}, pid {os.getpid()}",
        flush=True,
    )
    unique = exchange(nccl, args.rank, args.id_file)
    if args.only_id:
        print(f"rank {args.rank}: ncclUniqueId exchanged", flush=True)
        return
    comm = ctypes.c_void_p()
    check(
        nccl, args.rank, "ncclCommInitRank", nccl.ncclCommInitRank(ctypes.byref(comm), args.nranks, unique, args.rank)
    )
    print(f"rank {args.rank}: communicator ready", flush=True)


if __name__ == "__main__":
    main()
