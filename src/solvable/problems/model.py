"""The base of all descriptions: strict types, no unknown fields, no NaN, all mistakes named at once."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self, get_args

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from solvable.numerics.cards import card
from solvable.problems.foreign import one_line
from solvable.problems.nearest import hint, instead, nearest, within

MOST = 100  # mistakes that are told
LARGEST = 1e150  # number in a description
ALWAYS = ("width", "activation", "dim", "learning_rate")  # fields that notebooks show at their defaults too
UNKNOWN = ": is not a field here"  # behind the name of one


class InvalidProblem(ValueError):
    """A description that cannot be run. `problems` has one line per mistake: field, what was given, what is allowed."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = [one_line(line) for line in problems[:MOST]]
        if len(problems) > MOST:
            self.problems.append(f"... and {len(problems) - MOST} more")
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


def explain(model: type[BaseModel], error: ValidationError) -> list[str]:
    """One line per mistake, without the validator's own vocabulary; a mistake found by several branches is told once."""
    lines: dict[str, str] = {}
    words: dict[str, str] = {}
    items = error.errors(include_url=False)
    paths = [tuple(_path(item["loc"])) for item in items]
    inside = {path for path, item in zip(paths, items, strict=True) if item["type"] not in _NOT_A_TABLE}
    inside |= {path[:i] for path in paths for i in range(len(path))}  # where something within is wrong
    for item in items:
        kind, given, message = item["type"], item["input"], item["msg"]
        path = tuple(_path(item["loc"]))
        if isinstance(given, dict) and kind in _NOT_A_TABLE and any(other[: len(path)] == path for other in inside):
            continue  # a table was meant; what is wrong inside it is told by another item
        where = ".".join(_path(item["loc"]))
        if kind == "missing":
            text = "is missing" + _ASKED.get(where.rpartition(".")[2], "")
        elif kind == "extra_forbidden":
            where = ".".join([*_path(item["loc"][:-1]), str(item["loc"][-1])])
            text = UNKNOWN.removeprefix(": ") + _fields_there(model, item["loc"])
        elif kind == "value_error":
            message = message.removeprefix("Value error, ")
            field = re.match(r"([a-z_][a-z_.0-9]*): ", message)  # a check across fields names the one at fault first
            if field:
                where = f"{where}.{field[1]}" if where else field[1]
            text = message[field.end() :] if field else message
        else:
            if kind == "union_tag_not_found":
                message = f"a table with a {item['ctx']['discriminator'].strip(chr(39))}"
            if kind == "model_type":
                name = item["ctx"]["class_name"]
                message = f"{'an' if name[0] in 'AEIOU' else 'a'} {name}".replace("Table", " table")
                message += _EXAMPLES.get(name, "")
            if kind == "is_instance_of":
                message += _EXAMPLES.get(item["ctx"]["class"], "")
            if kind == "union_tag_invalid":
                tag = item["ctx"]["discriminator"].strip("'")
                message = f"a table with the {tag} {item['ctx']['expected_tags'].replace(', ', ' or ')}"
            if kind in ("float_type", "int_type") and _is_schedule(given):
                message, kind = _CONSTANT, "schedule"
            message = _WORDS.get(kind, message.removeprefix("Input should be ").removeprefix("a valid "))
            if callable(given) and kind == "model_type" and item["ctx"]["class_name"] in ("Schedule", "Momentum"):
                message += "; sv.Schedule.of(function, times) makes one of a function"
            text = f"{_shown_value(given)} given, must be {message}"
            if isinstance(given, str):
                words[where] = given
        if where in lines and text not in lines[where]:
            lines[where] += f", or {message}" * (not lines[where].endswith(f", or {message}"))
        else:
            lines.setdefault(where, text)
    for where, given in words.items():
        told, said, allowed = lines[where].partition(" given, must be ")
        meant = hint(given, re.findall(r"'([^']+)'", allowed))
        if where.endswith("activation") and given.lower() in OTHER_UNITS:
            meant = " (a unit that has no name here is given as sv.Activation)"
        lines[where] = told + said.replace(",", meant + ",") + allowed
    return [f"{where}: {text}" if where else text for where, text in lines.items()]


