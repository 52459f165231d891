"""How kernels are handed to kernels: inner ones by their type, declared ones by their address; and how one is kept apart."""

from typing import Any

from numba.core import cgutils, types
from numba.core.imputils import lower_constant
from numba.experimental.function_type import FunctionModel
from numba.extending import NativeValue, lower_builtin, models, register_model, type_callable, unbox


class KernelType(types.Dispatcher):
    """An inner kernel as an argument of another: its type says which one it is, so that calls are specialised when they are
    compiled and nothing is left to hand over. Numba's own type hands over an address, with which nothing can be kept on disk."""


register_model(KernelType)(models.OpaqueModel)


@lower_constant(KernelType)
def _nothing(context: Any, builder: Any, kind: Any, kernel: Any) -> Any:
    return context.get_constant_null(kind)


class Function(types.FunctionType):
    """A declared kernel as an argument, `Function(signature)`: handed over by its address. Numba's own type reads its signature
    from text each time, which takes as long as a hundred right-hand sides."""


register_model(Function)(FunctionModel)


@unbox(Function)
def _by_address(kind: Any, kernel: Any, c: Any) -> NativeValue:
    made = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    address = c.pyapi.object_getattr_string(kernel, "address")
    with c.builder.if_then(cgutils.is_null(c.builder, address), likely=False):
        c.builder.ret(c.pyapi.get_null_object())
    made.jit_addr = made.c_addr = c.pyapi.long_as_voidptr(address)
    made.py_addr = c.builder.ptrtoint(kernel, c.context.get_value_type(types.voidptr))
    c.pyapi.decref(address)
    return NativeValue(made._getvalue())


def apart() -> None:
    """Called within a kernel: its machine code is not put into whatever calls it. For long ones that are called at several places,
    which would each be compiled again."""


@type_callable(apart)
def _type_of_apart(context: Any) -> Any:
    return lambda: types.none


@lower_builtin(apart)
def _set_apart(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.function.attributes.discard("alwaysinline")  # which kernels inherit from those that call them
    builder.function.attributes.add("noinline")
    return context.get_dummy_value()
