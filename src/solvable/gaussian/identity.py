"""Which function it is: a digest of its code and of all that the code reaches, the same in every process.

Two functions that agree wherever anyone looked may still differ elsewhere, so values are no identity. What counts: bytecode and
constants with those of inner functions, defaults, closures, attributes, the globals that are named, functions of one's own that are
called, and the versions of packages that are called into. What does not: names of files and local variables, lines, comments, the
docstring. Bytecode differs between versions of Python, and so does the digest.
"""

import builtins
import dis
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

LARGEST = 20_000  # values that are looked at for one function
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)
_NAMED = (
    types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType, types.MethodWrapperType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip
_HOUSEKEEPING = {
    "__annotations__", "__abstractmethods__", "__dict__", "__doc__", "__firstlineno__", "__match_args__", "__module__",
    "__qualname__", "__static_attributes__", "__weakref__", "_abc_impl", "__dataclass_fields__", "__dataclass_params__",
    "__annotate__", "__annotate_func__", "__annotations_cache__", "__orig_bases__", "__parameters__",
}  # fmt: skip


_UNFOLLOWED = {"vars", "__dict__", "__getattribute__"}  # by which modules are read without names
HIDDEN = {"eval", "exec", "globals"}  # by which a function reaches what it does not name


class Unreadable(ValueError):
    """A function whose code, or something that its code reaches, cannot be read."""


def code_of(*functions: Callable[..., Any]) -> str:
    """A digest of the code of functions; raises Unreadable, with the reason."""
    try:
        parts = _parts(functions)
    except RecursionError:
        raise Unreadable("it reaches too deep") from None
    return hashlib.sha256(b"".join([f"{sys.version_info[:2]}".encode(), *parts])).hexdigest()


def _parts(functions: tuple[Callable[..., Any], ...]) -> list[bytes]:
    """Read again, until no name is met that modules were not asked for: a module may be handed from one function to another."""
    words: frozenset[str] = frozenset()
    while True:
        reader = _Reader(words)
        parts = [reader.digest(function) for function in functions]
        if reader.met <= words:
            return parts
        words |= reader.met


class _Reader:
    """Values as digests of what they hold, and of modules of one's own what `words` name. A value that holds itself is met a second
    time by its place. `met` are all names in code and all texts that were read."""

    def __init__(self, words: frozenset[str]) -> None:
        self.met: set[str] = set()
        self._words = words
        self._known: dict[int, bytes] = {}
        self._alive: list[Any] = []  # so that no identity is used twice

    def digest(self, value: Any) -> bytes:
        if type(value) is str:  # by which getattr may find something
            self.met.add(value)
        if type(value) in PLAIN:
            return _sealed(type(value).__name__, repr(value).encode())
        if id(value) not in self._known:
            self._known[id(value)] = _sealed("again", str(len(self._alive)).encode())
            self._alive.append(value)
            if len(self._alive) > LARGEST:
                raise Unreadable("it reaches too many values")
            self._known[id(value)] = self._read(value)
        return self._known[id(value)]

    def _all(self, kind: str, values: Iterable[Any]) -> bytes:
        return _sealed(kind, *(self.digest(value) for value in values))

    def _read(self, value: Any) -> bytes:
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.CodeType):
            return self._code(value)
        if isinstance(value, types.MethodType):
            return self._all("method", [value.__func__, value.__self__])
        if type(value) is functools.partial and not vars(value):
            return self._all("partial", [value.func, value.args, value.keywords])
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, np.ufunc) or (
            hasattr(value, "py_func") and package_version(type(value).__module__) is not None
        ):
            return self._compiled(value)
        if type(value) in (staticmethod, classmethod, functools.cached_property):
            return self._all(type(value).__name__, [getattr(value, "__func__", None) or getattr(value, "func", None)])
        if type(value) is property:
            return self._all("property", [value.fget, value.fset, value.fdel])
        if isinstance(value, types.CellType):
            return self._all("cell", [value.cell_contents] if _is_filled(value) else [])
        if isinstance(value, _NAMED) or type(value) is type(np.clip):
            return self._by_name(value)
        if type(value) in (list, tuple):
            return self._all(type(value).__name__, value)
        if type(value) in (set, frozenset):
            return _sealed(type(value).__name__, *sorted(self.digest(part) for part in value))
        if type(value) in (dict, types.MappingProxyType):
            return self._all("dict", [part for item in value.items() for part in item])
        return self._object(value)

    def _object(self, value: Any) -> bytes:
        if isinstance(value, np.dtype):
            return _sealed("dtype", repr(value).encode())
        if type(value) is np.ndarray or isinstance(value, np.generic):
            array = np.asarray(value)
            if array.dtype.hasobject:
                return self._all(f"array {array.shape}", array.ravel().tolist())
            kind = array.dtype.str if array.dtype.names is None else repr(array.dtype)
            return _sealed(f"array {kind} {array.shape}", np.ascontiguousarray(array).tobytes())
        if type(value) is functools._lru_cache_wrapper:
            return self._all("remembering", [value.__wrapped__, value.cache_parameters(), vars(value)])
        try:
            parts = value.__reduce_ex__(2)
        except Exception as error:
            raise Unreadable(f"it uses {_shown(value)}, whose state cannot be read ({error})") from None
        if isinstance(parts, str):
            return self._all("constant", [type(value), parts])
        content = [list(part) if i > 2 and part is not None else part for i, part in enumerate(parts)]
        if len(content) > 2 and isinstance(content[2], dict):
            content[2] = _lasting(type(value), content[2])
        return self._all("object", content)

    def _function(self, function: types.FunctionType) -> bytes:
        home = str(function.__globals__.get("__name__"))
        parts: list[Any] = [function.__defaults__, function.__kwdefaults__, function.__closure__]
        parts += [vars(function)] if vars(function) else []
        name, version = function.__code__.co_qualname, package_version(home)
        if version is not None and "<" not in name:  # lambdas and inner functions share a name
            return self._all(f"{home}.{name} {version}", parts)
        self.met.update(name for code in _inner(function.__code__) for name in code.co_names)
        names, imports = reached(function.__code__)
        for hidden in sorted(names & HIDDEN - function.__globals__.keys()):
            raise Unreadable(f"it uses {hidden}(), by which it may reach anything")
        found = [self._code(function.__code__, function.__doc__), *(self.digest(part) for part in parts)]
        found += [_sealed(name, self.digest(_global(function, name))) for name in sorted(names)]
        modules = [_imported(name, level, function.__globals__) for name, level in sorted(imports)]
        return _sealed("function", *found, *(self.digest(module) for module in modules))

    def _code(self, code: types.CodeType, docstring: str | None = None) -> bytes:
        arguments = code.co_argcount + code.co_kwonlyargcount
        shape = (
            code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags & ~inspect.CO_NESTED,
            code.co_varnames[:arguments], code.co_names, len(code.co_freevars), len(code.co_cellvars),
        )  # fmt: skip
        constants = [None if i == 0 and value == docstring else value for i, value in enumerate(code.co_consts)]
        return _sealed(
            "code", repr(shape).encode(), code.co_code, getattr(code, "co_exceptiontable", b""),
            self._all("constants", constants),
        )  # fmt: skip

    def _module(self, module: types.ModuleType) -> bytes:
        version = package_version(module.__name__)
        if version is not None:
            return _sealed("module", f"{module.__name__} {version}".encode())
        if self._words & _UNFOLLOWED:
            raise Unreadable(f"it reaches the module {module.__name__} in a way that cannot be followed")
        held = {name: vars(module)[name] for name in sorted(self._words & vars(module).keys())}
        return _sealed("module", module.__name__.encode(), *(_sealed(name, self.digest(held[name])) for name in held))

    def _class(self, kind: type) -> bytes:
        version = package_version(kind.__module__)
        if version is not None:
            return _sealed("class", f"{kind.__module__}.{kind.__qualname__} {version}".encode())
        own = {name: value for name, value in sorted(vars(kind).items()) if name not in _HOUSEKEEPING}
        found = [_sealed(name, self.digest(value)) for name, value in own.items()]
        if package_version(type(kind).__module__) is None:
            found.append(self.digest(type(kind)))
        return _sealed("class", kind.__qualname__.encode(), self._all("bases", kind.__bases__), *found)

    def _compiled(self, value: Any) -> bytes:
        """Of NumPy and SciPy by name, of Numba by the Python function."""
        dispatcher: Any = getattr(value, "_dispatcher", value)
        written = getattr(dispatcher, "py_func", None)
        if isinstance(written, types.FunctionType):
            options = {name: repr(one) for name, one in getattr(dispatcher, "targetoptions", {}).items()}
            return self._all(f"numba {package_version('numba')}", [written, options])
        name = str(getattr(value, "__name__", ""))
        for home in ("numpy", "scipy.special"):
            if getattr(sys.modules.get(home), name, None) is value:
                return _sealed("ufunc", f"{home}.{name} {package_version(home)}".encode())
        raise Unreadable(f"it uses {_shown(value)}, which hides its code")

    def _by_name(self, value: Any) -> bytes:
        owner = getattr(value, "__self__", None)
        bound = owner is not None and not isinstance(owner, types.ModuleType)
        home = getattr(value, "__objclass__", None)
        place = value.__module__ if home is None else home.__module__
        if place is None and bound:
            place = type(owner).__module__
        version = package_version(place or "builtins")
        if version is None and home is None:
            raise Unreadable(f"it uses {_shown(value)}, whose code is not Python")
        kind = f"{place}.{getattr(value, '__qualname__', value.__name__)} {version}"
        return self._all(kind, [owner] if bound else [])


