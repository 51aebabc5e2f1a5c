/* Where the numbers of an array lie, asked of NumPy. */

/* NumPy's own description of an array, __array_struct__: it is as old as NumPy, and no interface of Python's has to be
 * newer than what the limited API has. https://numpy.org/doc/stable/reference/arrays.interface.html */
typedef struct {
    int two, axes;
    char kind;
    int itemsize, flags;
    Py_ssize_t *shape, *strides;
    void *data;
    PyObject *description;
} ArrayInterface;

enum { C_CONTIGUOUS = 0x1, ALIGNED = 0x100 };

/* Copies the description of an array, which lives as long as it; the axes are in ``capsule``, to be given back. */
static int described(PyObject *array, ArrayInterface *found, PyObject **capsule)
{
    *capsule = PyObject_GetAttrString(array, "__array_struct__");
    const ArrayInterface *own = *capsule ? PyCapsule_GetPointer(*capsule, NULL) : NULL;
    if (!own) {
        Py_CLEAR(*capsule);
        return 0;
    }
    *found = *own;
    return 1;
}

/* Where an array without gaps lies; a number is an address by itself. */
static int address_of(PyObject *given, void *address)
{
    unsigned long long *out = address;
    if (PyLong_Check(given)) {
        *out = PyLong_AsUnsignedLongLong(given);
        return !PyErr_Occurred();
    }
    ArrayInterface array;
    PyObject *capsule;
    if (!described(given, &array, &capsule))
        return 0;
    Py_DECREF(capsule);
    if (!(array.flags & C_CONTIGUOUS)) {
        PyErr_SetString(PyExc_TypeError, "an array with gaps");
        return 0;
    }
    *out = (unsigned long long)(uintptr_t)array.data;
    return 1;
}
