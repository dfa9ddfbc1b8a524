"""The shape of a decoder-only transformer: its parameters and floating-point operations.

Multiplications and additions of matrices are counted, two operations per weight and token; norms,
softmax and activation functions are not.
"""

from __future__ import annotations

from dataclasses import dataclass

from shardwise._checks import flag
from shardwise.plan._checks import keep_sizes, size


@dataclass(frozen=True, slots=True)
class Model:
    """A decoder-only transformer, by default of the GPT kind.

    With h for `hidden`, k for the width of the keys, f for `d_ff`, V, s and l for `vocab`,
    `seq_len` and `layers`, a GPT has l·(12h² + 13h) + (V + s)·h parameters and 2h in its last norm.

    Attributes:
        layers: transformer layers l.
        hidden: width h, a multiple of `num_heads`.
        num_heads: query heads.
        vocab: rows V of the embedding.
        seq_len: tokens s in a sequence.
        kv_heads: key and value heads, a divisor of `num_heads`; None means as many as query heads.
        d_ff: inner width f of the MLP; None means 4h.
        gated: whether the MLP has a gate, and so three matrices (SwiGLU), not two.
        biases: whether matrices have biases and norms a shift.
        learned_positions: whether there is a parameter vector for each of the s positions.
        tied: whether the output layer uses the embedding's matrix.
        dropout: whether masks of dropout are kept for the backward pass.
        flash_attention: whether one fused kernel computes attention, only the causal half of it,
            and keeps no scores.

    Raises:
        TypeError: if an attribute has the wrong type.
        ValueError: if an attribute is out of range or does not divide as stated.

    Example:
        >>> Model(layers=96, hidden=12288, num_heads=96, vocab=51200, seq_len=2048).num_params
        174615846912

    Source: Narayanan et al., "Efficient Large-Scale Language Model Training", arXiv:2104.04473,
    equation 2, without the last norm; Llama team, arXiv:2407.21783, table 3, for the other kind.
    """

    layers: int
    hidden: int
    num_heads: int
    vocab: int
    seq_len: int
    kv_heads: int | None = None
    d_ff: int | None = None
    gated: bool = False
    biases: bool = True
    learned_positions: bool = True
    tied: bool = True
    dropout: bool = True
    flash_attention: bool = False

    def __post_init__(self) -> None:
        """Reject sizes that are none, and heads that do not divide."""
        keep_sizes(self, ("layers", "hidden", "num_heads", "vocab", "seq_len"))
        keep_sizes(self, [name for name in ("kv_heads", "d_ff") if getattr(self, name) is not None])
        for name in ("gated", "biases", "learned_positions", "tied", "dropout", "flash_attention"):
            flag(name, getattr(self, name))
        for small, large in (("num_heads", "hidden"), ("kv_heads", "num_heads")):
            divisor, number = getattr(self, small) or 1, getattr(self, large)
            if number % divisor:
                raise ValueError(
                    f"{small}={divisor} does not divide {large}={number}: heads are of equal size"
                )

    @property
    def num_kv_heads(self) -> int:
        """Key and value heads, also where `kv_heads` is None."""
        return self.num_heads if self.kv_heads is None else self.kv_heads

    @property
    def kv_width(self) -> int:
        """Width k of the keys: `num_kv_heads` heads of h/`num_heads`."""
        return self.hidden // self.num_heads * self.num_kv_heads

    @property
    def ffn_width(self) -> int:
        """Inner width f of the MLP, also where `d_ff` is None."""
        return 4 * self.hidden if self.d_ff is None else self.d_ff

    @property
    def layer_matrix_params(self) -> int:
        """Weights in a layer's matrices: 2h² + 2hk of attention, 2hf or (gated) 3hf of the MLP."""
        attention = 2 * self.hidden * (self.hidden + self.kv_width)
        return attention + (3 if self.gated else 2) * self.hidden * self.ffn_width

    @property
    def layer_vector_params(self) -> int:
        """Parameters of a layer that tensor parallelism replicates: norms, row-parallel biases."""
        return 2 * self.norm_params + (2 * self.hidden if self.biases else 0)

    @property
    def layer_params(self) -> int:
        """Parameters of one layer; 12h² + 13h for a GPT."""
        gates = 2 if self.gated else 1
        columns = self.hidden + 2 * self.kv_width + gates * self.ffn_width if self.biases else 0
        return self.layer_matrix_params + columns + self.layer_vector_params

    @property
    def norm_params(self) -> int:
        """Parameters of one norm: a scale and, with biases, a shift."""
        return (2 if self.biases else 1) * self.hidden

    @property
    def vocab_params(self) -> int:
        """Parameters Vh of the embedding's matrix, or of the output layer's."""
        return self.vocab * self.hidden

    @property
    def position_params(self) -> int:
        """Parameters sh of learned positions, or 0."""
        return self.seq_len * self.hidden if self.learned_positions else 0

    @property
    def num_params(self) -> int:
        """All parameters."""
        matrices = 1 if self.tied else 2
        ends = matrices * self.vocab_params + self.position_params + self.norm_params
        return self.layers * self.layer_params + ends

    @property
    def layer_matrix_flops(self) -> float:
        """FLOPs of a layer's matrices for one token forward: two per weight."""
        return 2.0 * self.layer_matrix_params

    @property
    def layer_core_flops(self) -> float:
        """FLOPs of scores and weighted values for one token forward: 4sh, half of it if fused.

        Source: Narayanan et al., arXiv:2104.04473, appendix, counts all s² pairs, as its training
        code computed them; a fused causal kernel computes half.
        """
        return 4.0 * self.seq_len * self.hidden * (0.5 if self.flash_attention else 1.0)

    @property
    def output_flops(self) -> float:
        """FLOPs of the output layer for one token forward: 2hV."""
        return 2.0 * self.vocab_params

    @property
    def flops_per_token(self) -> float:
        """Model FLOPs of one token in training, forward and twice that backward.

        72lh²(1 + s/(6h) + V/(12lh)) for a GPT; what is computed again is not counted.

        Source: Narayanan et al., arXiv:2104.04473, appendix, without its recomputation.
        """
        layer = self.layer_matrix_flops + self.layer_core_flops
        return 3.0 * (self.layers * layer + self.output_flops)


