/** The Takopi plug-in, loaded by Python with a stand-in for Takopi's public API: its options, tokens and events. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/folders.ts";
import { root } from "../support/transcripts.ts";

const python = spawnSync("python3", ["--version"]).status === 0 ? "python3" : null;

/** Only the names the plug-in takes, with the fields that Takopi's documentation gives them. */
const api = `
from dataclasses import dataclass, field
from typing import Any
EngineConfig = dict
class ConfigError(Exception): pass
class Runner: pass
class BaseRunner:
    async def run(self, prompt, resume):
        async for event in self.run_impl(prompt, resume): yield event
@dataclass(frozen=True)
class ResumeToken: engine: str; value: str
@dataclass(frozen=True)
class Action: id: str; kind: str; title: str; detail: dict = field(default_factory=dict)
@dataclass
class StartedEvent: engine: str; resume: Any; title: Any = None; meta: Any = None
@dataclass
class ActionEvent: engine: str; action: Any; phase: str; ok: Any = None; message: Any = None; level: Any = None
@dataclass
class CompletedEvent: engine: str; ok: bool; answer: str; resume: Any = None; error: Any = None; usage: Any = None
@dataclass(frozen=True)
class EngineBackend: id: str; build_runner: Any; cli_cmd: Any = None; install_cmd: Any = None
`;

/** What the plug-in needs of anyio to be imported; nothing is run with it here. */
const anyio = ["class abc:\n    class Process: pass", "class TextReceiveStream: pass"];

const script = `
import json, sys
from pathlib import Path
import franca_takopi as plugin
runner = plugin.CLAUDE.build_runner({"model": "sonnet", "auto_approve": True}, Path("."))
token = runner.extract_resume("some text\\n\`franca run --agent claude --resume abc-1\`")
print(json.dumps({
  "id": plugin.CLAUDE.id,
  "options": runner.options,
  "token": [token.engine, token.value],
  "line": runner.format_resume(token),
  "mine": runner.is_resume_line(runner.format_resume(token)),
  "other": runner.extract_resume("franca run --agent codex --resume x") is None,
  "events": [type(runner.event_of(line)).__name__ for line in sys.stdin.read().splitlines()],
  "last": vars(runner.event_of(Path(sys.argv[1]).read_text().splitlines()[-1])),
}, default=vars))
`;

test.skipIf(python === null)("every line of a recording is an event; tokens are told apart", () => {
  const folder = temporaryFolder();
  for (const name of ["takopi", "anyio", "anyio/streams"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "takopi", "__init__.py"), "");
  writeFileSync(join(folder, "takopi", "api.py"), api);
  writeFileSync(join(folder, "anyio", "__init__.py"), anyio[0] ?? "");
  writeFileSync(join(folder, "anyio", "streams", "__init__.py"), "");
  writeFileSync(join(folder, "anyio", "streams", "text.py"), anyio[1] ?? "");
  const recording = join(root, "transcripts", "claude", "read-edit", "takopi.jsonl");
  const output = execFileSync(python ?? "", ["-c", script, recording], {
    env: {
      PATH: process.env.PATH ?? "",
      PYTHONDONTWRITEBYTECODE: "1",
      PYTHONPATH: `${folder}:${join(root, "integrations", "takopi", "src")}`,
    },
    input: readFileSync(recording),
    encoding: "utf8",
  });
  const told = JSON.parse(output);
  expect(told).toMatchObject({
    id: "franca_claude",
    options: ["--model", "sonnet", "--auto-approve"],
    token: ["franca_claude", "abc-1"],
    line: "`franca run --agent claude --resume abc-1`",
    mine: true,
    other: true,
  });
  expect(told.events[0]).toBe("StartedEvent");
  expect(told.events.at(-1)).toBe("CompletedEvent");
  expect(told.events.slice(1, -1).every((name: string) => name === "ActionEvent")).toBe(true);
  expect(told.last).toMatchObject({ engine: "franca_claude", ok: true, resume: { engine: "franca_claude" } });
});