def _sealed(kind: str, *parts: bytes) -> bytes:
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()


def _shown(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return f"{name!r}" if isinstance(name, str) else f"a {type(value).__module__}.{type(value).__qualname__}"


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _lasting(kind: type, state: dict[str, Any]) -> dict[str, Any]:
    """The state of an object without what it has merely worked out so far."""
    worked_out = {
        name for one in kind.__mro__ for name, held in vars(one).items() if isinstance(held, functools.cached_property)
    }
    return {name: held for name, held in state.items() if name not in worked_out | {"__doc__"}}


@functools.lru_cache
def package_version(home: str) -> str | None:
    """The version of the package that a module is in; None for modules of one's own, whose code is read."""
    top = home.partition(".")[0]
    if top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return None if top == "__main__" else "Python {}.{}".format(*sys.version_info[:2])
    module = sys.modules.get(top)
    place = f"{getattr(module, '__file__', None) or getattr(module, '__path__', '')}"
    if module is None or not (top == "solvable" or "site-packages" in place or "dist-packages" in place):
        return None
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        return str(module.__version__) if hasattr(module, "__version__") else None


def _inner(code: types.CodeType) -> list[types.CodeType]:
    """A code object and those of the functions inside it."""
    return [code, *(one for part in code.co_consts if isinstance(part, types.CodeType) for one in _inner(part))]


def reached(code: types.CodeType) -> tuple[set[str], set[tuple[str, int]]]:
    """The globals that a code names, and the modules that it imports, each with the number of dots before it."""
    names: set[str] = set()
    imports: set[tuple[str, int]] = set()
    for one in _inner(code):
        steps = list(dis.get_instructions(one))
        for i, step in enumerate(steps):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(step.argval)
            elif step.opname == "IMPORT_NAME":
                level = steps[i - 2].argval if i > 1 else 0
                imports.add((step.argval, level if isinstance(level, int) else 0))
    return names, imports


def _global(function: types.FunctionType, name: str) -> Any:
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name, ("missing", name))


def _imported(name: str, level: int, scope: dict[str, Any]) -> Any:
    try:
        full = importlib.util.resolve_name("." * level + name, scope.get("__package__") or None)
        return importlib.import_module(full)
    except Exception:  # the function would fail too, where it comes to this
        return ("missing", name)
