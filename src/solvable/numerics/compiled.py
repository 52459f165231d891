"""How this library compiles: one decorator, so that every kernel is kept on disk, frees the interpreter lock and follows IEEE
infinities.

Sums may be reordered and fused (that is what lets them run in vector registers), but NaN and infinity keep their meaning:
divergence is detected by them. `strict` kernels keep the order as written: the same bits whatever runs beside them. Give an
explicit signature to whatever is handed over as a function value.

Importing a module compiles nothing: a kernel is compiled, or loaded from disk, when it is first called or when another kernel
that is being compiled calls it. A `pure` kernel without machine code is interpreted at first (`interpreting.py`).
"""

import contextlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from numba.core import config, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature

from solvable.numerics.interpreting import MISSING, attempt
from solvable.numerics.kernel_types import KernelType
from solvable.numerics.kernels_on_disk import KernelCache, symbol_of
from solvable.numerics.linking import KernelCompiler
from solvable.numerics.waiting import Count, Named, Notice

PULSE = 0.05  # seconds between looks at what another process compiles
REORDER = {"contract", "reassoc", "nsz", "arcp"}


class Kernel(CPUDispatcher):
    """A function that is compiled at its first use: with its declared signature and no other, if it has one. An `inner` one, which
    has none, is for other kernels to call: it has no way in from Python, and is optimised with the entries that call it.
    Whoever calls it from Python all the same calls a copy that has one."""

    _can_compile: bool

    def __init__(
        self,
        py_func: Callable[..., Any],
        declared: Any,
        options: dict[str, Any],
        *,
        pure: bool = False,
        inner: bool = False,
    ) -> None:
        closed = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if inner else {}
        super().__init__(py_func, targetoptions={"nopython": True, "boundscheck": None, **options, **closed})
        self.declared, self.pure, self.inner, self._options = declared, pure, inner, options
        given = {"strict": not options["fastmath"], "inline": options["forceinline"], "allocates": options["_nrt"]}
        self.made_by = " ".join(f"{name}={value}" for name, value in {**given, "inner": inner}.items())
        self._compiler: Any = KernelCompiler(self._compiler, self)
        self._cache = KernelCache(self, _missed)

    @cached_property
    def _numba_type_(self) -> types.Type:  # type: ignore[override]
        return KernelType(self) if self.inner else types.Dispatcher(self)

    @cached_property
    def address(self) -> int:
        """Of the machine code for the declared signature."""
        found = self.get_compile_result(self.declared)
        return int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))

    @cached_property
    def from_python(self) -> "Kernel":
        """The same kernel with a way in."""
        return Kernel(self.py_func, self.declared, self._options)

    def of(self, function: Callable[..., Any]) -> "Kernel":
        """Return another function as a kernel with the signature and the options of this one."""
        return Kernel(function, self.declared, self._options, pure=self.pure, inner=self.inner)

    def __call__(self, *args: Any) -> Any:
        if self.inner:
            return self.from_python(*args)
        if self.pure and not self.overloads:
            result = attempt(self, args)
            if result is not MISSING:
                return result
        return super().__call__(*args)

    def compile(self, sig: Any) -> Any:
        if getattr(config, "DISABLE_JIT", False):
            raise ValueError("NUMBA_DISABLE_JIT: is set, so that nothing can be compiled; unset it")
        with global_compiler_lock:
            arguments, _ = normalize_signature(sig)  # type: ignore[no-untyped-call]
            if arguments in self.overloads:
                return super().compile(sig)
            with _NOTICE.around(self), self._alone(sig), warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", NumbaExperimentalFeatureWarning
                )  # functions as values are what we rely on
                return super().compile(sig)

    @contextlib.contextmanager
    def _alone(self, sig: Any) -> Iterator[None]:
        """Within it no other process compiles the same; what it may have compiled meanwhile is on disk."""
        with self._cache.alone(sig, self.targetctx, lambda: _wait(self)):
            _NOTICE.awaited = ""
            yield

    def symbol_for(self, arguments: Any) -> str:
        """Return what tells its code, with these types of arguments, from all other code in every process."""
        return symbol_of(self, arguments)

    def file_for(self, signature: Any) -> str | None:
        """Return the name of the file with the machine code for a signature; None where it is kept with whoever calls it."""
        return self._cache.file_for(signature)

    def settle(self) -> None:
        """Compile the declared signature now, or load it."""
        if self.declared is not None and self._can_compile:
            with global_compiler_lock:
                if self._can_compile:  # no other thread was first
                    self.compile(self.declared)
                    self.disable_compile()

    @property
    def at_hand(self) -> bool:
        """Whether machine code for the declared signature is in memory or on disk."""
        return bool(self.overloads) or self._cache.find(self.declared, self.targetctx) is not None

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        if self.declared is None or not self._can_compile:
            return super()._compile_for_args(*args, **kws)  # type: ignore[misc]
        self.settle()
        return super().__call__  # which Numba calls next, with the same arguments

    def get_call_template(self, args: Any, kws: Any) -> Any:
        self.settle()
        return super().get_call_template(args, kws)

    def get_compile_result(self, sig: Any) -> Any:
        self.settle()
        return super().get_compile_result(sig)

    def get_function_type(self) -> Any:
        self.settle()
        return super().get_function_type()

    def __reduce__(self) -> Any:  # kernels live in modules
        return _kernel, (self.py_func.__module__, self.py_func.__name__)


