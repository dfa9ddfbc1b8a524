"""The commands of ``python -m shardwise_grading``, a module each.

Each has ``add``, which declares its options, and ``run``, which returns the exit status. What is
slow to import is imported in ``run``, so that no command waits for the needs of another.
"""
