"""Everything that could carry a word to the outside, or to another student."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import Attack

# The fence listens on {PORT} of both loopback addresses, on UDP, and on two Unix sockets.

ATTACKS = [
    Attack(
        "tcp-to-this-machine",
        before="""
            import socket
            for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "0.0.0.0")):
                try:
                    with socket.socket(family) as s:
                        s.settimeout(0.2)
                        s.connect((host, {PORT}))
                        s.send(b"hello")
                        print("CONNECTED", host)
                except OSError as error:
                    print(error)
            """,
        unseen=("CONNECTED",),
    ),
    Attack(
        "tcp-in-every-call",
        inside="""
            import socket
            try:
                socket.create_connection(("127.0.0.1", {PORT}), 0.2).send(repr(args).encode())
            except OSError:
                pass
            """,
    ),
    Attack(
        "udp-to-this-machine",
        before="""
            import socket
            for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
                try:
                    with socket.socket(family, socket.SOCK_DGRAM) as s:
                        s.sendto(b"hello", (host, {PORT}))
                except OSError as error:
                    print(error)
            """,
    ),
    Attack(
        "unix-socket-by-path",
        before="""
            import glob, os, socket
            for path in ["{CANARY}/socket", "/var/run/docker.sock", "/run/docker.sock", *glob.glob("/run/**/*.sock", recursive=True), *glob.glob("/tmp/**/*socket*", recursive=True)]:
                try:
                    with socket.socket(socket.AF_UNIX) as s:
                        s.settimeout(0.2)
                        s.connect(path)
                        print("CONNECTED", path)
                except OSError as error:
                    print(error)
            """,
        unseen=("CONNECTED",),
    ),
    Attack(
        "abstract-unix-socket",
        before=r"""
            import socket
            for name in ("\0{ABSTRACT}", "\0/tmp/.X11-unix/X0", "\0docker"):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
                    try:
                        with socket.socket(socket.AF_UNIX, kind) as s:
                            s.settimeout(0.2)
                            s.connect(name)
                            s.send(b"hello")
                            print("CONNECTED", name)
                    except OSError as error:
                        print(error)
            """,
        unseen=("CONNECTED",),
    ),
    Attack(
        "the-internet",
        before="""
            import socket
            for host in ("1.1.1.1", "2606:4700:4700::1111", "169.254.169.254", "10.0.0.1", "192.168.0.1"):
                family = socket.AF_INET6 if ":" in host else socket.AF_INET
                for kind, port in ((socket.SOCK_STREAM, 53), (socket.SOCK_STREAM, 80), (socket.SOCK_DGRAM, 53)):
                    try:
                        with socket.socket(family, kind) as s:
                            s.settimeout(0.05)
                            s.connect((host, port))
                            s.send(b"hello")
                            print("CONNECTED", host)
                    except OSError as error:
                        print(error)
            """,
        unseen=("CONNECTED",),
    ),
    Attack(
        "names-and-urls",
        before="""
            import socket, urllib.request
            for name in ("example.org", "localhost", "metadata.google.internal"):
                try:
                    print(socket.getaddrinfo(name, 80))
                except OSError as error:
                    print(error)
            try:
                print("FETCHED", urllib.request.urlopen("http://127.0.0.1:{PORT}/", timeout=0.2).read())
            except Exception as error:
                print(error)
            """,
        unseen=("FETCHED",),
        human=None,
    ),
    Attack(
        "programs-that-talk",
        before="""
            !timeout 0.5 bash -c 'echo hello > /dev/tcp/127.0.0.1/{PORT}'
            !timeout 0.5 curl -s http://127.0.0.1:{PORT}/
            !timeout 0.5 wget -q -O - http://127.0.0.1:{PORT}/
            """,
    ),
    Attack(
        "odd-families",
        before="""
            import socket
            for family in range(1, 46):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
                    try:
                        socket.socket(family, kind).close()
                    except OSError:
                        pass
            for family, kind, protocol in ((17, socket.SOCK_RAW, 768), (socket.AF_INET, socket.SOCK_RAW, 1)):
                try:
                    socket.socket(family, kind, protocol)
                    print("RAW", family)
                except OSError as error:
                    print(error)
            try:
                with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as s:
                    s.settimeout(0.1)
                    s.connect((2, 22))
                    print("CONNECTED")
            except OSError as error:
                print(error)
            """,
        unseen=("RAW", "CONNECTED"),
    ),
    Attack(
        "listens-for-a-neighbour",
        before="""
            import os, socket
            try:
                s = socket.socket()
                s.bind(("0.0.0.0", 41234))
                s.listen()
                u = socket.socket(socket.AF_UNIX)
                u.bind("\\0left-for-the-next-student")
                u.listen()
                if os.fork() == 0:
                    while True: s.accept()[0].send(b"answers")
            except OSError as error:
                print(error)
            """,
    ),
    Attack(
        "message-queues-and-semaphores",
        before="""
            import ctypes, mmap
            c = ctypes.CDLL(None, use_errno=True)
            print(c.shmget(0x5EED, 4096, 0o1666), c.msgget(0x5EED, 0o1666), c.semget(0x5EED, 1, 0o1666))
            c.mq_open(b"/left", 0o102, 0o666, None)
            """,
    ),
    Attack(
        "process-group-of-torch",
        before="""
            import datetime, torch.distributed
            try:
                torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:{PORT}", rank=1, world_size=2, timeout=datetime.timedelta(seconds=0.3))
                print("CONNECTED")
            except Exception as error:
                print(type(error))
            """,
        unseen=("CONNECTED",),
        human=None,
        exercises=(1,),
    ),
]
