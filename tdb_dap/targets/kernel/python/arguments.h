/* Arguments from Python taken apart; see plans/making.py and plans/sums.py. */

#ifndef TDB_DAP_PYTHON_ARGUMENTS_H
#define TDB_DAP_PYTHON_ARGUMENTS_H

#include "module.h"
#include "../plan/plan.h"

/* The address of an array without gaps, or a number as an address by itself; for PyArg_ParseTuple. */
int address_of(PyObject *given, void *address);

/* The arguments of a function over elements: its grid, its parameters, and last the result without gaps. */
int parsed_elements(int function, PyObject *args, Elements *e);

/* The tensors of a plan: for each its address, and its offset in memory, from an argument on. */
int parsed_addresses(const Plan *plan, PyObject *args, int first, int64_t *pointers, int64_t *offsets);

PyObject *py_plan(PyObject *self, PyObject *args);

#endif
