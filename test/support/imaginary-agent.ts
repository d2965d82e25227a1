/**
 * Acme, an agent that does not exist: added to a copy of this repository as ARCHITECTURE says (a dialect, a folder of
 * adapters, its line in the list), and a program for it that writes down which variables it was given.
 */
import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "..", "..");

const dialect = `/** Acme's lines. */
import { isShape, isString } from "./shape.ts";

export type AcmeLine =
  | { readonly type: "hello"; readonly thread: string }
  | { readonly type: "say"; readonly text: string }
  | { readonly type: "stop" };

export const isAcmeLine = (value: unknown): value is AcmeLine =>
  isShape(value) &&
  ((value.type === "hello" && isString(value.thread)) ||
    (value.type === "say" && isString(value.text)) ||
    value.type === "stop");
`;

const adapter = `/** Acme: one process per session, JSON lines both ways. */
import { defineAdapter } from "../../core/adapter.ts";
import { noCapabilities } from "../../core/capabilities.ts";
import { type AcmeLine, isAcmeLine } from "../../dialects/acme.ts";
import { adapter } from "./translate.ts";

export const acme = defineAdapter<AcmeLine, null>({
  agent: "acme",
  name: "Acme",
  isNative: isAcmeLine,
  recognises: () => false,
  adapter,
  launch: ({ binary }) => ({ kind: "process", command: binary ?? "acme", args: ["--json"], lifetime: "session" }),
  capabilities: { ...noCapabilities, permissionModes: ["default"] },
  binary: {
    name: "acme",
    versionArgs: ["--version"],
    install: { kind: "other", advice: "Acme is installed by its own installer." },
  },
  environment: { prefixes: ["ACME_"] },
  credentials: { variables: ["ROADRUNNER_KEY"], files: [".acme/login"] },
});
`;

const translate = `/** Acme → reports. */
import type { AdapterInput, Send } from "../../core/agent-io.ts";
import type { Fold } from "../../core/fold.ts";
import type { Report } from "../../core/report.ts";
import type { AcmeLine } from "../../dialects/acme.ts";

export const adapter: Fold<AdapterInput<AcmeLine>, Report | Send, null> = {
  start: () => null,
  step(_state, input) {
    if (input.type === "line" && input.from === "agent") return onLine(input.line);
    if (input.type !== "command" || input.command.type !== "prompt") return [];
    return [{ type: "send.line", line: { say: input.command.prompt.text } }];
  },
};

function onLine(line: AcmeLine): Report[] {
  switch (line.type) {
    case "hello":
      return [{ type: "session", native_session_id: line.thread, metadata: { agent: "acme" } }];
    case "say":
      return [
        { type: "open", item: { key: "a", native_item_id: null, kind: "message", role: "assistant", content: [] } },
        { type: "delta", key: "a", part: "text", delta: line.text },
        { type: "close", key: "a", status: "completed" },
      ];
    case "stop":
      return [{ type: "end", reason: "completed" }];
  }
}
`;

/** A built copy of this repository that has Acme too; gives the path of its CLI. */
export async function withAcme(folder: string): Promise<string> {
  for (const path of ["bin", "src", "web", "scripts", "package.json"]) {
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  mkdirSync(join(folder, "src/adapters/acme"));
  writeFileSync(join(folder, "src/dialects/acme.ts"), dialect);
  writeFileSync(join(folder, "src/adapters/acme/index.ts"), adapter);
  writeFileSync(join(folder, "src/adapters/acme/translate.ts"), translate);
  const list = join(folder, "src/adapters/index.ts");
  const added = readFileSync(list, "utf8")
    .replace("import { amp }", 'import { acme } from "./acme/index.ts";\nimport { amp }')
    .replace(/= \[\s*amp,/, "= [acme, amp,");
  writeFileSync(list, added);
  await promisify(execFile)(process.execPath, [join(folder, "scripts/build.js"), "--no-types"]);
  return join(folder, "bin/franca.js");
}

/** Programs that note the names of their variables, once when asked for their version and once when they work. */
export function offerPrograms(folder: string): void {
  const says = {
    acme: [{ type: "hello", thread: "t-1" }, { type: "say", text: "Beep." }, { type: "stop" }],
    claude: [{ ...claudeResult, type: "result", subtype: "success", session_id: "a", uuid: "b", is_error: false }],
  };
  for (const [name, lines] of Object.entries(says)) {
    const path = join(folder, name);
    const work = `
const asked = process.argv.includes("--version");
require("node:fs").writeFileSync(__filename + (asked ? ".version" : ".work"), JSON.stringify(process.env));
if (asked) console.log("1.2.3");
else require("node:readline").createInterface({ input: process.stdin }).on("line", (text) => {
  const line = JSON.parse(text);
  if (line.type === "user" || line.say) for (const said of ${JSON.stringify(lines)}) console.log(JSON.stringify(said));
});`;
    writeFileSync(path, `#!${process.execPath}\n${work}\n`);
    chmodSync(path, 0o755);
  }
}

const claudeResult = {
  duration_ms: 1,
  duration_api_ms: 1,
  num_turns: 1,
  result: "",
  total_cost_usd: 0,
  usage: {},
  modelUsage: {},
  permission_denials: [],
};

export const notedBy = (folder: string, file: string): Record<string, string> =>
  JSON.parse(readFileSync(join(folder, file), "utf8"));
