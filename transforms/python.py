"""Python: changes, routes or drops records by expressions or a function of the user's own."""

from __future__ import annotations

import ast
import importlib
import traceback
from collections.abc import Callable, Sequence
from operator import attrgetter
from types import CodeType
from typing import Any, Generic

from connect import (
    Config,
    ConfigDef,
    ConfigError,
    ConfigType,
    ConnectError,
    DataError,
    Importance,
    Record,
    Schema,
    Transformation,
)
from connect.config.validators import at_least, one_of
from connect.records import R
from transforms.inferred_schema import infer_schema
from transforms.key_or_value import MAX_PLANS
from transforms.time_limit import TimeIsUp, time_limit

Read = Callable[[Record], Any]

# What an expression may name, and how it is read from the record.
_NAMES: dict[str, Read] = {
    "record": lambda record: record,
    "topic": attrgetter("topic"),
    "partition": attrgetter("partition"),
    "offset": lambda record: getattr(record, "offset", None),
    "timestamp": attrgetter("timestamp"),
    "key": attrgetter("key"),
    "value": attrgetter("value"),
    "headers": lambda record: {header.name: header.value for header in record.headers},
}
_SETTABLE = ("topic", "partition", "timestamp", "key", "value")
_SEES = "It may use " + ", ".join(_NAMES) + " and what imports names."


def _valid_expression(name: str, text: str | None) -> None:
    if text is not None:
        _parse(name, text)


class PythonTransform(Transformation[R], Generic[R]):
    """Runs the user's Python on every record, each within a time limit.

    All expressions see the record as it came, also when there are several.
    """

    config_def = (
        ConfigDef()
        .define(
            "function",
            default=None,
            doc="module:callable, which gets the record and returns it, another one, or None to "
            "drop it. Instead of the expressions.",
        )
        .define(
            "filter",
            default=None,
            validator=_valid_expression,
            doc="An expression. Where it is not true the record is dropped. " + _SEES,
        )
        .define(
            "value",
            default=None,
            validator=_valid_expression,
            doc="An expression for the new value. " + _SEES,
        )
        .define(
            "key",
            default=None,
            validator=_valid_expression,
            doc="An expression for the new key. " + _SEES,
        )
        .define(
            "topic",
            default=None,
            validator=_valid_expression,
            doc="An expression for the new topic. " + _SEES,
        )
        .define(
            "partition",
            default=None,
            validator=_valid_expression,
            importance=Importance.MEDIUM,
            doc="An expression for the new partition. " + _SEES,
        )
        .define(
            "timestamp",
            default=None,
            validator=_valid_expression,
            importance=Importance.MEDIUM,
            doc="An expression for the new timestamp, in milliseconds since 1970. " + _SEES,
        )
        .define(
            "value.schema",
            default="keep",
            validator=one_of("keep", "infer", "none"),
            importance=Importance.MEDIUM,
            doc="The schema of a new value: keep the old one, which the value must fit; infer "
            "one from the value; or none.",
        )
        .define(
            "key.schema",
            default="keep",
            validator=one_of("keep", "infer", "none"),
            importance=Importance.MEDIUM,
            doc="The same for a new key.",
        )
        .define(
            "imports",
            ConfigType.LIST,
            default=[],
            importance=Importance.MEDIUM,
            doc="Modules that expressions may use by their names, such as re or math.",
        )
        .define(
            "timeout.ms",
            ConfigType.LONG,
            default=1000,
            validator=at_least(0),
            importance=Importance.MEDIUM,
            doc="How long it may take for one record before that is an error; 0 for no limit. "
            "C code that never looks at signals can't be interrupted.",
        )
    )

    def configure(self, config: Config) -> None:
        self._timeout_ms: int = config["timeout.ms"]
        texts = {key: config[key] for key in ("filter", *_SETTABLE) if config[key] is not None}
        if config["function"] is not None:
            if texts:
                raise ConfigError(
                    "function",
                    config["function"],
                    f"can't be combined with the expression {next(iter(texts))}",
                )
            self._run: Callable[[R], R | None] = _function(config["function"])
            self._what = f"function {config['function']}"
            return
        if not texts:
            raise ConfigError(
                "Nothing to run: set function, or one of the expressions filter, "
                + ", ".join(_SETTABLE)
            )
        self._modules = _imports(config["imports"])
        self._filter = self._expression("filter", texts.pop("filter", None))
        self._set = [
            (key, expression)
            for key, text in texts.items()
            if (expression := self._expression(key, text)) is not None
        ]
        self._schemas = {key: config[f"{key}.schema"] for key in ("key", "value")}
        self._inferred: dict[Schema, Schema] = {}
        self._run = self._evaluate
        self._what = "expressions"

    def apply(self, record: R) -> R | None:
        return self.apply_batch((record,))[0]

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        run = self._run
        limit = time_limit(self._timeout_ms / 1000)
        restart = limit.restart
        results: list[R | None] = []
        try:
            with limit:
                for record in records:
                    restart()
                    results.append(run(record))
        except TimeIsUp:
            raise DataError(
                f"The {self._what} took longer than timeout.ms={self._timeout_ms} for a record"
            ) from None
        return results

    def _expression(self, key: str, text: str | None) -> Read | None:
        return None if text is None else _expression(key, text, self._modules)

    def _evaluate(self, record: R) -> R | None:
        if self._filter is not None and not self._filter(record):
            return None
        results = [(key, expression(record)) for key, expression in self._set]
        for key, result in results:
            if key == "value":
                record.value_schema = self._schema(key, record.value_schema, result)
                record.value = result
            elif key == "key":
                record.key_schema = self._schema(key, record.key_schema, result)
                record.key = result
            elif key == "topic":
                record.topic = str(result)
            else:
                setattr(record, key, None if result is None else int(result))
        return record

    def _schema(self, key: str, schema: Schema | None, result: Any) -> Schema | None:
        policy = self._schemas[key]
        if policy == "none" or (policy == "keep" and schema is None):
            return None
        if policy == "infer":
            new = infer_schema(result, None, keep_nulls=True, narrow_ints=False)
            if new is None:
                raise DataError(f"The {key} expression gave {result!r}: its schema can't be told")
            if len(self._inferred) >= MAX_PLANS:
                self._inferred.clear()
            return self._inferred.setdefault(new, new)
        assert schema is not None
        try:
            schema.validate(result)
        except DataError as error:
            raise DataError(
                f"The {key} expression gave a {key} that does not fit its schema: {error}. "
                f"Set {key}.schema to infer or none"
            ) from error
        return schema


