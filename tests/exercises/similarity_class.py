"""A class for the similarity report: independent authors, and some who copy from them.

The solutions are those of tests/exercises/known, right and wrong ones, so that their forms are
those that people find. Each author chooses forms (a few are popular), names, messages and comments
from pools that are small on purpose: independent authors shall meet by chance, more often than in
a real class.
"""

from __future__ import annotations

import ast
import random
import textwrap
from functools import cache

from support import ROOT

from shardwise_grading.similarity.features import Work

EXERCISES = {
    "1-all-reduce-mean": ("all_reduce_mean", "all_reduce_mean", ["tensors"]),
    "2-stage-2-memory": ("stage_2_memory", "stage2_bytes", ["psi", "n"]),
    "3-gradient-accumulation": ("gradient_accumulation", "accumulate", ["W", "xs", "ys"]),
    "4-row-parallel": ("row_parallel", "my_row_parallel", ["y", "b", "n"]),
    "5-microbatches": ("microbatches", "min_microbatches", ["p", "target"]),
}
WRAPPERS = {
    "refuse",
    "refusing",
    "checked",
    "floats_only",
    "bisects",
    "leaves",
    "shards",
    "products",
}
NAMES = """
total result out res grad grads acc parts part shard shards chunk chunks piece pieces value
values mean avg summed reduced weight weights denom count size sizes num number frac ratio temp
tmp loss answer rows cols low high mid best guess steps per_device shared whole local scale buf
ans partial partials products pairs left right lo hi step
""".split()  # noqa: SIM905 - a list of so many words is hard to read
WORDS = """
check input first then add all devices mean divide number of the sum up each for batch gradient
compute scale by return result every part cut rows columns make sure not change original copy
because otherwise wrong value shape same error invalid must be at least one positive size find
smallest bound round exact float integer here we need only once more than zero
""".split()  # noqa: SIM905 - a list of so many words is hard to read
PHRASES = [" ".join(random.Random(i).sample(WORDS, 2 + i % 3)) for i in range(30)]
CHECKS = ["if not {0}:\n    raise {1}({2!r})", "if {3}:\n    raise {1}({2!r})"]


@cache
def forms(exercise: str) -> tuple[ast.FunctionDef, ...]:
    module, _, parameters = EXERCISES[exercise]
    path = ROOT / "tests" / "exercises" / "known" / f"{module}.py"
    return tuple(
        node
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and [argument.arg for argument in node.args.args][: len(parameters)]
        and len(node.args.args) == len(parameters)
        and node.name not in WRAPPERS
    )


class Habits(ast.NodeTransformer):
    """Another author's way to write the same form: operands, comparisons, lists, results."""

    def __init__(self, author):
        self.author = author

    def often(self):
        return self.author.random() < 0.35

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult | ast.Add) and self.often():
            node.left, node.right = node.right, node.left
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        flipped = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
        other = flipped.get(type(node.ops[0]))
        if len(node.ops) == 1 and other and self.often():
            return ast.Compare(node.comparators[0], [other()], [node.left])
        return node

    def visit_ListComp(self, node):
        self.generic_visit(node)
        if self.often():
            generator = ast.GeneratorExp(node.elt, node.generators)
            return ast.Call(ast.Name("list", ast.Load()), [generator], [])
        return node

    def visit_Return(self, node):
        self.generic_visit(node)
        if node.value and self.often():
            held = ast.Name("answer_", ast.Store())
            return [
                ast.Assign([held], node.value, lineno=0),
                ast.Return(ast.Name("answer_", ast.Load())),
            ]
        return node

    def visit_Constant(self, node):
        if isinstance(node.value, str) and " " in node.value:
            return ast.Constant(sentence(self.author))
        return node

    def visit_JoinedStr(self, _node):
        return ast.Constant(sentence(self.author))


class Renamed(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def visit_Name(self, node):
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node):
        return ast.arg(self.names.get(node.arg, node.arg))


