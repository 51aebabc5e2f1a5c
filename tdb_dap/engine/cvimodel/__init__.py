"""Reading of .cvimodel files, the models of CV18xx: container, description and command streams."""

from tdb_dap.engine.cvimodel.file import Cvimodel, is_cvimodel

__all__ = ["Cvimodel", "is_cvimodel"]
