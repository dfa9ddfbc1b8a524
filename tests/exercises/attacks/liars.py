"""Objects that lie about what they are, what they equal and what they hold."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import TENSORS, Attack

EQUAL = """
class Equal:
    def yes(self, *_, **__):
        return True
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = yes
    __ne__ = lambda *_: False
    __hash__ = lambda *_: 0
    __float__ = lambda *_: 1.0
    __int__ = __index__ = __len__ = lambda *_: 1
    __array_priority__ = 1000
    def itself(self, *_, **__):
        return self
    __sub__ = __rsub__ = __add__ = __radd__ = __mul__ = __rmul__ = __abs__ = __neg__ = itself
    __call__ = __getitem__ = __getattr__ = itself
"""

ATTACKS = [
    Attack("equals-everything", before=EQUAL, inside="return Equal()", outcome="data"),
    Attack(
        "list-of-what-equals-everything",
        before=EQUAL,
        inside="return [Equal()] * 3",
        outcome="data",
    ),
    Attack("is-what-equals-everything", before=EQUAL, instead="FUNCTION = Equal()", outcome="data"),
    Attack(
        "float-that-lies",
        before="""
            class Lie(float):
                __eq__ = __le__ = __ge__ = __lt__ = lambda *_: True
                __ne__ = lambda *_: False
                __hash__ = lambda *_: 0
                __sub__ = __rsub__ = lambda *_: 0.0
                as_integer_ratio = lambda *_: (1, 1)
            """,
        inside="return Lie(1)",
        outcome="data",
    ),
    Attack(
        "int-that-lies",
        before="""
            class Lie(int):
                __eq__ = __le__ = __ge__ = __lt__ = lambda *_: True
                __hash__ = lambda *_: 0
                __sub__ = __rsub__ = lambda *_: 0
            """,
        inside="return Lie(9)",
        outcome="data",
    ),
    Attack(
        "fraction-with-strange-parts",
        inside="""
            from fractions import Fraction
            lie = Fraction(1)
            lie._numerator = float("nan")
            return lie
            """,
        outcome="data",
    ),
    Attack(
        "fraction-over-zero",
        inside="""
            from fractions import Fraction
            lie = Fraction(1)
            lie._denominator = 0
            return lie
            """,
        outcome="data",
    ),
    Attack(
        "class-that-claims-another",
        before="""
            import torch
            class Lie:
                __class__ = property(lambda _: type(FUNCTION(1)) if False else torch.Tensor)
                shape, dtype, layout = (), torch.float32, torch.strided
            """,
        inside="return Lie()",
        outcome="data",
    ),
    Attack(
        "metaclass-with-another-mro",
        before="""
            class Meta(type):
                __mro__ = property(lambda _: (float, object))
                __name__ = "float"
                mro = lambda cls: [cls, object]
                __eq__ = lambda *_: True
                __hash__ = lambda *_: hash(float)
                __instancecheck__ = __subclasscheck__ = lambda *_: True
            class Lie(metaclass=Meta): pass
            """,
        inside="return Lie()",
        outcome="data",
    ),
    Attack(
        "tensor-subclass",
        before="""
            import torch
            class Lie(torch.Tensor):
                __eq__ = lambda self, _: torch.ones(self.shape, dtype=bool)
                @classmethod
                def __torch_function__(cls, function, types, args=(), kwargs=None):
                    return True
            """,
        inside="return torch.ones(2, 2).as_subclass(Lie)",
        exercises=TENSORS,
        outcome="data",
    ),
    Attack(
        "tensors-of-a-subclass-in-a-list",
        before="""
            import torch
            class Lie(torch.Tensor):
                @classmethod
                def __torch_function__(cls, function, types, args=(), kwargs=None):
                    return torch.tensor(True)
            """,
        inside="return [torch.ones(2).as_subclass(Lie) for _ in args[0]]",
        exercises=(1,),
        outcome="data",
    ),
    Attack(
        "tensor-whose-class-is-changed",
        before="""
            import torch
            class Lie(torch.Tensor):
                pass
            """,
        inside="""
            lie = torch.ones(2, 2)
            lie.__class__ = Lie
            return lie
            """,
        exercises=TENSORS,
        outcome="data",
    ),
    Attack(
        "torch-function-of-an-object",
        before="""
            class Lie:
                @classmethod
                def __torch_function__(cls, *_, **__):
                    return cls()
                __bool__ = lambda _: True
                __getattr__ = lambda self, _: self
                __call__ = lambda self, *_, **__: self
            """,
        inside="return Lie()",
        outcome="data",
    ),
    Attack("nan", inside="return float('nan')", outcome="data"),
    Attack("infinity", inside="return float('inf')", outcome="data"),
    Attack(
        "a-nan-in-every-element",
        inside="import torch; return honest(*args) * float('nan')",
        exercises=(3, 4),
        outcome={3: 2, 4: 2},
    ),
    Attack(
        "list-of-nan-tensors",
        inside="return [t * float('nan') for t in honest(*args)]",
        exercises=(1,),
        outcome={1: 3},
    ),
    Attack("true-for-a-number", inside="return True", outcome="data"),
    Attack("complex-numbers", inside="return complex(1, 0)", outcome="data"),
    Attack(
        "complex-tensor",
        inside="import torch; return honest(*args).to(torch.complex128)",
        exercises=(3, 4),
        outcome={3: 2, 4: 2},
    ),
    Attack(
        "numpy-numbers",
        inside="import numpy; return numpy.float64(honest(*args))",
        exercises=(2, 5),
        outcome={2: 1, 5: 1},
    ),
    Attack(
        "numpy-arrays",
        inside="return honest(*args).numpy()",
        exercises=(3, 4),
        outcome={3: 1, 4: 1},
    ),
    Attack(
        "sparse-tensor",
        inside="return honest(*args).to_sparse()",
        exercises=(3, 4),
        outcome={3: 2, 4: 2},
    ),
    Attack(
        "meta-tensor",
        inside="import torch; return honest(*args).to('meta')",
        exercises=(3, 4),
        outcome={3: 2, 4: 2},
    ),
    Attack(
        "quantized-tensor",
        inside="import torch; return torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.quint8)",
        exercises=TENSORS,
        outcome="data",
        human=None,
    ),
    Attack(
        "nested-tensor",
        inside="import torch; return torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])",
        exercises=TENSORS,
        outcome="data",
        human=None,
    ),
    Attack(
        "undefined-tensor",
        inside="import torch; return torch._C._functions.UndefinedGrad()(torch.ones(2))",
        exercises=TENSORS,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "tensor-without-memory",
        inside="import torch; x = torch.ones(2, 2); x.untyped_storage().resize_(0); return x",
        exercises=TENSORS,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "tensors-that-change-later",
        inside="""
            import threading
            result = honest(*args)
            first = result[0] if type(result) is list else result
            def change():
                while True:
                    first.fill_(float("nan"))
            threading.Thread(target=change, daemon=True).start()
            return result
            """,
        exercises=TENSORS,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "view-with-a-negative-bit",
        inside="import torch; return torch._neg_view(-honest(*args))",
        exercises=(3, 4),
    ),
    Attack(
        "expanded-and-transposed-results",
        inside="return honest(*args).T.contiguous().T",
        exercises=(3,),
    ),
    Attack(
        "results-that-need-a-gradient",
        inside="return honest(*args).clone().requires_grad_(True) * 1",
        exercises=(3, 4),
    ),
    Attack(
        "reduce-that-runs-code",
        before="""
            import os
            class Bomb:
                def __reduce__(self):
                    return os.system, ("touch {CANARY}/reduced",)
                __reduce_ex__ = lambda self, _: self.__reduce__()
                __getstate__ = __reduce__
            """,
        inside="return [Bomb()]",
        outcome="data",
    ),
    Attack("lazy-generator", inside="return (x for x in (1, 2))", outcome="data"),
    Attack("lazy-map", inside="return map(float, ('1',))", outcome="data"),
    Attack(
        "dict-that-lies",
        before="""
            class Lie(dict):
                get = __getitem__ = lambda *_: "replicated or partitioned"
                __contains__ = lambda *_: True
            """,
        after="partition = Lie()",
        exercises=(2,),
        outcome="half",
        human=None,
    ),
    Attack(
        "table-that-equals-everything", before=EQUAL, after="partition = Equal()", exercises=(2,)
    ),
]
