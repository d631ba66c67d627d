"""Jobs of Slurm: what the accounting and the controller say of them, and the files that they wrote.

Slurm's own commands are asked (sacct, scontrol, squeue), never its database. The answer is that of `diagnose`.
"""
