"""Loading plugins: every failure is loud and names the plugin, and what a plugin does while it loads stays inside."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from cos.agent.hooks import HookBus
from cos.agent.tools import ToolError, ToolOk
from cos.core.commands import CommandCall, Commands
from cos.core.errors import CommandError, PluginError
from cos.core.inbound import Inbound
from cos.core.plugin_api import PluginContext, Registrations
from cos.core.plugins import LoadedPlugins, installed_plugins, load_plugins
from tests.tool_context import RecordingContext, new_turn

TOOL = "ctx.register_tool('{0}', 'set', {{'type': 'object'}}, lambda args: 'x')"


class Folder:
    """The user's folder of plugins, and a hook bus to load them into."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hooks = HookBus()

    def write(self, name: str, *register: str, top: str = "", asynchronous: bool = False) -> None:
        body = "".join(f"    {line}\n" for line in register or ("pass",))
        head = "async def" if asynchronous else "def"
        (self.path / f"{name}.py").write_text(f"{top}\n{head} register(ctx):\n{body}")

    async def load(self, *names: str, limit: float = 30, **settings: dict[str, Any]) -> LoadedPlugins:
        return await load_plugins(names, settings, self.path, self.hooks, limit_seconds=limit)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


async def test_plugins_load_in_order_with_their_settings(folder: Folder) -> None:
    folder.write("one", TOOL.format("t1"), "assert ctx.config == {'a': 1} and ctx.name == 'one'")
    (folder.path / "two").mkdir()
    (folder.path / "two" / "__init__.py").write_text("def register(ctx):\n    " + TOOL.format("t2"))
    loaded = await folder.load("two", "one", one={"a": 1})
    assert list(loaded.registrations) == ["two", "one"]
    assert {name: tool.origin for name, tool in loaded.tools.items()} == {"t2": "two", "t1": "one"}
    assert {"one", "two", "workspace"} <= set(installed_plugins(folder.path))


async def test_the_shipped_workspace_plugin_loads(folder: Folder) -> None:
    loaded = await folder.load("workspace")
    assert {"read_file", "terminal"} <= set(loaded.tools)
    await loaded.close()


async def test_a_plugin_that_is_not_installed_is_named_with_a_near_one(folder: Folder) -> None:
    with pytest.raises(PluginError, match=r"plugin workspce is enabled .* not installed\. Did you mean workspace\?"):
        await folder.load("workspce")


@pytest.mark.parametrize("name", ["approval_policy", "live_feed", "../up", "a/../../b", "/etc/passwd", "a.b", ""])
async def test_names_that_would_reach_elsewhere_are_refused(folder: Folder, name: str) -> None:
    """H-094"""
    with pytest.raises(PluginError, match="cannot be the name of a plugin"):
        await folder.load(name)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("line", "said"),
    [("raise SystemExit(3)", "SystemExit"), ("raise KeyboardInterrupt", "KeyboardInterrupt"), ("1 / 0", "division")],
)
async def test_a_plugin_that_raises_anything_at_all_fails_by_name_H_100(
    folder: Folder, line: str, said: str, asynchronous: bool
) -> None:
    if asynchronous and "division" not in said:
        line, said = "import asyncio; raise asyncio.CancelledError", "CancelledError"
    folder.write("bad", line, asynchronous=asynchronous)
    with pytest.raises(PluginError, match=f"plugin bad failed to load: .*{said}"):
        await folder.load("bad")


async def test_a_module_that_fails_to_import_is_forgotten(folder: Folder) -> None:
    folder.write("bad", top="raise SystemExit")
    with pytest.raises(PluginError, match="plugin bad failed to load"):
        await folder.load("bad")
    assert "cos_user_plugins.bad" not in sys.modules
    (folder.path / "empty.py").write_text("")
    with pytest.raises(PluginError, match=r"plugin empty: .* no function register"):
        await folder.load("empty")