def _imports(names: Sequence[str]) -> dict[str, Any]:
    modules: dict[str, Any] = {}
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ConfigError("imports", name, f"can't be imported: {error}") from error
        top = name.partition(".")[0]
        modules[top] = importlib.import_module(top)
    return modules


def _function(text: str) -> Callable[[Any], Any]:
    module_name, colon, name = text.partition(":")
    if not colon:
        raise ConfigError("function", text, "name it as module:callable")
    try:
        found: Any = importlib.import_module(module_name)
        for step in name.split("."):
            found = getattr(found, step)
    except Exception as error:
        raise ConfigError(
            "function", text, f"can't be imported: {type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise ConfigError("function", text, f"is no callable but {type(found).__name__}")
    function = found

    def run(record: Any) -> Any:
        try:
            result = function(record)
        except ConnectError:
            raise  # it says itself what it is
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            raise DataError(
                f"The function {text} failed in {frame.filename}, line {frame.lineno}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if result is not None and not isinstance(result, Record):
            raise DataError(
                f"The function {text} must return a record or None, not {type(result).__qualname__}"
            )
        return result

    return run


def _expression(key: str, text: str, modules: dict[str, Any]) -> Read:
    """The expression as a function of the record, compiled once."""
    body = _parse(key, text)
    used = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
    names = [name for name in _NAMES if name in used]
    reads = [_NAMES[name] for name in names]
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(name) for name in names],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
    source = f"<{key}>"
    code: CodeType = compile(tree, source, "eval")
    # Running what the config's author wrote is what this transform is for.
    function = eval(code, {"__builtins__": __builtins__, **modules})  # noqa: S307

    first = reads[0] if len(reads) == 1 else None

    def read(record: Record) -> Any:
        try:
            if first is not None:
                return function(first(record))
            return function(*[get(record) for get in reads])
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            line = next((f.lineno for f in reversed(frames) if f.filename == source), 1)
            raise DataError(
                f"The {key} expression `{text}` failed in line {line}: "
                f"{type(error).__name__}: {error}"
            ) from error

    return read


def _parse(key: str, text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        try:
            # An expression may run over lines, as it may between brackets.
            return ast.parse(f"({text}\n)", mode="eval").body
        except SyntaxError:
            raise ConfigError(
                key, text, f"{error.msg} in line {error.lineno}, column {error.offset}"
            ) from error
