"""Which protections there are, what they say, and what they need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

from shardwise_grading.sandbox import (
    PROTECTIONS,
    Limits,
    ProtectionError,
    available,
    best,
    bubblewrap_command,
    describe,
    enter,
    protections,
    readable_paths,
)
from shardwise_grading.sandbox.scratch import overflow

INSIDE_BUBBLEWRAP = """
import os, pathlib, sys
from shardwise_grading.sandbox import Limits, readable_paths, settle
settle(readable_paths(), Limits())
import socket
secret, other = sys.argv[1], os.getppid()
for act in (lambda: open(secret), socket.socket, lambda: os.kill(other, 9), os.fork):
    try:
        act()
        print("did")
    except OSError as error:
        print(type(error).__name__)
pathlib.Path("file").write_text("mine")
print(os.listdir("."), sorted(os.environ))
"""


class TestChoice:
    def test_is_the_first_that_works(self, monkeypatch):
        monkeypatch.setattr(protections, "available", lambda name: "no" * (name != "user"))
        assert best() == "user"

    def test_is_refused_where_nothing_works(self, monkeypatch):
        monkeypatch.setattr(protections, "available", lambda _: "not here")
        with pytest.raises(ProtectionError, match=r"landlock: not here.*--no-sandbox"):
            best()

    def test_is_described_by_a_sentence_each(self):
        sentences = {describe(name) for name in PROTECTIONS}
        assert len(sentences) == len(PROTECTIONS)
        assert all(sentence.endswith(".") for sentence in sentences)

    @pytest.mark.parametrize("function", [describe, available])
    def test_of_something_else_is_an_error(self, function):
        with pytest.raises(ValueError, match="protection='jail' is not one of namespaces"):
            function("jail")

    def test_says_why_something_is_missing(self):
        reason = available("user")
        assert os.geteuid() == 0 or reason == "only root can change to another user"

    def test_without_a_scratch_folder_is_an_error(self):
        with pytest.raises(ValueError, match="scratch=None: 'landlock' needs a folder"):
            enter("landlock", Limits(), [], keep=())

    def test_of_bubblewrap_for_a_fork_is_an_error(self):
        with pytest.raises(ValueError, match="see bubblewrap_command"):
            enter("bubblewrap", Limits(), [], keep=())


class TestReadable:
    def test_has_our_packages_and_never_what_lies_beside_them(self):
        paths = readable_paths()
        assert ROOT / "exercises" / "shardwise_grading" in paths
        for private in ("exercises/hidden", "exercises/source", "tests", "exercises"):
            inside = [path for path in paths if (ROOT / private).resolve().is_relative_to(path)]
            assert inside == []


class TestScratch:
    def test_may_hold_so_much(self, tmp_path):
        (tmp_path / "inner").mkdir()
        (tmp_path / "inner" / "file").write_bytes(b"x" * 100_000)
        (tmp_path / "link").symlink_to("/usr")
        assert overflow(tmp_path, 200_000) == ""
        assert overflow(tmp_path, 50_000) == "wrote more than 48.8 KiB"

    def test_may_not_be_too_deep_to_look_into(self, tmp_path):
        here = os.open(tmp_path, os.O_RDONLY)
        for _ in range(30):
            os.mkdir("x" * 200, dir_fd=here)
            inner = os.open("x" * 200, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        os.close(here)
        assert overflow(tmp_path, 10**9) == "made folders that can't be looked into"
        subprocess.run(["rm", "-rf", tmp_path / ("x" * 200)], check=True)


class TestBubblewrap:
    def test_encloses_a_fresh_process(self, tmp_path):
        if reason := available("bubblewrap"):
            pytest.skip(reason)
        secret = tmp_path / "secret"
        secret.touch()
        command = bubblewrap_command(readable_paths(), Limits())
        command += [sys.executable, "-c", INSIDE_BUBBLEWRAP, str(secret)]
        environment = {"PATH": "/usr/bin", "SECRET": "s3cret"}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=30, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[:4] == ["FileNotFoundError", *["PermissionError"] * 3]
        assert lines[4] == "['file'] ['HOME', 'LC_CTYPE', 'PATH', 'PWD', 'TMPDIR']"

    def test_that_is_not_installed_says_so(self, monkeypatch):
        monkeypatch.setenv("PATH", "")
        with pytest.raises(FileNotFoundError, match="bubblewrap is not installed"):
            bubblewrap_command([Path("/usr")], Limits())
