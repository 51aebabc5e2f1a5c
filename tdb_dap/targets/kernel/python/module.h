/* The limited API of CPython, for all units that use it. */

#ifndef TDB_DAP_PYTHON_MODULE_H
#define TDB_DAP_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#endif
