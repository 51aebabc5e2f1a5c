"""Instructions of BM1684 that no compiled model holds. Written from the fields all types share."""

from __future__ import annotations

from tdb_dap.targets.declaration.family import Shape, family
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.bm1684.rows import any_sign, word_result, words

_FIRST: Shape = ("opd0_n", "opd0_c", "opd0_h", "opd0_w")
_SECOND: Shape = ("opd1_n", "opd1_c", "opd1_h", "opd1_w")


def _has_second(f: Fields) -> bool:
    return f.tsk_opd_num > 1


@family("bm1684.mm2", registers=("mm2_op",), evidence="fields")
class MatrixMultiply2:
    """Product of two matrices stored as tensors."""

    left = words("opd0", _FIRST, stored=True)
    right = words("opd1", _SECOND, stored=True, when=_has_second)
    result = word_result(stored=True, sign=any_sign)
    vendor_text = "matrix multiply2"


@family("bm1684.correlation", registers=("cc_op",), evidence="fields")
class Correlation:
    """A tensor correlated with another as its kernel, with the operation of the sub type."""

    left = words("opd0", _FIRST, stored=True)
    kernel = words("opd1", _SECOND, stored=True, when=_has_second)
    result = word_result(stored=True, sign=any_sign)
    vendor_text = "convolution correlation"


@family("bm1684.sum", registers=("md_sum_op",), evidence="fields")
class Sum:
    """Sum over the axes in which the result has one element."""

    input = words("opd0", _FIRST, stored=True)
    result = word_result(stored=True, sign=any_sign)
    vendor_text = "md sum"


@family("bm1684.arrange", registers=("lma_op",), evidence="fields")
class Arrange:
    """A tensor of local memory in another arrangement."""

    input = words("opd0", _FIRST, stored=True, constant=False)
    result = word_result(stored=True, sign=any_sign)
    vendor_text = "local memory arrangement"


@family("bm1684.decompress", registers=("decompress_op",), evidence="fields")
class Decompress:
    """A compressed tensor of local memory to a plain one."""

    input = words("opd0", _FIRST, stored=True, constant=False)
    result = word_result(stored=True, sign=any_sign)
    vendor_text = "decompress"


@family("bm1684.vector", registers=("vc_op",), evidence="fields")
class VectorOperation:
    """result[i, j] = left[i] (operation) right[j]; the left one is cut into blocks of columns, one lane each."""

    left = words("opd0", (1, "opd0_c", 1, "opd0_w"), stored=True, constant=False)
    right = words("opd1", (1, "res0_c", 1, "res0_w"), stored=True, constant=False)
    result = word_result(stored=True, sign=any_sign)
    vendor_text = "vector correlation"