def locals_of(function):
    found = [n.id for n in ast.walk(function) if isinstance(n, ast.Name)]
    stored = {
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return [name for name in dict.fromkeys(found) if name in stored]


def sentence(author):
    """A comment or a message: one of those that everybody writes, or one of the author's own."""
    if author.random() < 0.5:
        return author.choice(PHRASES)
    return " ".join(author.choices(WORDS, k=author.randint(4, 8)))


def solve(exercise, author):
    """One author's code for an exercise."""
    _, name, parameters = EXERCISES[exercise]
    found = forms(exercise)
    weights = [1 / (1 + rank) for rank in range(len(found))]
    function = author.choices(found, weights)[0]
    arguments = [argument.arg for argument in function.args.args]
    function = Habits(author).visit(ast.parse(ast.unparse(function))).body[0]
    chosen = locals_of(function)
    names = dict(zip(chosen, author.sample(NAMES, len(chosen)), strict=True))
    names |= dict(zip(arguments, parameters, strict=True))
    body = [ast.unparse(statement) for statement in Renamed(names).visit(function).body]
    condition = author.choice([f"{parameters[-1]} < 1", f"not {parameters[0]}"])
    error = author.choice(["ValueError", "TypeError"])
    check = author.choice(CHECKS).format(condition, error, sentence(author), condition)
    lines = textwrap.indent("\n".join([check, *body]), "    ").split("\n")
    return f"def {name}({', '.join(parameters)}):\n" + "\n".join(commented(lines, author))


def commented(lines, author):
    """Comments of the author's above some of the lines."""
    often = author.choice([0, 0.1, 0.4])
    for line in lines:
        if author.random() < often:
            indent = line[: len(line) - len(line.lstrip())]
            yield f"{indent}# {sentence(author)}"
        yield line


@cache
def solutions(seed):
    author = random.Random(f"author {seed}")
    return {exercise: Work(solve(exercise, author)) for exercise in EXERCISES}


def changed(code, seed, *, rename=True, comments=True, messages=True):
    """What somebody makes of another's code who knows what the other's words would give away."""
    author = random.Random(f"copier {seed}")
    tree = ast.parse(code)
    function = tree.body[0]
    if rename:
        chosen = locals_of(function)
        fresh = author.sample([n for n in NAMES if n not in chosen], len(chosen))
        tree = Renamed(dict(zip(chosen, fresh, strict=True))).visit(tree)
    if messages:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = sentence(author)
    if not comments:
        return ast.unparse(tree)
    return "\n".join(commented(ast.unparse(tree).split("\n"), author))


def reordered(code, seed):
    """The statements of a function in another order; whether it still works is nobody's concern."""
    tree = ast.parse(code)
    random.Random(seed).shuffle(tree.body[0].body)
    return ast.unparse(tree)


def dead_line(author):
    name, other, number = *author.sample(NAMES, 2), author.randint(2, 99)
    return author.choice(
        [
            f"{name} = {number}",
            f"{name} = {other} = None",
            f"{name} = [{number}, {author.randint(2, 99)}]",
            f"{name} = {number} * {author.randint(2, 9)} - {author.randint(2, 9)}",
            f"{name} = len([{number}]) or {author.randint(2, 9)}",
            f"assert {number} > {author.randint(0, 1)}",
        ]
    )


def padded(code, seed):
    """Code that does nothing between the lines of a function."""
    author = random.Random(f"padding {seed}")
    lines = []
    for line in code.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        if indent == "    " and not line.lstrip().startswith(("else", "elif", "except", ")")):
            lines.append(indent + dead_line(author))
        lines.append(line)
    return "\n".join(lines)


WAYS = {
    "as it is": lambda code, _seed: code,
    "reformatted": lambda code, seed: changed(
        code, seed, rename=False, comments=False, messages=False
    ),
    "renamed": lambda code, seed: changed(code, seed, comments=False, messages=False),
    "comments changed": lambda code, seed: changed(code, seed, rename=False, messages=False),
    "reordered": reordered,
    "padded": padded,
    "renamed, comments and messages changed": changed,
    "all of it": lambda code, seed: padded(reordered(changed(code, seed), seed), seed),
}


def copy_of(work, way, seed, exercises=tuple(EXERCISES)):
    """Somebody's solutions, where only the given exercises are copied in some way."""
    own = solutions(f"the rest of {seed}")
    copied = {name: Work(WAYS[way](work[name].code, f"{seed} {name}")) for name in exercises}
    return own | copied


def released():
    return {
        exercise: Work(f"def {name}({', '.join(parameters)}):\n    # Your code here.\n")
        for exercise, (_, name, parameters) in EXERCISES.items()
    }


def a_class(size):
    return {f"student-{number:04}": solutions(number) for number in range(size)}


# What most would write who only want it to pass: short, with the names that suggest themselves.
OBVIOUS = {
    "1-all-reduce-mean": """
        from shardwise.distributed import ring_all_reduce

        def all_reduce_mean(tensors):
            n = len(tensors)
            return [total / n for total in ring_all_reduce(tensors)]
        """,
    "2-stage-2-memory": """
        def stage2_bytes(psi, n):
            return 2 * psi + 14 * psi / n
        """,
    "3-gradient-accumulation": """
        def accumulate(W, xs, ys):
            W = W.detach().clone().requires_grad_(True)
            total = sum(y.numel() for y in ys)
            for x, y in zip(xs, ys):
                loss = ((x @ W.T - y) ** 2).sum() / total
                loss.backward()
            return W.grad
        """,
    "4-row-parallel": """
        def my_row_parallel(y, b, n):
            shards = row_parallel_shards(b, n)
            parts = y.chunk(n, dim=-1)
            partials = [part @ shard for part, shard in zip(parts, shards)]
            return ring_all_reduce(partials)[0]
        """,
    "5-microbatches": """
        def min_microbatches(p, target):
            return max(1, math.ceil((p - 1) * (1 - target) / target))
        """,
}


def obvious():
    return {name: Work(textwrap.dedent(code)) for name, code in OBVIOUS.items()}


def with_group(size, members, way, exercises=tuple(EXERCISES)):
    """A class in which so many hold the work of one of them, each changed in the same way."""
    works = a_class(size)
    names = list(works)[:members]
    source = works[names[0]]
    copies = {name: copy_of(source, way, name, exercises) for name in names[1:]}
    return works | copies, set(names)
