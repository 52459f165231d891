"""How kernels are put together: an inner kernel waits to be linked, and is optimised once, with each entry that calls it.

Numba optimises a function with all that it calls and turns the result into machine code, at every level of a tree of calls: an
inner kernel at depth five would be optimised six times, and its own machine code is never run. Here the code of an inner kernel
stays as it was lowered (`InnerLibrary`), and an entry links everything that it reaches, directly or not, before it is optimised
(`EntryLibrary`). That takes about half the time.

On disk an inner kernel is its own code and the names of the files of those that it calls. What has no file of its own (Numba's
functions, kernels that take kernels) is part of whoever calls it.

Machine code must not depend on what was on disk when it was made, so that bits do not: kernels are linked in an order that
follows from their files' names, and a symbol is named by the digest of its kernel, never by a count of this process. So files that
different processes have made fit together, and no two kernels share a symbol.
"""

from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from numba.core import compiler, types
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.environment import lookup_environment
from numba.core.untyped_passes import ExtractByteCode

ENVIRONMENT = "_ZN08NumbaEnv"  # how names begin of the variables that hold what raises errors
OPTIMISED: list[str] = []  # names of the entries that the compiler optimises now, the last one in particular
INNER = "inner"  # the kind of a serialised library, beside Numba's own


class InnerLibrary(JITCodeLibrary):
    """The code of one kernel that others call, neither optimised as a whole nor turned into machine code."""

    def __init__(self, codegen: Any, name: str, file: str | None) -> None:
        super().__init__(codegen, name)
        self.file = file  # its name on disk, if it is kept there
        self.environments: tuple[Any, ...] = ()  # which live as long as the code that names them

    @property
    def codegen(self) -> Any:
        """Return itself: `set_env` is all that Numba asks for, and only entries have variables to set."""
        return self

    def set_env(self, name: str, environment: Any) -> None:  # noqa: ARG002
        """Keep an environment for the entries that will link this code."""
        self.environments += (environment,)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        if self.file is not None:
            self._linking_libraries = link_nameless(self._final_module, self._linking_libraries)
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"  # may be defined more than once in what links it
        self._final_module = as_read(self._final_module)
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the code with all that it reaches, for Numba's own libraries: a user's function may call an inner kernel."""
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            for library in reached(link_nameless(self._shared_module, self._linking_libraries)):
                self._shared_module.link_in(module_of(library), preserve=True)
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """Return 0: nothing of it has an address."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, tuple[str, ...]]]:
        """Return the name, the kind, and the code with the names of the files that hold the rest."""
        files = tuple(file for library in self._linking_libraries if (file := file_of(library)) is not None)
        return self.name, INNER, (self._final_module.as_bitcode(), files)


class EntryLibrary(JITCodeLibrary):
    """The code of a kernel that Python or other machine code calls by its address."""

    def __init__(self, codegen: Any, name: str, file: str | None) -> None:
        super().__init__(codegen, name)
        self.file = file

    def _finalize_final_module(self) -> None:
        functions = self._final_module.functions
        missing = [function.name for function in functions if function.is_declaration and "_ZN" in function.name[:4]]
        if missing:  # which would end the process when it is called
            raise RuntimeError(f"{self.name}: not linked with {', '.join(missing)}")
        super()._finalize_final_module()

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = as_read(super()._get_module_for_linking())
        return self._shared_module

    def finalize(self) -> None:
        for library in reached(link_nameless(self._final_module, self._linking_libraries)):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(module_of(library), preserve=True)
        self._linking_libraries = []
        OPTIMISED.append(self.name)
        try:
            super().finalize()
        finally:
            OPTIMISED.pop()
        codegen: Any = self._codegen
        for variable in self._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT) and (environment := lookup_environment(variable.name)) is not None:
                codegen.set_env(variable.name, environment)


def as_read(module: Any) -> Any:
    """Return a module as it is read from disk: in memory it also has the order in which values came to be used, which the optimiser
    goes by."""
    return llvm.parse_bitcode(module.as_bitcode())


def module_of(library: Any) -> Any:
    """Return the code of one library, that of an inner one without what it calls."""
    return library._final_module if isinstance(library, InnerLibrary) else library._get_module_for_linking()


def file_of(library: Any) -> str | None:
    """Return the name of the file from which a library can be read again, if it has one."""
    return getattr(library, "file", None)


def link_nameless(module: Any, libraries: Iterable[Any]) -> list[Any]:
    """Link a module with those of some libraries that have no file, and with all of that kind that they reach; return the libraries
    with files that these and those name, in the order of their names."""
    nameless: dict[Any, None] = {}
    named: dict[str, Any] = {}
    waiting = list(libraries)[::-1]
    while waiting:
        library = waiting.pop()
        if (file := file_of(library)) is not None:
            named[file] = library
        elif library not in nameless:
            nameless[library] = None
            waiting += library._linking_libraries[::-1] if isinstance(library, InnerLibrary) else ()
    for library in reached(nameless):
        if library in nameless:
            module.link_in(module_of(library), preserve=True)
    return [named[file] for file in sorted(named)]


