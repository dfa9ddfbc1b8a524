"""The process that runs a student's code: a fork of a warm parent, in a sandbox."""
