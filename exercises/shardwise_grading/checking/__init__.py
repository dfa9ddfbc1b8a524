"""The process that checks: it has the hidden checks and sees the student's code through a pipe."""
