"""Add an instruction: ``lin.scale`` of BM1684X, input * a per channel."""

from __future__ import annotations

from scripts.recipes.recipe import Change, Recipe

_ISA = "tdb_dap/targets/isa"
_FIELDS = """
   "2": {
    "refused": [],
    "without effect": [
     "opd2_addr",
     "opd2_const"
    ]
   },"""
_SEMANTICS = '''@semantics("lin", op.SCALE)
def scale(x: Operation) -> Array:
    """round(input * a)."""
    dtype = x["input"].dtype
    numbers, a = (float32.operand(x[name].numbers, dtype) for name in ("input", "a"))
    return calculated(float32.product_in(numbers, a, dtype), x.dtype)


'''

INSTRUCTION = Recipe(
    "Add an instruction",
    (
        Change(1, f"{_ISA}/bm1684x.json", '\n    [0,10,2,"LIN","lin.scale"],', ('[0,10,1,"LIN","lin.mac"],',)),
        Change(1, f"{_ISA}/bm1684x.json", '\n    [1,10,2,"sLIN","lin.scale"],', ('[1,10,1,"sLIN","lin.mac"],',)),
        Change(2, "tdb_dap/targets/families/linear.py", "\nSCALE = 2", ("= 1, 20, 21",)),
        Change(
            3,
            "tdb_dap/targets/semantics/linear.py",
            _SEMANTICS,
            ("import Operation, semantics\n\n\n",),
        ),
        Change(4, f"{_ISA}/field_use.json", _FIELDS, ('"bm1684x": {', '"sLIN": {')),
    ),
    {"CHIP": "bm1684x"},
    {"tdb-dap targets --forms bm1684x": "lin.scale"},
    {"python -m scripts.robustness": "needs the vendor's simulator, which does not have this instruction"},
)
