"""Cache lines that are asked for ahead of time, so that they have arrived when a loop needs them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, register_jitable

from vrspam.kernels.compiling import compiled

# Not a public part of Numba: without it nothing is asked for.
ir: Any = None
with suppress(ImportError):
    from llvmlite import ir  # type: ignore[import-untyped,no-redef]


def _prefetch_code(context, builder, signature, arguments):
    place = ir.IntType(8).as_pointer()
    size = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [place, size, size, size])
    function = builder.module.declare_intrinsic("llvm.prefetch", (place,), kind)
    # To be written, to be kept in all caches, and data, not code.
    builder.call(function, [builder.inttoptr(arguments[0], place), size(1), size(3), size(1)])
    return arguments[0]


def _prefetch_typed(typing_context, address):
    """Ask for the cache line at an address, without waiting for it."""
    return types.intp(types.intp), _prefetch_code


def _no_prefetch(address):
    return address


_prefetch: Any = register_jitable(_no_prefetch) if ir is None else intrinsic(_prefetch_typed)


@compiled
def fetch_row(X, i, work):
    """Ask for the lines of `work` that the lazy kernels will need for row i, so that they arrive before its step."""
    start, stride = np.intp(work.ctypes.data), np.intp(work.strides[0])
    for position in range(X.indptr[i], X.indptr[i + 1]):
        _prefetch(start + X.indices[position] * stride)


@compiled
def fetch_dense_row(X, i):
    """Ask for the lines of row i of an array."""
    start = X.ctypes.data + i * X.strides[0]
    for line in range(0, X.strides[0], 64):
        _prefetch(start + line)
