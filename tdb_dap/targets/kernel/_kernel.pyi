def interleaved(
    left: int,
    rows: int,
    image: int,
    taps: int,
    places: int,
    count: int,
    columns: int,
    first: int,
    last: int,
    even: int,
    odd: int,
    position: int,
    normal: bool,
    swapped: bool,
    /,
) -> None: ...
def grouped(
    left: int,
    rows: int,
    image: int,
    taps: int,
    places: int,
    count: int,
    columns: int,
    first: int,
    last: int,
    totals: int,
    size: int,
    narrow: bool,
    nan_wins: bool,
    /,
) -> None: ...
def weighted(
    image: int,
    weights: int,
    starts: int,
    taps: int,
    places: int,
    planes: int,
    plane: int,
    count: int,
    columns: int,
    format: int,
    result: int,
    /,
) -> None: ...
def elementwise(kind: int, a: int, b: int, result: int, count: int, /) -> None: ...
def subnormal(numbers: int, count: int, /) -> bool: ...
def widths() -> list[int]: ...
def choose(lanes: int, /) -> None: ...
