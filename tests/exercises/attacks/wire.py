"""Messages that are none: of the wrong form, at the wrong time, without an end."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import COLLECTIVE, Attack
from exercises.attacks.forgery import LOOP, RING, TOOLS, answers, sends

ATTACKS = [
    answers("outcome-without-parts", 'send({"id": request["id"]})'),
    answers("head-of-four-gigabytes", 'send(b"{}", head=b"\\xff" * 8)'),
    answers(
        "head-of-thirty-megabytes-and-silence",
        'send(b"{}", head=struct.pack(">II", 15 << 20, 15 << 20))\ntime.sleep(1000)',
        human=None,
    ),
    answers("half-a-head", 'put(b"\\0\\0")\ntime.sleep(1000)', human=None),
    answers(
        "one-byte-at-a-time",
        'for byte in b"\\0\\0\\1\\0\\0\\0\\0\\0" + b" " * 500:\n    put(bytes([byte]))\n    time.sleep(0.1)',
        human=None,
    ),
    answers("empty-message", 'send(b"")'),
    answers("no-json", 'send(b"\\x80\\x04cposix\\nsystem\\n")'),
    answers("json-that-is-a-list", "send([request['id']])"),
    answers("json-that-is-not-utf-8", 'send(b\'{"id": "\\xff\\xfe"}\')'),
    answers(
        "keys-twice-on-the-wire",
        'send(b\'{"id": -1, "id": %d, "value": null, "value": null}\' % request["id"])',
    ),
    answers("answer-to-another-question", "send(outcome(request) | {'id': request['id'] + 1})"),
    answers("id-that-is-true", "send(outcome(request) | {'id': True})"),
    answers("id-that-is-a-float", "send(outcome(request) | {'id': float(request['id'])})"),
    answers("answers-twice", "send(outcome(request))\nsend(outcome(request))"),
    answers("never-answers", "time.sleep(1000)", human=None),
    answers(
        "answers-after-the-time",
        "time.sleep(6)\nsend(outcome(request, ['f', '0x1p0']))",
        human=None,
        seconds=60,
    ),
    answers("closes-the-wire", "os.close(channel().fileno())\ntime.sleep(1000)", human=None),
    answers(
        "shuts-half-of-the-wire",
        "socket.socket(fileno=channel().fileno()).shutdown(socket.SHUT_WR)\ntime.sleep(1000)",
        human=None,
    ),
    answers(
        "stops-reading",
        "send(outcome(request))\nwhile True:\n    time.sleep(1)",
        human=None,
    ),
    answers("floods-the-wire", "while True:\n    put(bytes(1 << 20))"),
    answers("floods-with-messages", "while True:\n    send(outcome(request))"),
    answers(
        "passes-descriptors",
        'socket.send_fds(socket.socket(fileno=os.dup(channel().fileno())), [b"\\0\\0\\0\\2\\0\\0\\0\\0{}"], [0, 1, 2] * 60)\ntime.sleep(0.2)',
    ),
    answers(
        "collective-without-an-end-on-the-wire",
        f'while True:\n    send({{"collective": "{RING}", "tensors": ["l", ["T", "float32", [1], [0, 4]]]}}, bytes(4))\n    channel().receive()',
        human=None,
    ),
    answers(
        "collective-of-another-name",
        'send({"collective": "os.system", "tensors": ["l", "touch {CANARY}/collective"]})',
    ),
    answers("collective-that-is-a-list", 'send({"collective": [], "tensors": None})'),
    answers(
        "collective-without-tensors",
        f'send({{"collective": "{RING}"}})\ntime.sleep(0.1)',
        human=None,
    ),
    answers(
        "collective-of-texts",
        f'send({{"collective": "{RING}", "tensors": ["l", "a", "b"]}})\nchannel().receive()\nsend(outcome(request))',
        human=None,
        exercises=COLLECTIVE,
    ),
    answers(
        "collective-of-fifty-thousand-devices",
        f'send({{"collective": "{RING}", "tensors": ["l", *[["T", "uint8", [1], [0, 1]]] * 50_000]}}, b"x")\nchannel().receive()\nsend(outcome(request))',
        human=None,
        exercises=COLLECTIVE,
    ),
    answers(
        "collective-of-tebibytes",
        f'send({{"collective": "{RING}", "tensors": ["l", *[["L", "float32", [1 << 38], [0, 4], [0], 0, False, None]] * 2]}}, bytes(4))',
        exercises=COLLECTIVE,
        human=None,
    ),
    answers(
        "collective-whose-answer-is-too-long",
        f'send({{"collective": "{RING}", "tensors": ["l", *[["T", "bool", [7 << 20], [0, 7 << 20]]] * 2]}}, bytes(7 << 20))\nchannel().receive()\nsend(outcome(request))',
        exercises=COLLECTIVE,
        human=None,
    ),
    answers(
        "collectives-that-nobody-called",
        f'send({{"collective": "{RING}", "tensors": ["l", *[["T", "float32", [1], [0, 4]]] * 2]}}, bytes(4))\nchannel().receive()\nsend(outcome(request, ["l", ["f", "0x1p0"]]))',
        human=None,
        exercises=COLLECTIVE,
    ),
    answers(
        "collective-and-answer-at-once",
        f'send({{"collective": "{RING}", "id": request["id"], "tensors": ["l"]}})',
        human=None,
    ),
    Attack(
        "found-is-no-value",
        after=TOOLS
        + LOOP
        + """
