"""Reference pages made from the package itself: its public names, and its command line."""

from __future__ import annotations

import enum
import functools
import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from docstrings import code, inline, markdown, plain

import hardzero

API = "api"
_OPTION = re.compile(r"(?<!\S)--[a-z-]+")
_WIDTH = 76  # a signature that is longer gets a line for each parameter


class _Bare(str):
    """An annotation that is shown without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def api_pages() -> dict[str, str]:
    """Return Markdown by page, one for every public name."""
    return {f"{API}/{name}.md": _name_page(name, getattr(hardzero, name)) for name in hardzero.__all__}


def is_estimator(name: str) -> bool:
    """Whether a public name is an estimator in scikit-learn's sense."""
    return hasattr(getattr(hardzero, name), "fit")


def _link(name: str) -> str | None:
    """From a page about a name, or the overview beside it."""
    if name.startswith("docs/"):
        return "../" + name.removeprefix("docs/")
    return f"{name}.md" if name in hardzero.__all__ else None


def public_names() -> str:
    """Return the public names with their first lines, as two tables."""
    lines = []
    for title, wanted in (("Estimators", True), ("Everything else", False)):
        lines += [f"## {title}", "| name | what it is |\n| --- | --- |"]
        lines[-1] += "".join(
            f"\n| [{code(name)}]({name}.md) | {inline(_first_line(getattr(hardzero, name)), _link)} |"
            for name in hardzero.__all__
            if is_estimator(name) is wanted
        )
    return "\n\n".join(lines)


def _first_line(thing: Any) -> str:
    paragraph, _, _ = _docstring(thing).partition("\n\n")
    return " ".join(paragraph.split())


def _docstring(thing: Any) -> str:
    text = inspect.getdoc(thing)
    if not text:
        raise ValueError(f"{thing!r} is public and has no docstring; write one")
    return text


def _name_page(name: str, thing: Any) -> str:
    parts = [f"# {plain(name)}", *_signature_block(name, thing), markdown(_docstring(thing), _link, 2)]
    if isinstance(thing, enum.EnumType):
        parts += ["## Members", "\n".join(f"- {code(member.name)} = {code(repr(member.value))}" for member in thing)]
    elif inspect.isclass(thing):
        members = list(_members(thing))
        parts += ["## Methods and properties"] if members else []
        for member_name, member in members:
            parts.append(f"### {plain(member_name)}")
            parts += _signature_block(member_name, member)
            parts.append(markdown(_docstring(member), _link, 4))
    return "\n\n".join(parts) + "\n"


def _members(thing: type) -> Iterator[tuple[str, Any]]:
    """Yield public methods and properties that hardzero itself wrote."""
    for name, member in inspect.getmembers(thing):
        if name.startswith("_"):
            continue
        function: Any = member
        if isinstance(member, property):
            function = member.fget
        elif isinstance(member, functools.cached_property):
            function = member.func
        if callable(function) and (getattr(function, "__module__", None) or "").startswith("hardzero"):
            yield name, member


def _signature_block(name: str, thing: Any) -> list[str]:
    if isinstance(thing, (property, functools.cached_property, enum.EnumType)) or (
        inspect.isclass(thing) and issubclass(thing, Exception)
    ):
        return []
    return [f"```python\n{signature(name, thing)}\n```"]


def signature(name: str, thing: Any) -> str:
    """Return how a callable is called, on one line if that is short enough."""
    found = inspect.signature(thing)
    shown = []
    keywords_only = False
    for parameter in found.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            keywords_only = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not keywords_only:
            shown.append("*")
            keywords_only = True
        shown.append(str(parameter.replace(annotation=_bare(parameter.annotation))))
    answer = "" if inspect.isclass(thing) or found.return_annotation is found.empty else _answer(found)
    line = f"{name}({', '.join(shown)}){answer}"
    if len(line) <= _WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in shown) + f"){answer}"


def _answer(found: inspect.Signature) -> str:
    return f" -> {inspect.formatannotation(_bare(found.return_annotation))}"


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def commands() -> str:
    """Return every command with its arguments, options and example."""
    import typer  # noqa: PLC0415 - the command line is an extra

    from hardzero.cli import app  # noqa: PLC0415

    found = _commands(typer.main.get_command(app), "hardzero")
    return "\n\n".join(part for names, command in found for part in _command(names, command))


def _no_link(name: str) -> None:
    return None


def _commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix} {name}")
        elif not command.hidden:
            yield f"{prefix} {name}", command


def _command(names: str, command: Any) -> list[str]:
    kinds = get_type_hints(command.callback)
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [
        parameter
        for parameter in command.params
        if parameter.param_type_name == "option" and not parameter.hidden and parameter.name != "help"
    ]
    needed = [f"{option.opts[0]} {_value(option, kinds)}" for option in options if option.required]
    usage = " ".join([names, *(_in_usage(argument) for argument in arguments), *needed])
    parts = [f"## {plain(names)}", f"```text\n{usage}{' [OPTIONS]' if options else ''}\n```"]
    parts += [inline(inspect.cleandoc(command.help or ""), _no_link)]
    for title, parameters in (("Arguments", arguments), ("Options", options)):
        if parameters:
            parts += [f"**{title}**", "\n".join(_parameter(parameter, kinds) for parameter in parameters)]
    example = (command.epilog or "").removeprefix("Example: ")
    return [*parts, "**Example**", f"```sh\n{example}\n```"] if example else parts


def _value(parameter: Any, kinds: dict[str, Any]) -> str:
    """What has to be written behind an option: one of its choices, or a value of its own."""
    choices = _choices(kinds[parameter.name])
    return "|".join(choices) if choices else parameter.opts[0].strip("-").upper()


def _choices(kind: Any) -> list[str]:
    if isinstance(kind, enum.EnumType):
        return [str(member.value) for member in kind]
    return [choice for part in get_args(kind) for choice in _choices(part)]


def _in_usage(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper().removesuffix("_PATH")
    return name if argument.required else f"[{name}]"


def _parameter(parameter: Any, kinds: dict[str, Any]) -> str:
    if parameter.param_type_name == "argument":
        choices = _choices(kinds[parameter.name])
        term = code(_in_usage(parameter).strip("[]")) + (f" : {code('|'.join(choices))}" if choices else "")
    else:
        term = ", ".join(code(spelling) for spelling in [*parameter.opts, *parameter.secondary_opts])
        term += "" if parameter.is_flag else f" {code(_value(parameter, kinds))}"
    notes = [note for note in (_need(parameter), _default(parameter)) if note]
    remark = f" *({'; '.join(notes)})*" if notes else ""
    explained = _OPTION.sub(r"``\g<0>``", " ".join((parameter.help or "").split()))
    return f"{term}\n:   {inline(explained, _no_link)}{remark}\n"


def _need(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return "may be repeated" if parameter.multiple or parameter.nargs == -1 else ""


def _default(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return f"default: {plain(shown)}"
    value = getattr(parameter.default, "value", parameter.default)
    if shown is False or parameter.required or not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return ""
    return f"default: {code(str(value))}"
