"""Tables of the store as other programs see them."""

from __future__ import annotations

COLUMNS = {
    "runs": ("id", "name", "started", "ended", "tool", "fingerprint", "cases"),
    "cases": (
        "id",
        "run",
        "key",
        "model",
        "chip",
        "precision",
        "status",
        "text",
        "digest",
        "seconds",
        "megabytes",
        "worker",
        "ended",
        "versions",
        "command",
        "steps",
    ),
    "ops": (
        "id",
        "case_id",
        "line",
        "opcode",
        "name",
        "verdict",
        "cosine",
        "euclidean",
        "max_abs",
        "cycles",
        "hash",
        "picture",
    ),
    "findings": ("id", "case_id", "ask", "fingerprint", "rule", "text"),
}
"""Table -> its columns."""
