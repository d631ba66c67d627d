"""``python -m logdoctor`` and the console script."""

from __future__ import annotations


def main() -> None:
    """Run the command line; the process ends with its exit code."""
    from logdoctor.cli import run

    run()


if __name__ == "__main__":
    main()
