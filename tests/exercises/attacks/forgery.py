"""Messages on the student's own end of the wire, which say what the grader never asked for.

All of them know the grader's source: they find the channel, read requests themselves, and answer
with what an honest process could not send.
"""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import Attack

TOOLS = """
import gc, json, os, signal, socket, struct, sys, threading, time
from shardwise_grading.student.wire import Channel

def channel():
    return next(thing for thing in gc.get_objects() if type(thing) is Channel)

def put(data):
    view = memoryview(data)
    while view:
        view = view[os.write(channel().fileno(), view):]

def send(message, buffers=b"", head=None):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    put((struct.pack(">II", len(text), len(buffers)) if head is None else head) + text + buffers)

def current():
    frame = sys._getframe()
    while frame:
        request = frame.f_locals.get("request")
        if type(request) is dict and "id" in request:
            return request["id"]
        frame = frame.f_back

def outcome(request, value=None, **more):
    return {"id": request["id"], "value": value, "error": "", "kinds": [], "detail": "",
            "changed": [], "shared": [], "product_rows": 0} | more
"""
# Runs in a cell: says that the cell is done, and answers every later request in its own way.
LOOP = """
def take_over(called, found=None, ran=None):
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    send({"id": current(), "outputs": [], "seconds": 0.0})
    while True:
        request, buffers = channel().receive()
        if request["do"] == "call":
            called(request)
        elif request["do"] == "find" and found:
            found(request)
        elif request["do"] == "run" and ran:
            ran(request)
        elif request["do"] == "find":
            send({"id": request["id"], "defined": True, "callable": True, "value": None})
        elif request["do"] == "run":
            send({"id": request["id"], "outputs": [], "seconds": 0.0})
        else:
            send({"id": request["id"]})
"""
RING = "shardwise.collectives.ring_all_reduce"


