"""Eight numbers at once: a vector type for compiled code, so that a kernel that reads like scalar code advances eight runs.

`LANES` holds eight float64, `WORDS` eight uint64. Every operation acts on each lane by itself and rounds as IEEE says, so
what a lane computes does not depend on its neighbours. In memory, slot i of a flat array is [8 i, 8 i + 8).
"""

import hashlib
import operator
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

SOURCE = hashlib.sha256(
    Path(__file__).read_bytes()
).hexdigest()  # as it was imported: machine code of kernels depends on it
WIDTH = 8
_INDEX = ir.IntType(32)


def slots(count: int) -> np.ndarray:
    """Zeros for so many slots, each on a cache line of its own."""
    room = np.zeros((count + 1) * WIDTH)
    begin = -room.ctypes.data // room.itemsize % WIDTH
    return room[begin : begin + count * WIDTH]


class LaneType(types.Type):
    def __init__(self, name: str, element: Any, vector: Any) -> None:
        self.element, self.vector = element, vector
        super().__init__(name=name)


LANES = LaneType("Lanes", types.float64, ir.VectorType(ir.DoubleType(), WIDTH))
WORDS = LaneType("Words", types.uint64, ir.VectorType(ir.IntType(64), WIDTH))


@register_model(LaneType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, lane_type):
        super().__init__(manager, lane_type, lane_type.vector)


def _address(context, builder, signature, arguments, vector, unit):
    """Of place `arguments[1]`, counted in so many numbers, in the array `arguments[0]`."""
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    place = context.cast(builder, arguments[1], signature.args[1], types.int64)
    at = builder.gep(data, [builder.mul(place, ir.Constant(ir.IntType(64), unit))])
    return builder.bitcast(at, vector.as_pointer())


def _loading(unit):
    def typed(typingctx, array, place):
        kind = LANES if array.dtype == types.float64 else WORDS

        def codegen(context, builder, signature, arguments):
            return builder.load(_address(context, builder, signature, arguments, kind.vector, unit), align=8)

        return kind(array, place), codegen

    return typed


def _storing(unit):
    def typed(typingctx, array, place, value):
        def codegen(context, builder, signature, arguments):
            address = _address(context, builder, signature, arguments, value.vector, unit)
            builder.store(arguments[2], address, align=8)
            return context.get_dummy_value()

        return types.void(array, place, value), codegen

    return typed


@intrinsic
def load(typingctx, array, slot):
    """The numbers of a slot."""
    return _loading(WIDTH)(typingctx, array, slot)


@intrinsic
def store(typingctx, array, slot, value):
    return _storing(WIDTH)(typingctx, array, slot, value)


@intrinsic
def load_at(typingctx, array, place):
    """Eight numbers from a place on."""
    return _loading(1)(typingctx, array, place)


@intrinsic
def store_at(typingctx, array, place, value):
    return _storing(1)(typingctx, array, place, value)


@intrinsic
def flat(typingctx, array):
    """All numbers of an array without gaps, as one row: Numba's own way looks at strides each time."""
    row = types.Array(array.dtype, 1, "C")

    def codegen(context, builder, signature, arguments):
        given = context.make_array(signature.args[0])(context, builder, arguments[0])
        made = context.make_array(row)(context, builder)
        fields = {name: getattr(given, name) for name in ("data", "itemsize", "nitems", "meminfo", "parent")}
        for name, value in fields.items():
            setattr(made, name, value)
        made.shape = cgutils.pack_array(builder, [given.nitems])
        made.strides = cgutils.pack_array(builder, [given.itemsize])
        return made._getvalue()

    return row(array), codegen


@intrinsic
def fill(typingctx, value):
    """The same number in every lane."""
    kind = WORDS if isinstance(value, types.Integer) else LANES

    def codegen(context, builder, signature, arguments):
        return _filled(context, builder, signature.args[0], arguments[0], kind)

    return kind(value), codegen


def _filled(context, builder, given, value, kind):
    number = context.cast(builder, value, given, kind.element)
    nothing = ir.Constant(kind.vector, ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_INDEX, WIDTH), [0] * WIDTH))


def _named(name, arity):
    """A vector instruction of LLVM with `arity` arguments."""

    def codegen(context, builder, signature, arguments):
        kind = ir.FunctionType(LANES.vector, [LANES.vector] * arity)
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{WIDTH}f64")
        return builder.call(function, arguments)

    return codegen


@intrinsic
def fma(typingctx, a, b, c):
    """a b + c, rounded once."""
    return LANES(LANES, LANES, LANES), _named("fma", 3)


@intrinsic
def root(typingctx, a):
    return LANES(LANES), _named("sqrt", 1)


@intrinsic
def where_above(typingctx, x, y, a, b):
    """a where x > y, else b (also where x or y is NaN)."""

    def codegen(context, builder, signature, arguments):
        return builder.select(builder.fcmp_ordered(">", *arguments[:2]), *arguments[2:])

    return LANES(LANES, LANES, LANES, LANES), codegen


@intrinsic
def any_above(typingctx, x, y):
    """Whether x > y in some lane."""

    def codegen(context, builder, signature, arguments):
        mask = builder.bitcast(builder.fcmp_ordered(">", *arguments), ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", mask, ir.Constant(ir.IntType(WIDTH), 0))

    return types.boolean(LANES, LANES), codegen


@intrinsic
def as_words(typingctx, a):
    """The bits of eight numbers."""
    return WORDS(LANES), lambda context, builder, signature, arguments: builder.bitcast(arguments[0], WORDS.vector)


@intrinsic
def as_lanes(typingctx, a):
    return LANES(WORDS), lambda context, builder, signature, arguments: builder.bitcast(arguments[0], LANES.vector)


@intrinsic
def get(typingctx, a, lane):
    def codegen(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], builder.trunc(arguments[1], _INDEX))

    return a.element(a, types.int64), codegen


@intrinsic
def put(typingctx, a, lane, value):
    """`a` with another value in one lane."""

    def codegen(context, builder, signature, arguments):
        return builder.insert_element(arguments[0], arguments[2], builder.trunc(arguments[1], _INDEX))

    return a(a, types.int64, a.element), codegen


def _operator(symbol, instructions):
    """Give kinds of lanes an operator, by the name of its instruction; a plain number beside lanes stands for all of them."""

    def kind_of(a, b):
        kind = a if isinstance(a, LaneType) else b
        fits = kind in instructions and all(one is kind or isinstance(one, PLAIN[kind]) for one in (a, b))
        return kind if fits else None

    @type_callable(symbol)
    def result(context):
        return lambda a, b: kind_of(a, b)

    def lower(context, builder, signature, arguments):
        kind = kind_of(*signature.args)
        lanes = [
            value if given is kind else _filled(context, builder, given, value, kind)
            for given, value in zip(signature.args, arguments, strict=True)
        ]
        return getattr(builder, instructions[kind])(*lanes)

    for first, second in [(LaneType, LaneType), (LaneType, types.Number), (types.Number, LaneType)]:
        lower_builtin(symbol, first, second)(lower)


PLAIN = {LANES: types.Float, WORDS: types.Integer}
_operator(operator.add, {LANES: "fadd", WORDS: "add"})
_operator(operator.sub, {LANES: "fsub", WORDS: "sub"})
_operator(operator.mul, {LANES: "fmul"})
_operator(operator.truediv, {LANES: "fdiv"})
_operator(operator.xor, {WORDS: "xor"})
_operator(operator.or_, {WORDS: "or_"})
_operator(operator.and_, {WORDS: "and_"})
_operator(operator.lshift, {WORDS: "shl"})
_operator(operator.rshift, {WORDS: "lshr"})
