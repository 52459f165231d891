"""One description of who teaches, who learns, on what inputs and by which rule; every level of description runs on it."""

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from solvable.problems.inputs import Inputs
from solvable.problems.model import InvalidProblem, Model
from solvable.problems.networks import Student, Teacher
from solvable.problems.training import Training


class Problem(Model):
    teacher: Teacher
    student: Student
    inputs: Inputs = Field(default_factory=Inputs)
    training: Training

    @model_validator(mode="after")
    def _check(self) -> "Problem":
        if self.student.activation != self.teacher.activation:
            raise ValueError(
                f"student.activation: {self.student.activation!r} given with a {self.teacher.activation!r} teacher, "
                f"must be the same"
            )
        return self

    @property
    def hash(self) -> str:
        """Hash of the content: equal problems have equal hashes, on every machine. Fields left at their defaults do
        not enter, so a field that a later version adds does not change the hash of a problem that does not use it."""
        content = self.model_dump(mode="json", exclude_defaults=True)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def to_json(self) -> str:
        return self.model_dump_json(exclude_none=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            return cls.from_mapping(_table(json.loads(text)))
        except json.JSONDecodeError as error:
            raise InvalidProblem([f"not valid JSON: {error}"]) from None

    def to_toml(self) -> str:
        import tomli_w

        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))

    @classmethod
    def from_toml(cls, text: str) -> Self:
        try:
            return cls.from_mapping(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise InvalidProblem([f"not valid TOML: {error}"]) from None

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.to_json() if Path(path).suffix == ".json" else self.to_toml(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a .toml or .json file."""
        text = Path(path).read_text(encoding="utf-8")
        return cls.from_json(text) if Path(path).suffix == ".json" else cls.from_toml(text)


def _table(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise InvalidProblem([f"must be a table of fields, got {type(content).__name__}"])
    return content