def gpt_params(layers: int, hidden: int, vocab: int, seq_len: int) -> int:
    """Return the parameters of a GPT by the closed form: 12lh²(1 + 13/(12h) + (V + s)/(12lh)).

    Args:
        layers: transformer layers l ≥ 1.
        hidden: width h ≥ 1.
        vocab: vocabulary V ≥ 1.
        seq_len: positions s ≥ 1.

    Returns:
        The number, exact; `Model.num_params` has the 2h of the last norm besides.

    Raises:
        TypeError: if an argument is no integer.
        ValueError: if an argument is out of range.

    Example:
        >>> gpt_params(96, 12288, 51200, 2048)
        174615822336

    Source: Narayanan et al., arXiv:2104.04473, equation 2.
    """
    depth, width = size("layers", layers), size("hidden", hidden)
    ends = size("vocab", vocab) + size("seq_len", seq_len)
    return depth * (12 * width**2 + 13 * width) + ends * width


def llama_model(
    *,
    layers: int,
    hidden: int,
    num_heads: int,
    kv_heads: int,
    d_ff: int,
    vocab: int = 128256,
    seq_len: int = 8192,
) -> Model:
    """Return a model of the Llama kind.

    Gated MLP, grouped-query heads, RMS norms, no biases, no dropout, rotary positions, an output
    layer of its own, and fused causal attention.

    Args:
        layers: transformer layers.
        hidden: width.
        num_heads: query heads.
        kv_heads: key and value heads.
        d_ff: inner width of the MLP.
        vocab: rows of the embedding.
        seq_len: tokens in a sequence.

    Returns:
        The model.

    Raises:
        TypeError: if an argument is no integer.
        ValueError: if an argument is out of range or does not divide.

    Example:
        >>> llama_model(
        ...     layers=126, hidden=16384, num_heads=128, kv_heads=8, d_ff=53248
        ... ).num_params
        405853388800

    Source: Llama team, arXiv:2407.21783, table 3.
    """
    return Model(
        layers=layers,
        hidden=hidden,
        num_heads=num_heads,
        vocab=vocab,
        seq_len=seq_len,
        kv_heads=size("kv_heads", kv_heads),
        d_ff=size("d_ff", d_ff),
        gated=True,
        biases=False,
        learned_positions=False,
        tied=False,
        dropout=False,
        flash_attention=True,
    )