async def test_what_it_prints_goes_to_the_log_and_its_environment_is_undone(
    folder: Folder, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    before = dict(os.environ)
    folder.write("loud", "import os", "os.environ.clear()", "os.environ['X'] = '1'", "print('hello')")
    await folder.load("loud")
    assert dict(os.environ) == before
    assert capsys.readouterr().out == ""
    assert "plugin loud printed while loading: hello" in caplog.text
    assert "plugin loud changed the environment" in caplog.text


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_plugin_that_hangs_is_left_behind_and_takes_nothing_along(
    folder: Folder, asynchronous: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    monkeypatch.setattr(sys, "release_plugin", release, raising=False)
    wait = "import asyncio; await asyncio.Event().wait()" if asynchronous else "import sys; sys.release_plugin.wait(20)"
    folder.write("stuck", "import os", "os.environ['STUCK'] = '1'", wait, asynchronous=asynchronous)
    with pytest.raises(PluginError, match=r"plugin stuck did not load within 0\.2 s"):
        await folder.load("stuck", limit=0.2)
    release.set()
    print("still here")
    assert capsys.readouterr().out == "still here\n"
    assert "STUCK" not in os.environ


async def test_register_may_be_async(folder: Folder) -> None:
    folder.write("slow", "import asyncio", "await asyncio.sleep(0)", TOOL.format("t"), asynchronous=True)
    assert list((await folder.load("slow")).tools) == ["t"]


async def test_a_command_that_somebody_else_has_is_refused_with_what_to_do(folder: Folder) -> None:
    command = "ctx.register_command('{0}', lambda text: 'x')"
    for name, *lines in [
        ("news", command.format("new")), ("titles", command.format("title")), ("odd", command.format("No")),
        ("one", command.format("same")), ("two", command.format("same")),
        ("twice", command.format("t"), command.format("t")),
    ]:  # fmt: skip
        folder.write(name, *lines)
    for names, offer in [
        (["news"], "plugin news offers the command /new, which cos offers too; give it another name"),
        (["titles"], "plugin titles offers the command /title, which cos offers too; give it another name"),
        (["one", "two"], "plugin two offers the command /same, which one offers too"),
        (["twice"], "plugin twice offers the command /t, which it itself offers too"),
        (["odd"], "plugin odd offers a command named 'No'; a name takes only a-z"),
    ]:
        with pytest.raises(PluginError, match=offer):
            await folder.load(*names)


async def test_two_plugins_with_one_tool_or_one_with_a_bad_tool_are_refused(folder: Folder) -> None:
    folder.write("one", TOOL.format("same"))
    folder.write("two", TOOL.format("same"))
    folder.write("twice", TOOL.format("t"), TOOL.format("t"))
    folder.write("odd", TOOL.format("no spaces"))
    for names, said in [
        (["one", "two"], "plugin two offers the tool same, which one offers too"),
        (["twice"], "plugin twice offers the tool t more than once"),
        (["odd"], "plugin odd offers a tool named 'no spaces'"),
    ]:
        with pytest.raises(PluginError, match=said):
            await folder.load(*names)


async def test_a_failure_takes_back_every_hook_and_closes_what_was_open(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = list[str]()
    monkeypatch.setattr(sys, "closed_plugins", closed, raising=False)
    hook = "ctx.register_hook('on_session_end', lambda: None)"
    close = "ctx.on_close(close)"
    top = "import sys\nasync def close(): sys.closed_plugins.append('{}')"
    folder.write("good", hook, close, top=top.format("good"))
    folder.write("bad", hook, close, "ctx.register_hook('on_session_end', lambda mood: None)", top=top.format("bad"))
    with pytest.raises(
        PluginError, match="plugin bad: its callback for hook on_session_end requires the argument 'mood'"
    ):
        await folder.load("good", "bad")
    assert not folder.hooks.has("on_session_end")
    assert closed == ["bad", "good"]


async def test_one_that_fails_to_close_does_not_keep_the_others_open(caplog: pytest.LogCaptureFixture) -> None:
    closed = list[str]()

    async def fails() -> None:
        raise OSError("stuck")

    async def closes() -> None:
        closed.append("first")

    await LoadedPlugins({"first": Registrations(closers=[closes]), "last": Registrations(closers=[fails])}).close()
    assert closed == ["first"]
    assert "plugin last failed while closing" in caplog.text


async def test_contexts_are_gathered_in_order_and_one_that_fails_is_said() -> None:
    async def later(profile_id: str) -> str:
        return f"async {profile_id}"

    def broken(profile_id: str) -> str:
        raise KeyError(profile_id)

    loaded = LoadedPlugins({"a": Registrations(contexts=[lambda profile: f"sync {profile}", lambda profile: " "])})
    loaded.registrations["b"] = Registrations(contexts=[later, lambda profile: None])
    assert await loaded.context_for("home") == [("a", "sync home"), ("b", "async home")]
    loaded.registrations["c"] = Registrations(contexts=[broken])
    with pytest.raises(PluginError, match="plugin c could not give its context: 'home'"):
        await loaded.context_for("home")


async def test_a_command_takes_its_words_or_the_whole_call() -> None:
    registered = Registrations()
    ctx = PluginContext("p", {}, registered)

    async def whole(call: CommandCall) -> str:
        if call.argument == "fail":
            raise PluginError("a sentence")
        return f"{call.profile_id} {1 / len(call.argument):g}"

    ctx.register_command("words", lambda argument: argument or None, "says it", "[WORDS]")
    ctx.add_command("call", whole)
    words, call = registered.commands
    assert (words.arguments, words.needs_session, call.origin) == ("[WORDS]", False, "p")
    commands = Commands()
    commands.add(words, call)

    async def say(text: str) -> str | None:
        answer = await commands.run(Inbound(text=text, profile_id="home", source="cli"), None)
        return answer.text if answer else None

    assert [await say(text) for text in ("/words hi", "/words", "/call a")] == ["hi", "", "home 1"]
    with pytest.raises(PluginError, match=r"^a sentence$"):
        await say("/call fail")
    with pytest.raises(CommandError, match="/call of the plugin p failed: division by zero"):
        await say("/call")


async def _coroutine(args: dict[str, Any]) -> str:
    return "async"


@pytest.mark.parametrize(
    ("handler", "outcome"),
    [
        (lambda args: f"sync {args['x']}", ToolOk(content="sync 1")),
        (_coroutine, ToolOk(content="async")),
        (lambda args: _coroutine(args), ToolOk(content="async")),
        (lambda args, **kwargs: sorted(kwargs), ToolOk(content='["ctx", "session_id", "task_id", "turn"]')),
        (lambda args, task_id: {"ok": len(task_id)}, ToolOk(content='{"ok": 36}')),
        (lambda args: ToolError(content="no"), ToolError(content="no")),
    ],
)
async def test_handlers_in_hermes_shape_become_tools(handler: Any, outcome: Any, tmp_path: Path) -> None:
    registered = Registrations()
    schema = {"name": "t", "description": "from the schema", "parameters": {"type": "object", "required": ["x"]}}
    PluginContext("p", {}, registered).register_tool("do_it", "set", schema, handler)
    (tool,) = registered.tools
    assert (tool.title, tool.description, tool.schema) == ("do it", "from the schema", schema["parameters"])
    assert await tool.run({"x": 1}, new_turn(), RecordingContext(tmp_path)) == outcome


async def test_a_sync_handler_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    registered, release, entered = Registrations(), threading.Event(), threading.Event()

    def waits(args: dict[str, Any]) -> str:
        entered.set()
        release.wait(20)
        return "ok"

    PluginContext("p", {}, registered).register_tool("t", "set", {}, waits)
    running = asyncio.ensure_future(registered.tools[0].run({}, new_turn(), RecordingContext(tmp_path)))
    while not entered.is_set():
        await asyncio.sleep(0)
    release.set()
    assert await running == ToolOk(content="ok")
