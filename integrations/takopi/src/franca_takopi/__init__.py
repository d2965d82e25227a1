"""Takopi engines that run coding agents through Franca.

Franca prints Takopi's own events, so there is little to translate: every line becomes the event of the same name,
under this engine's id. Only `takopi.api` is used.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.text import TextReceiveStream
from takopi.api import (
    Action,
    ActionEvent,
    BaseRunner,
    CompletedEvent,
    ConfigError,
    EngineBackend,
    EngineConfig,
    ResumeToken,
    Runner,
    StartedEvent,
)

# Franca needs at most two seconds to say how a run ended after it was told to stop.
STOP_SECONDS = 2.0

# Settings of an engine's table in takopi.toml, and the options of `franca run` they become.
TEXT_SETTINGS = {
    "model": "--model",
    "variant": "--variant",
    "mode": "--mode",
    "permission_mode": "--permission-mode",
    "attach": "--attach",
    "data": "--data",
    "token_file": "--token-file",
}


class FrancaRunner(BaseRunner):
    """One agent. A run is one `franca run --format takopi`, and its lines are the run's events."""

    def __init__(self, agent: str, config: EngineConfig) -> None:
        self.engine = f"franca_{agent}"
        self.agent = agent
        self.command = str(config.get("command", "franca"))
        self.options = options_from(config)
        self.resume_re = re.compile(
            rf"(?im)^\s*`?franca\s+run\s+--agent\s+{re.escape(agent)}\s+--resume\s+(?P<token>[^`\s]+)`?\s*$"
        )

    def format_resume(self, token: ResumeToken) -> str:
        if token.engine != self.engine:
            raise RuntimeError(f"the resume token is of engine {token.engine!r}, not {self.engine!r}")
        return f"`franca run --agent {self.agent} --resume {token.value}`"

    def is_resume_line(self, line: str) -> bool:
        return self.resume_re.match(line) is not None

    def extract_resume(self, text: str | None) -> ResumeToken | None:
        found = [match["token"] for match in self.resume_re.finditer(text or "")]
        return ResumeToken(engine=self.engine, value=found[-1]) if found else None

    async def run_impl(self, prompt: str, resume: ResumeToken | None) -> AsyncIterator[Any]:
        arguments = [self.command, "run", "--agent", self.agent, "--format", "takopi", *self.options]
        if resume is not None:
            arguments += ["--resume", resume.value]
        # A session of its own, so that the whole tree can be told to stop at once.
        process = await anyio.open_process([*arguments, "--", prompt], stdin=None, stderr=None, start_new_session=True)
        try:
            async for line in lines_of(process):
                event = self.event_of(line)
                if event is not None:
                    yield event
            await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await stop(process)

    def event_of(self, line: str) -> Any | None:
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            return None
        match data.get("type"):
            case "started":
                return StartedEvent(
                    engine=self.engine,
                    resume=self.token_of(data["resume"]),
                    title=data.get("title"),
                    meta=data.get("meta"),
                )
            case "action":
                return ActionEvent(
                    engine=self.engine,
                    action=Action(**data["action"]),
                    phase=data["phase"],
                    ok=data.get("ok"),
                    message=data.get("message"),
                    level=data.get("level"),
                )
            case "completed":
                return CompletedEvent(
                    engine=self.engine,
                    ok=data["ok"],
                    answer=data["answer"],
                    resume=self.token_of(data.get("resume")),
                    error=data.get("error"),
                    usage=data.get("usage"),
                )
            case _:
                return None

    def token_of(self, resume: dict[str, str] | None) -> ResumeToken | None:
        return None if resume is None else ResumeToken(engine=self.engine, value=resume["value"])


async def lines_of(process: anyio.abc.Process) -> AsyncIterator[str]:
    """Whole lines only: what has no newline was never finished."""
    if process.stdout is None:
        return
    rest = ""
    async for chunk in TextReceiveStream(process.stdout):
        *whole, rest = (rest + chunk).split("\n")
        for line in whole:
            yield line


async def stop(process: anyio.abc.Process) -> None:
    """The run was given up, or is over already."""
    if process.returncode is not None:
        return
    send(process, signal.SIGTERM)
    with anyio.move_on_after(STOP_SECONDS):
        await process.wait()
        return
    send(process, signal.SIGKILL)
    await process.wait()


def send(process: anyio.abc.Process, which: signal.Signals) -> None:
    try:
        os.killpg(process.pid, which)
    except ProcessLookupError:
        pass


def options_from(config: EngineConfig) -> list[str]:
    options: list[str] = []
    for name, flag in TEXT_SETTINGS.items():
        value = config.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise ConfigError(f"`{name}` must be text, not {type(value).__name__}")
        options += [flag, value]
    # A chat cannot answer a permission: either everything is allowed, or what is asked for is refused.
    if config.get("auto_approve") is True:
        options.append("--auto-approve")
    return options


def backend_of(agent: str) -> EngineBackend:
    def build_runner(config: EngineConfig, _config_path: Path) -> Runner:
        return FrancaRunner(agent, config)

    return EngineBackend(
        id=f"franca_{agent}",
        build_runner=build_runner,
        cli_cmd="franca",
        install_cmd="npm install -g franca",
    )


CLAUDE = backend_of("claude")
CODEX = backend_of("codex")
OPENCODE = backend_of("opencode")
AMP = backend_of("amp")
BUILTIN = backend_of("builtin")