def reached(libraries: Iterable[Any]) -> list[Any]:
    """Return libraries and, through inner ones, all that they are linked with: each once, after all that call it.

    The order matters: a function that nothing refers to yet is left out when its library is linked.
    """
    met: set[Any] = set()
    callees_first: list[Any] = []

    def visit(library: Any) -> None:
        key = file_of(library) or library  # made here and read from disk it is the same
        if key not in met:
            met.add(key)
            if isinstance(library, InnerLibrary):
                visit_all(library._linking_libraries)
            callees_first.append(library)

    def visit_all(some: Iterable[Any]) -> None:
        for library in some:
            visit(library)

    visit_all(libraries)
    return callees_first[::-1]


class Flags(compiler.Flags):
    """Numba's options of one compilation, compared quickly: they are part of the key of every lookup of an operator's type."""

    __slots__ = ()

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Flags):
            return self is other or self._values == other._values
        return super().__eq__(other)

    def get_mangle_string(self) -> str:
        """Return nothing for the names of symbols: the digests in them cover options, whose text has the order of a set."""
        return ""


_HASH = hash(compiler.Flags())  # made of the names of options alone, and so the same for all


class _Pipeline(compiler.Compiler):
    """Numba's way to compile a function, whose symbols are named by what it is made of, not by how many were compiled before."""

    def compile_extra(self, func: Any) -> Any:
        self.state.func_id = identity = FunctionIdentity.from_function(func)
        identity.unique_id, identity.unique_name = 0, identity.func_qualname
        ExtractByteCode().run_pass(self.state)
        self.state.lifted, self.state.lifted_from = (), None
        return self._compile_bytecode()


class KernelCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Numba's compiler of one kernel."""

    def __init__(self, made: Any, kernel: Any) -> None:
        super().__init__(made.py_func, made.targetdescr, made.targetoptions, made.locals, _Pipeline)
        self._kernel = kernel

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        kernel, flags = self._kernel, Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        context = self.targetdescr.target_context
        file = kernel.file_for(tuple(args) if kernel.declared is None else kernel.declared)
        library_class = InnerLibrary if kernel.inner else EntryLibrary
        library = library_class(context.codegen(), self.py_func.__qualname__, file)
        library.enable_object_caching()
        return compiler.compile_extra(
            self.targetdescr.typing_context,
            context,
            _renamed(self.py_func, kernel.symbol_for(args)),
            args=args,
            return_type=return_type,
            flags=flags,
            locals=self.locals,
            library=library,
            pipeline_class=self.pipeline_class,
        )


def _renamed(function: Any, symbol: str) -> FunctionType:
    """Return a function under a name that no other kernel has."""
    code, names, defaults = function.__code__, function.__globals__, function.__defaults__
    copy = FunctionType(code, names, function.__name__, defaults, function.__closure__)
    copy.__module__, copy.__qualname__ = function.__module__, f"{function.__qualname__}_{symbol}"
    return copy


def rebuilt(context: Any, file: str, read: Callable[[str], tuple[Any, ...]]) -> CompileResult:
    """Return what a file holds as Numba's result of a compilation; `read` gives the parts of a file of this name."""
    parts = read(file)
    (_, kind, _), description, environment, signature, *_ = parts
    if kind != INNER:
        result = CompileResult._rebuild(context, *parts)
        result.library.file = file
        return result
    library = _linked_from(context, file, read)
    fields = dict.fromkeys(CompileResult._fields) | {
        "target_context": context,
        "typing_context": context.typing_context,
        "library": library,
        "environment": environment,
        "entry_point": context.get_executable(library, description, environment),
        "fndesc": description,
        "signature": signature,
        "objectmode": False,
        "lifted": (),
        "reload_init": (),
    }
    return CompileResult(**fields)


_LINKED: dict[str, InnerLibrary] = {}  # by file: read once for all that link them


def _linked_from(context: Any, file: str, read: Callable[[str], tuple[Any, ...]]) -> InnerLibrary:
    """Return the code of an inner kernel, or of an entry that is called by its name, as a library to be linked."""
    if (library := _LINKED.get(file)) is not None:
        return library
    (name, kind, data), _, environment, *_, environments = read(file)
    bitcode, needed = data if kind == INNER else (data[1], ())
    library = InnerLibrary(context.codegen(), name, file)
    library._final_module = llvm.parse_bitcode(bitcode)
    for part in needed:
        library.add_linking_library(_linked_from(context, part, read))
    library.environments = (environment, *environments)
    library.finalize()
    _LINKED[file] = library
    return library


def kernels_among(signature: Any) -> Iterator[Any]:
    """Yield the kernels among the arguments. With them a kernel is kept on disk only as a part of whoever calls it."""
    for part in getattr(signature, "args", signature):
        if isinstance(part, types.Dispatcher):
            yield part.dispatcher
        elif isinstance(part, types.BaseTuple):
            members: Any = part
            yield from kernels_among(tuple(members))


def names_kernels(signature: Any) -> bool:
    """Tell whether kernels are among the arguments."""
    return next(kernels_among(signature), None) is not None
