"""Numbers of the system calls that a student's process may not make."""

from __future__ import annotations

import platform

# Name, number on x86-64, number on 64-bit Arm; a dash where there is no such call.
# Asking for another view of the system, for another process's memory, for kernel memory that no
# limit counts, or for what only an administrator does.
_DENIED = """
acct 163 89
add_key 248 217
adjtimex 159 171
bpf 321 280
chroot 161 51
clock_adjtime 305 266
clock_settime 227 112
delete_module 176 106
fanotify_init 300 262
finit_module 313 273
fsconfig 431 431
fsmount 432 432
fsopen 430 430
fspick 433 433
init_module 175 105
io_setup 206 0
io_uring_enter 426 426
io_uring_register 427 427
io_uring_setup 425 425
ioperm 173 -
iopl 172 -
kcmp 312 272
kexec_file_load 320 294
kexec_load 246 104
keyctl 250 219
lookup_dcookie 212 18
memfd_create 319 279
memfd_secret 447 447
migrate_pages 256 238
modify_ldt 154 -
mount 165 40
mount_setattr 442 442
move_mount 429 429
move_pages 279 239
mq_open 240 180
mq_unlink 241 181
msgctl 71 187
msgget 68 186
msgrcv 70 188
msgsnd 69 189
name_to_handle_at 303 264
nfsservctl 180 42
open_by_handle_at 304 265
open_tree 428 428
open_tree_attr 467 467
perf_event_open 298 241
personality 135 92
pidfd_getfd 438 438
pivot_root 155 41
process_madvise 440 440
process_mrelease 448 448
process_vm_readv 310 270
process_vm_writev 311 271
ptrace 101 117
quotactl 179 60
quotactl_fd 443 443
reboot 169 142
request_key 249 218
semctl 66 191
semget 64 190
semop 65 193
semtimedop 220 192
setdomainname 171 162
sethostname 170 161
setns 308 268
settimeofday 164 170
shmat 30 196
shmctl 31 195
shmget 29 194
swapoff 168 225
swapon 167 224
syslog 103 116
umount2 166 39
unshare 272 97
uselib 134 -
userfaultfd 323 282
vhangup 153 58
vmsplice 278 75
"""

# What landlock does not forbid, and what would let a process without a PID namespace of its own
# reach others or outlive its guard.
_DENIED_ALONE = """
chmod 90 -
chown 92 -
fchmod 91 52
fchmodat 268 53
fchmodat2 452 452
fchown 93 55
fchownat 260 54
file_setattr 469 469
fork 57 -
fremovexattr 199 16
fsetxattr 190 7
futimesat 261 -
inotify_init 253 -
inotify_init1 294 26
ioprio_set 251 30
lchown 94 -
lremovexattr 198 15
lsetxattr 189 6
pidfd_open 434 434
pidfd_send_signal 424 424
removexattr 197 14
removexattrat 466 466
setpriority 141 140
setxattr 188 5
setxattrat 463 463
socket 41 198
tkill 200 130
truncate 76 45
utime 132 -
utimensat 280 88
utimes 235 -
vfork 58 -
"""

# It depends on the arguments.
_SOMETIMES = """
clone 56 220
clone3 435 435
fcntl 72 25
ioctl 16 29
kill 62 129
mmap 9 222
prctl 157 167
prlimit64 302 261
rt_sigqueueinfo 129 138
rt_tgsigqueueinfo 297 240
sched_setaffinity 203 122
sched_setattr 314 274
sched_setparam 142 118
sched_setscheduler 144 119
socket 41 198
tgkill 234 131
"""

TABLES = (_DENIED, _DENIED_ALONE, _SOMETIMES)
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def denied() -> list[int]:
    """Return the numbers of the calls that no student's process needs."""
    return list(_numbers(_DENIED).values())


def denied_alone() -> list[int]:
    """Return the numbers of the calls that a process without namespaces may not make either."""
    return list(_numbers(_DENIED_ALONE).values())


def number(name: str) -> int | None:
    """Return the number of a call whose arguments decide; None where there is no such call.

    Raises:
        KeyError: the call is not one of these.
    """
    known = {line.split()[0] for line in _SOMETIMES.strip().splitlines()}
    if name not in known:
        raise KeyError(name)
    return _numbers(_SOMETIMES).get(name)


def _numbers(table: str) -> dict[str, int]:
    column = 1 + list(ARCHITECTURES).index(platform.machine())
    rows = [line.split() for line in table.strip().splitlines()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