def _kernel(module: str, name: str) -> Any:
    import importlib

    return getattr(importlib.import_module(module), name)


def compiled(
    signature: Any = None,
    *,
    strict: bool = False,
    inline: bool = False,
    pure: bool = False,
    allocates: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """`inline` puts the machine code into whatever calls it, however long: for what runs once per sample. `pure` says that the
    kernel reads its inputs and fills its outputs, so that a call may be broken off and begun again, and that plain Python
    understands it. A kernel that `allocates` makes arrays of its own; all others go without the counting of references, which
    would be up to two thirds of the time of a small right-hand side."""
    options: dict[str, Any] = {
        "error_model": "numpy",
        "nogil": True,
        "fastmath": False if strict else REORDER,
        "_nrt": allocates,
        "forceinline": inline,  # said for all, because kernels would take it from whoever calls them first
    }
    return lambda function: Kernel(function, signature, options, pure=pure, inner=signature is None)


LISTENERS: list[Callable[[], None]] = []  # called before each kernel that this process compiles
_NOTICE = Notice()


def announce(whether: bool) -> None:
    """Whether this process shows that it compiles. Others of a pool may have said so."""
    _NOTICE.reset(wanted=whether)


def how_far() -> str:
    """Return how far this process is with what it compiles now, in words; "" if it compiles nothing."""
    return _NOTICE.now()


def tell(write: Callable[[Count, str], None]) -> None:
    """Have `write` called a few times a second with how far the compiler is, in place of a bar."""
    _NOTICE.tell(write)


def expect(*kernels: Any) -> None:
    """Note which kernels a run is going to call, so that whoever waits sees how many are left. What is none does not count."""
    _NOTICE.expect(tuple(kernel for kernel in kernels if isinstance(kernel, Kernel)))


def entries_of(run: Callable[[], Any]) -> tuple[Kernel, ...]:
    """Return the kernels that a run says it is going to call (`expect`), without the run."""
    _NOTICE.named = ()
    try:
        run()
    except Named:
        pass
    finally:
        entries, _NOTICE.named = _NOTICE.named, None
    return entries


def expect_always(kernels: Iterable[Kernel]) -> None:
    """Note which kernels this process is going to call in all its runs together."""
    _NOTICE.always = tuple(dict.fromkeys(kernels))


def _missed(_: Kernel) -> None:
    _NOTICE.give()
    for listener in LISTENERS:
        listener()


def _wait(kernel: Kernel) -> None:
    """Another process compiles a kernel: look again a little later."""
    _NOTICE.awaited = kernel.py_func.__name__
    _missed(kernel)
    time.sleep(PULSE)
