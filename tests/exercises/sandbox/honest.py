"""As a program: an honest student's code in a cage; what it did goes to stdout as JSON.

Its argument is a protection. torch is imported before the cage closes, as in the warm parent.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path


def student() -> dict[str, object]:
    import getpass
    import multiprocessing
    import subprocess
    import threading

    import torch

    found: dict[str, object] = {}
    for threads in (1, 4):
        torch.set_num_threads(threads)
        a = torch.full((300, 300), 0.5, requires_grad=True)
        (a @ a).sum().backward()
        found[f"gradient with {threads}"] = a.grad[0, 0].item()
    import colorsys  # nobody else imports it
    import wave

    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(1, 1))
    axes.plot([1, 2], [3, 4])
    figure.savefig("plot.png")
    found["lazy modules"] = [colorsys.__name__, wave.__name__]
    found["picture"] = Path("plot.png").read_bytes()[:4].hex()
    found["package"] = len(__import__("shardwise.ledger", fromlist=["ledger"]).__name__) > 0
    with tempfile.TemporaryFile() as file:
        found["written"] = file.write(b"123")
    done = []
    some = [threading.Thread(target=done.append, args=(n,)) for n in range(3)]
    for one in some:
        one.start()
        one.join()
    found["threads"] = done
    found["random"] = len(os.urandom(8))
    found["zone"] = time.strftime("%Z") != ""
    found["user"] = getpass.getuser()
    if sys.argv[1] == "namespaces":
        found["ls"] = subprocess.run(["ls"], capture_output=True, text=True).stdout
        with multiprocessing.Pool(2) as pool:
            found["pool"] = pool.map(abs, [-1, -2])
        loader = torch.utils.data.DataLoader(list(range(4)), batch_size=2, num_workers=1)
        found["loader"] = [batch.tolist() for batch in loader]
    return found


def main() -> None:
    import torch

    from shardwise_grading.sandbox import Limits, enter, readable_paths, watch

    torch.set_num_threads(1)
    torch.ones(2)
    readable, scratch, limits = readable_paths(), Path(tempfile.mkdtemp()), Limits()
    begin = time.perf_counter()
    one = enter(sys.argv[1], limits, readable, scratch, keep=(1, 2))
    if one == 0:
        try:
            print(json.dumps(student()), flush=True)
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    sys.stderr.write(f"enter took {time.perf_counter() - begin:.3f} s\n")
    while not os.waitid(os.P_PID, one, os.WEXITED | os.WNOHANG):
        if reason := watch(one, limits):
            sys.stderr.write(f"stopped: {reason}\n")
            os.kill(one, 9)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