_NOT_A_TABLE = {"float_type", "int_type", "string_type", "literal_error", "tuple_type", "is_instance_of"}
_WORDS = {
    "float_type": "a number",
    "int_type": "a whole number",
    "tuple_type": "a list",
    "bool_type": "true or false",
    "finite_number": "finite",
    "model_attributes_type": "a table of its fields",
    "too_short": "not empty",
}
_CONSTANT = (
    "one number for the whole run; rates, batch, weight decay, label noise, momentum, probabilities and eigenvalues "
    "may be schedules"
)
_ASKED = {"distinct": "; how many different eigenvalues, as 16"}  # of fields whose name does not tell it
_EXAMPLES = {  # of tables whose main field is easily taken for the whole
    "Dropout": ", as { keep = 0.8 }",
    "Momentum": ", as { beta = 0.9 } or { kappa = 2.0 }, or a number beta",
    "Ratio": ", as { ratio = 2.0 }",
    "Average": ", as { rate = 1.0 } or { begin = 10.0 }",
    "ClipSamples": ", as { norm = 1.0 }",
    "Rule": ', sv.Rule("name", function)',
    "Loss": ', sv.problems.Loss("name", function, push, push_slope)',
    "Activation": ', sv.Activation("name", function, derivative)',
    "Target": ', sv.problems.Target("name", width, function)',
}
OTHER_UNITS = {  # which others have names for
    "gelu", "silu", "swish", "selu", "celu", "elu", "mish", "sigmoid", "softplus", "softsign", "leaky_relu", "leakyrelu", "prelu",
    "relu6", "hardtanh", "cos", "sin", "exp", "square_relu", "threshold",
}  # fmt: skip
_BRANCHES = {
    "float",
    "int",
    "str",
    "none",
    "literal",
    "tuple",
    "constrained",
    "huber",
    "hinge",
    "adagrad",
    "polyak",
    "clip-batches",
}


def _is_schedule(given: Any) -> bool:
    return "times" in given if isinstance(given, dict) else type(given).__name__ == "Schedule"


def _path(location: tuple[int | str, ...]) -> list[str]:
    """Field names and positions, without the union members and validator names that the validator puts between."""
    path: list[str] = []
    for part in location:
        text = str(part)
        branch = isinstance(part, str) and (not text.isidentifier() or text[0].isupper() or text in _BRANCHES)
        if not branch and (isinstance(part, int) or path[-1:] != [text]):
            path.append(text)
    return path


def _fields_there(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """The fields that the table at fault has, the one that was probably meant first."""
    tables = [model]
    for part in _path(location[:-1]):
        annotations = [table.model_fields[part].annotation for table in tables if part in table.model_fields]
        tables = [table for annotation in annotations for table in _models(annotation)]
    chosen = [
        table for table in tables if _tag(table) in location
    ]  # by its name or kind, where that tells tables apart
    tables = chosen or tables
    found = {field.alias or name for table in tables for name, field in table.model_fields.items()}
    fields = sorted(found - {"kind"})
    return instead(location[-1], fields) if fields else ""


def _tag(table: type[BaseModel]) -> Any:
    fields = [table.model_fields[name] for name in ("name", "kind") if name in table.model_fields]
    return fields[0].default if fields else None


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models(part)]


def _shown_value(value: Any) -> str:
    return "a function" if callable(value) and hasattr(value, "__code__") else short(value)


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as plain numbers and nested tuples, lists as tuples: what files and Python both give."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value + 0.0  # minus zero is zero
    if isinstance(value, list | tuple):
        return tuple(_plain(part) for part in value)
    return value


def _bounded(value: Any) -> Any:
    """The same, of numbers whose squares are numbers."""
    plain = _plain(value)
    largest = max(_sizes(plain), default=0.0)
    if largest > LARGEST:
        raise ValueError(f"{largest:g} given, must be at most {LARGEST:g} in size, so that its square is a number")
    return plain


def _sizes(value: Any) -> Iterator[float]:
    if isinstance(value, float) and np.isfinite(value):
        yield abs(value)
    elif isinstance(value, tuple):
        for part in value:
            yield from _sizes(part)


def one_of(registry: Mapping[str, Any]) -> PlainValidator:
    """A field whose value is one of the names in a registry as it is when the field is read."""

    def check(value: Any) -> str:
        if isinstance(value, str) and value in registry:
            return value
        *others, last = (repr(name) for name in registry)
        raise PydanticCustomError("literal_error", f"Input should be {', '.join(others)} or {last}")

    return PlainValidator(check)


Unbounded = BeforeValidator(_plain)
Plain = BeforeValidator(_bounded)


