"""Schema of a profile, as other programs read it (``tdb-dap profile --report FILE.json``)."""

from __future__ import annotations

from typing import Literal

from tdb_dap.tools.report_schema import Reported


class EngineUse(Reported, frozen=True, kw_only=True):
    """One engine of a core. ``busy``: cycles in which it works; ``utilisation``: of the whole time, 0 to 1."""

    core: int
    engine: str
    commands: int
    busy: float
    utilisation: float


class OpTime(Reported, frozen=True, kw_only=True):
    """One op of final.mlir, with all its instances; line 0: commands that belong to no op.

    ``cores``: that execute it; ``tiu``, ``dma``: cycles of the engines; ``share``: of all cycles of all engines;
    ``operations``: additions and multiplications; ``read``, ``written``: bytes moved from and to memories outside of
    local memory; ``operations_rate``: operations per second while the TIU works on it, ``bandwidth``: bytes per second
    while the DMA does, None where the clock is not known; ``host``: milliseconds of this machine to simulate it, if it
    was run; ``expected``: cycles of all engines before anything was measured, None where nothing was.
    """

    line: int
    opcode: str
    name: str
    commands: int
    cores: tuple[int, ...]
    tiu: float
    dma: float
    share: float
    operations: int
    read: int
    written: int
    operations_rate: float | None
    bandwidth: float | None
    host: float | None = None
    expected: float | None = None


class MemoryUse(Reported, frozen=True, kw_only=True):
    """A memory over the run. ``size``: bytes there are (of a lane, for local memory), 0 where it is not limited.

    ``peak``: most bytes in use at a time, at command ``peak_ordinal``; ``fragmentation``: there, the share of the free
    bytes that is not in the largest gap; ``responsible``: (name, bytes) of what is in use there, largest first.
    """

    memory: str
    size: int
    peak: int
    peak_ordinal: int
    fragmentation: float
    responsible: tuple[tuple[str, int], ...]


class Comparison(Reported, frozen=True, kw_only=True):
    """Our estimates compared with the figures of the compiler, over the commands that have both.

    ``rank``: Spearman's correlation of the commands' cycles; ``ratio``: sum of ours over the sum of theirs; ``total``:
    cycles of the whole schedule made with ours over the one made with theirs. Of a measured run: what was expected, by
    the compiler or by us, compared with the board.
    """

    commands: int
    rank: float
    ratio: float
    total: float


class TokenTime(Reported, frozen=True, kw_only=True):
    """One token of a completion; the first is the prefill of the prompt.

    ``cycles``, ``milliseconds``: of the chip, None where its clock is not known; ``weights_read``: bytes of weights it
    loads; ``weights_share``: cycles of these loads over all cycles of the DMA; ``nets``, ``kinds``: share of each net
    and of each kind of op, of the token's cycles; ``seconds``: that this machine took.
    """

    token: int
    launches: int
    commands: int
    cycles: float
    milliseconds: float | None
    weights_read: int
    weights_share: float
    nets: dict[str, float]
    kinds: dict[str, float]
    seconds: float | None


class NetTime(Reported, frozen=True, kw_only=True):
    """One net, or all blocks of a kind. ``cycles``: of all engines; ``share``: of those of the completion."""

    net: str
    launches: int
    cycles: float
    share: float


class KindTime(Reported, frozen=True, kw_only=True):
    """All ops of a kind; the empty one: commands of no op. ``tiu``, ``dma``: cycles; ``share``: of all cycles."""

    opcode: str
    commands: int
    tiu: float
    dma: float
    share: float


class TokensProfile(Reported, frozen=True, kw_only=True):
    """A completion. ``rate``: tokens per second of the chip after the first; ``simulated_rate``: of this machine."""

    tokens: tuple[TokenTime, ...]
    nets: tuple[NetTime, ...]
    kinds: tuple[KindTime, ...]
    rate: float | None
    simulated_rate: float | None


class ProfileReport(Reported, frozen=True, kw_only=True):
    """A whole profile. ``cycles``: from the first command to the end of the last; ``given``: commands whose time is the
    compiler's own figure; ``unknown``: why no time is known of some commands; ``measured``: commands whose time was
    measured, in ``measured_in``; ``remarks``: what the reader of such times should know; ``tokens``: of a completion.
    """

    schema_version: Literal[1] = 1
    tool: str
    model: str
    chip: str
    net: str
    clock: float | None
    source: str
    cycles: float
    milliseconds: float | None
    operations: int
    read: int
    written: int
    commands: int
    given: int
    overlap: tuple[float, ...]
    engines: tuple[EngineUse, ...]
    ops: tuple[OpTime, ...]
    memories: tuple[MemoryUse, ...]
    unknown: tuple[str, ...] = ()
    comparison: Comparison | None = None
    measured: int = 0
    measured_in: str = ""
    remarks: tuple[str, ...] = ()
    expectation: Comparison | None = None
    tokens: TokensProfile | None = None