def found(request):
    send({"id": request["id"], "defined": True, "callable": False, "value": ["f", "0x1p99999"]})

take_over(print, found)
""",
        outcome="nothing",
        human=None,
    ),
    Attack(
        "found-is-a-layout",
        after=TOOLS
        + LOOP
        + """
def found(request):
    send({"id": request["id"], "defined": 1, "callable": [], "value": ["L", "uint8", [1 << 40], [0, 1], [0], 0, False, None]}, b"x")

take_over(print, found)
""",
        outcome="nothing",
        human=None,
    ),
    Attack(
        "found-is-unreadable",
        after=TOOLS
        + LOOP
        + """
def found(request):
    send({"id": request["id"], "defined": True, "value": ["bad"]})

take_over(print, found)
""",
        outcome="nothing",
        human=None,
    ),
    Attack(
        "cell-with-gigabytes-of-outputs",
        after=TOOLS
        + LOOP
        + """
def ran(request):
    picture = {"kind": "display", "text": "", "png": "A" * (3 << 20), "name": "", "value": ""}
    send({"id": request["id"], "outputs": [picture] * 5, "seconds": 0.0})

take_over(print, None, ran)
""",
        outcome="nothing",
        human=None,
    ),
    Attack(
        "cell-with-a-million-outputs",
        after=TOOLS
        + LOOP
        + """
def ran(request):
    send({"id": request["id"], "outputs": [{"kind": "stdout", "text": "x", "png": "", "name": "", "value": ""}] * 150_000, "seconds": -1})

take_over(print, None, ran)
""",
        outcome="nothing",
        human=None,
    ),
    Attack(
        "cell-with-outputs-that-are-none",
        after=TOOLS
        + LOOP
        + """
def ran(request):
    send({"id": request["id"], "outputs": [{"kind": ["stdout"], "text": 7}], "seconds": "x"})

take_over(print, None, ran)
""",
        outcome="nothing",
        human=True,
    ),
    Attack(
        "cell-whose-outputs-are-no-list",
        after=TOOLS
        + LOOP
        + """
def ran(request):
    send({"id": request["id"], "outputs": {"kind": "stdout"}, "seconds": float("nan")})

take_over(print, None, ran)
""",
        outcome="nothing",
        human=True,
    ),
    sends(
        "answers-the-cell-twice",
        'send({"id": current(), "outputs": [], "seconds": 0.0})',
        outcome="nothing",
    ),
    sends(
        "answers-before-it-is-asked",
        """
for number in range(current() + 1, current() + 400):
    send({"id": number, "outputs": [], "defined": True, "callable": False, "value": ["f", "0x1p0"]})
""",
        human=None,
    ),
    sends(
        "garbage-on-every-descriptor",
        """
for number in range(256):
    try:
        os.write(number, b"\\xff" * 64)
    except OSError:
        pass
""",
    ),
    sends(
        "score-on-every-descriptor",
        """
for number in range(3, 256):
    try:
        os.write(number, b'{"score": 10.0, "status": 0, "reason": ""}')
    except OSError:
        pass
""",
    ),
    sends(
        "wire-held-by-a-thread",
        """
def answer():
    while True:
        try:
            request, _ = channel().receive()
            send(outcome(request, ["f", "0x1p0"]) | {"outputs": [], "defined": True, "callable": True})
        except Exception:
            pass
threading.Thread(target=answer, daemon=True).start()
""",
        human=None,
        outcome="at most half",
    ),
]