class Model(BaseModel):
    """Frozen and keyword-only; vary it by `replace`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True)

    def __new__(cls, *given: Any, **_: Any) -> Self:
        if given:
            names = ", ".join(f"{name}=..." for name in cls.model_fields if name != "kind")
            raise TypeError(f"{cls.__name__}: give fields by name, not by place: {cls.__name__}({names})")
        return super().__new__(cls)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InvalidProblem(explain(type(self), error)) from None

    # Marks this as pydantic's own __init__, so that nested models are validated with their full path.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def _values(self) -> tuple[Any, ...]:
        values = self.__dict__
        return tuple([values[name] for name in type(self).__pydantic_fields__])

    def __eq__(self, other: object) -> bool:  # by fields alone: cached properties do not count
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield the fields that are not at their defaults."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if field.is_required() or value != field.get_default(call_default_factory=True):
                yield name, value

    def _repr_html_(self) -> str:
        return card({name: _told(part) for name, part in _shown(self).items()}, title=type(self).__name__)

    @classmethod
    def from_mapping(cls, fields: Mapping[str, Any]) -> Self:
        try:
            return cls.model_validate(dict(fields))
        except ValidationError as error:
            raise InvalidProblem(explain(cls, error)) from None

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated again. `training__learning_rate=0.1` reaches inside a part,
        `tasks__0__readout=...` inside one of several."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        if deeper := [line for key in changes if key not in fields and (line := _deeper(fields, key))]:
            raise InvalidProblem(deeper)
        inner: dict[str, dict[str, Any]] = {}
        for key, value in changes.items():
            part, _, rest = key.partition("__")
            if rest and (isinstance(fields.get(part), Model) or _are_models(fields.get(part))):
                inner.setdefault(part, {})[rest] = value
            else:
                fields[key] = value
        for part, values in inner.items():
            if part in changes:
                raise InvalidProblem([f"{part}: given as a whole and in parts; give one"])
            try:
                fields[part] = _inside(fields[part], values)
            except InvalidProblem as error:
                raise InvalidProblem([f"{part}.{line}" for line in error.problems]) from None
        return type(self)(**fields)


def _shown(model: Model) -> dict[str, Any]:
    """What a card tells of: parts, fields that most problems choose, and all that are not at their defaults."""
    found = {name: getattr(model, name) for name in type(model).model_fields}
    defaults = {name: field.get_default(call_default_factory=True) for name, field in type(model).model_fields.items()}
    return {
        name: "infinite" if name == "dim" and value is None else value
        for name, value in found.items()
        if (value is not None or name == "dim")
        and (name in ALWAYS or isinstance(value, Model) or (name in model.model_fields_set and value != defaults[name]))
        and getattr(value, "width", None) != 0  # there is no teacher
    }


def _told(value: Any) -> str:
    if isinstance(value, Model):
        return ", ".join(f"{name} {_told(part)}" for name, part in _shown(value).items())
    if _are_models(value):
        return "; ".join(_told(part) for part in value)
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else short(value)


def _are_models(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(one, Model) for one in value)


def _deeper(fields: dict[str, Any], key: str) -> str:
    """What an error says of a field that is not here but inside a part; nothing if it is in none."""
    meant = "" if "__" in key or nearest(key, fields) else " or ".join(paths_inside(fields, key))
    return meant and f"{key}{UNKNOWN} (did you mean {meant}?)"


def paths_inside(fields: Mapping[str, Any], key: str) -> list[str]:
    """What `replace` calls the fields of this name that parts have, as training__learning_rate."""
    parts = {part: type(value).model_fields for part, value in fields.items() if isinstance(value, Model)}
    return [f"{part}__{name}" for part, name in within(key, parts)]


def _inside(part: Any, values: dict[str, Any]) -> Any:
    """A part, or a tuple of them, with some fields changed."""
    if isinstance(part, Model):
        return part.replace(**values)
    chosen: dict[int, dict[str, Any]] = {}
    for key, value in values.items():
        number, _, rest = key.partition("__")
        if not number.isdecimal() or int(number) >= len(part) or not rest:
            raise InvalidProblem([f"{number}: given, must be a number from 0 to {len(part) - 1} and a field of it"])
        chosen.setdefault(int(number), {})[rest] = value
    made = list(part)
    for i, changes in chosen.items():
        try:
            made[i] = made[i].replace(**changes)
        except InvalidProblem as error:
            raise InvalidProblem([f"{i}.{line}" for line in error.problems]) from None
    return tuple(made)


Array = Annotated[tuple[float, ...], Plain]
Matrix = Annotated[tuple[tuple[float, ...], ...], Plain]
