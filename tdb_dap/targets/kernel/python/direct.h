/* Direct calls of single functions. */

#ifndef TDB_DAP_PYTHON_DIRECT_H
#define TDB_DAP_PYTHON_DIRECT_H

#include "module.h"

PyObject *py_converted(PyObject *self, PyObject *args);
PyObject *py_divided(PyObject *self, PyObject *args);
PyObject *py_elementwise(PyObject *self, PyObject *args);
PyObject *py_exponents(PyObject *self, PyObject *args);
PyObject *py_floats_of(PyObject *self, PyObject *args);
PyObject *py_grouped(PyObject *self, PyObject *args);
PyObject *py_interleaved(PyObject *self, PyObject *args);
PyObject *py_looked_up(PyObject *self, PyObject *args);
PyObject *py_packed(PyObject *self, PyObject *args);
PyObject *py_reciprocal_roots(PyObject *self, PyObject *args);
PyObject *py_selected(PyObject *self, PyObject *args);
PyObject *py_series(PyObject *self, PyObject *args);
PyObject *py_subnormal(PyObject *self, PyObject *args);
PyObject *py_weighted(PyObject *self, PyObject *args);
PyObject *py_whole(PyObject *self, PyObject *args);
PyObject *py_whole_of(PyObject *self, PyObject *args);
PyObject *py_whole_windows(PyObject *self, PyObject *args);

#endif
