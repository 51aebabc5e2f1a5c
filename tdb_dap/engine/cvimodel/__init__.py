"""Reading of .cvimodel files, the models of CV18xx: container, description and arguments of host functions."""

from tdb_dap.engine.cvimodel.file import Cvimodel, is_cvimodel
from tdb_dap.engine.cvimodel.metadata import read_cvimodel

__all__ = ["Cvimodel", "is_cvimodel", "read_cvimodel"]