def answers(name, body, **more):
    """An attack that answers each call with the statements of body; they see `request`."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    after = f"{TOOLS}{LOOP}\ndef called(request):\n{lines}\n\ntake_over(called)"
    return Attack(name, after=after, **({"outcome": "nothing", "human": True} | more))


def replies(name, value, buffers="b''", **more):
    """An attack that answers each call with a value, as the wire writes it."""
    return answers(name, f"send(outcome(request, {value}), {buffers})", **more)


def sends(name, body, **more):
    """An attack that sends something from a cell, and goes on as if nothing had been."""
    return Attack(name, before=TOOLS + body, **({"human": True} | more))


ATTACKS = [
    replies("constant-answers", '["f", "0x1.8p+1"]', human=None),
    replies("claims-ten-points", '{"score": 10.0, "passed": True}'),
    answers(
        "outcome-that-passes",
        'send({"id": request["id"], "results": [{"property": "all", "passed": True, "points": 10}], "score": 10})',
    ),
    replies("float-beyond-all-floats", '["f", "0x1p99999"]'),
    replies("float-that-is-none", '["f", "ten"]'),
    replies("nan-as-json", "float('nan')"),
    replies("int-of-sixteen-megabytes", '["i", "0x" + "f" * (15 << 20)]'),
    answers(
        "json-int-of-a-million-digits",
        'send(json.dumps(outcome(request)).replace("null", "9" * 1_000_000).encode())',
    ),
    replies("fraction-over-zero-on-the-wire", '["q", "0x1", "0x0"]'),
    replies(
        "fraction-of-huge-parts", '["q", "0x" + "f" * 30_000, "0x" + "e" * 30_000]', human=None
    ),
    replies("unknown-tag", '["x", 1, 2]'),
    replies("tag-that-is-a-list", "[[], 1]"),
    replies(
        "nested-a-hundred-deep",
        '__import__("functools").reduce(lambda v, _: ["l", v], range(100), None)',
    ),
    answers(
        "nested-a-million-deep",
        'send(b\'{"id": %d, "value": \' % request["id"] + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}")',
    ),
    replies("million-empty-lists", '["l"] + [["l"]] * 1_000_000'),
    replies(
        "layout-of-a-tebibyte", '["L", "uint8", [1 << 40], [0, 1], [0], 0, False, None]', "b'x'"
    ),
    replies(
        "list-of-layouts-of-a-tebibyte",
        '["l", *[["L", "float32", [1 << 38], [0, 4], [0], 0, False, None]] * 3]',
        "bytes(4)",
    ),
    replies(
        "layout-out-of-bounds",
        '["L", "float32", [1 << 20], [0, 4], [1], 0, False, None]',
        "bytes(4)",
    ),
    replies(
        "layout-with-negative-strides",
        '["L", "float32", [2, 2], [0, 16], [-2, -1], 3, False, None]',
        "bytes(16)",
    ),
    replies(
        "layout-with-a-far-offset",
        '["L", "float32", [2], [0, 8], [1], 1 << 40, False, None]',
        "bytes(8)",
    ),
    replies(
        "gradients-of-gradients",
        '__import__("functools").reduce(lambda g, _: ["L", "float32", [1], [0, 4], [1], 0, True, g], range(900), None)',
        "bytes(4)",
    ),
    replies(
        "same-bytes-a-hundred-thousand-times",
        '["l", *[["T", "uint8", [8 << 20], [0, 8 << 20]]] * 99_000]',
        "bytes(8 << 20)",
    ),
    replies("shape-that-does-not-fit", '["T", "float32", [1000, 1000], [0, 4]]', "bytes(4)"),
    replies("shape-with-negative-sizes", '["T", "float32", [-1, -1], [0, 4]]', "bytes(4)"),
    replies("shape-with-half-sizes", '["T", "float32", [0.5, 2], [0, 4]]', "bytes(4)"),
    replies(
        "shape-of-a-million-dimensions", '["T", "float32", [1] * 1_000_000, [0, 4]]', "bytes(4)"
    ),
    replies(
        "empty-tensor-of-huge-shape",
        '["T", "float32", [0, 1 << 40, 1 << 40], [0, 0]]',
        human=None,
        outcome="forged",
    ),
    replies("dtype-that-is-code", '["T", "__class__", [1], [0, 4]]', "bytes(4)"),
    replies("bytes-that-are-no-whole-numbers", '["T", "float32", [1], [0, 3]]', "bytes(3)"),
    replies("bytes-from-elsewhere", '["T", "float32", [1], [1 << 40, (1 << 40) + 4]]', "bytes(4)"),
    replies("bytes-backwards", '["T", "float32", [1], [4, 0]]', "bytes(4)"),
    replies(
        "truths-that-are-neither",
        '["T", "bool", [8], [0, 8]]',
        "b'\\xff' * 8",
        human=None,
        outcome="forged",
    ),
    replies(
        "sparse-of-huge-shape",
        '["S", "torch.sparse_coo", "cpu", [1 << 40] * 16]',
        human=None,
        outcome="forged",
    ),
    replies(
        "meta-of-huge-shape",
        '["S", "torch.strided", "meta", [1 << 40] * 16]',
        human=None,
        outcome="forged",
    ),
    replies("foreign-with-terminal-codes", '["?", "\\033[2J\\ud800\\u0000<script>"]', human=None),
    replies("dict-with-odd-keys", '["d", [["f", "0x1p0"], 1], [None, 2], [["l"], 3]]'),
    replies("text-of-fifteen-megabytes", '"x" * (15 << 20)', human=None),
    answers(
        "error-of-ten-megabytes",
        'send(outcome(request, error="x" * (10 << 20), kinds=["y" * (1 << 20)] * 4, detail="z" * (1 << 20)))',
        human=None,
    ),
    answers(
        "a-million-kinds",
        'send(outcome(request, error="E", kinds=["ValueError"] * 1_000_000))',
        human=None,  # longer than any message
        outcome={1: 0, 2: 0, 3: 0, 4: 0, 5: 0},
    ),
    answers(
        "kinds-that-are-all-expected",
        'send(outcome(request, error="ValueError", kinds=["ValueError", "TypeError", "BaseException"]))',
        human=None,
        outcome={1: 0, 2: 1, 3: 0, 4: 0, 5: 0},
    ),
    answers(
        "observation-of-odd-types",
        'send(outcome(request, ["f", "0x1p0"], changed={"a": 1}, shared=[["x"]], product_rows=float("nan")))',
    ),
    answers(
        "observation-of-ten-megabytes",
        'send(outcome(request, ["T", "float32", [1], [0, 4]], changed=["x" * (3 << 20)] * 4), bytes(4))',
        human=None,
        outcome="forged",
        exercises=(1, 3, 4),
    ),
]
