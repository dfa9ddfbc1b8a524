"""Which submissions look as if one was made from another: evidence for a human, never a verdict."""

from shardwise_grading.similarity.pages import write_pages
from shardwise_grading.similarity.pairs import Pair, Similarities, compare
from shardwise_grading.similarity.report import similar, to_json
from shardwise_grading.similarity.shared import Group
from shardwise_grading.similarity.table import table

__all__ = ["Group", "Pair", "Similarities", "compare", "similar", "table", "to_json", "write_pages"]
