"""Fit a linear model with JAX on several processes that sum their gradients."""

from __future__ import annotations

import argparse
import logging
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coordinator", default="gpu-a01:8476")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--process", type=int, default=int(os.environ.get("RANK", "0")))
    parser.add_argument("--start-timeout", type=int, default=60)
    parser.add_argument("--heartbeat-timeout", type=int, default=10)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--step-seconds", type=float, default=0.05)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--limit", type=float, default=1e6, help="stop when the loss is larger")
    parser.add_argument("--lr", type=float, default=0.1)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    log = logging.getLogger("train")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        args.coordinator,
        args.processes,
        args.process,
        initialization_timeout=args.start_timeout,
        heartbeat_timeout_seconds=args.heartbeat_timeout,
    )
    log.info("process %d of %d, devices %s", jax.process_index(), jax.process_count(), jax.devices())
    draw = np.random.default_rng(args.process)
    truth = np.arange(8.0)
    weights = jnp.zeros(args.features)
    slope = jax.jit(jax.value_and_grad(lambda w, x, y: jnp.mean((x @ w - y) ** 2)))
    for step in range(1, args.steps + 1):
        x = draw.normal(size=(64, args.features))
        loss, gradient = slope(weights, x, x @ truth)
        loss, gradient = multihost_utils.process_allgather((loss, gradient))
        if not float(loss.mean()) < args.limit:
            raise RuntimeError(f"loss {float(loss.mean()):.4f} is above the limit {args.limit} at step {step}")
        weights = weights - args.lr * gradient.mean(0)
        if step % 10 == 0:
            log.info("step %d/%d loss %.5f", step, args.steps, float(loss.mean()))
        time.sleep(args.step_seconds)
    multihost_utils.sync_global_devices("end of training")
    log.info("training finished")


if __name__ == "__main__":
    main()
