/** The folder and the rule sets of the corpus of command lines. */
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judge, type Verdict } from "../../src/permissions/engine.ts";
import type { Inspection, RequestedAction } from "../../src/permissions/inspection.ts";
import type { RememberedScope } from "../../src/permissions/scopes.ts";
import type { PermissionRule } from "../../src/protocol/requests.ts";
import { inspectAction } from "../../src/runtime/inspect-action.ts";
import { temporaryFolder } from "../support/folders.ts";

export const rule = (action: PermissionRule["action"], permission: string, pattern = "*"): PermissionRule => ({
  permission,
  pattern,
  action,
});

/** The five rule sets of the corpus, in the order of the letters of a verdict. */
export const ruleSets: readonly (readonly [name: string, rules: readonly PermissionRule[]])[] = [
  ["* allow, touch * deny", [rule("allow", "bash"), rule("deny", "bash", "touch *")]],
  ["* ask, echo * allow", [rule("ask", "bash"), rule("allow", "bash", "echo *")]],
  ["git status* allow", [rule("allow", "bash", "git status*")]],
  ["* allow", [rule("allow", "bash")]],
  [
    "npm test allow, external_directory allow",
    [rule("allow", "bash", "npm test"), rule("allow", "external_directory")],
  ],
];

export interface Fixture {
  readonly directory: string;
  readonly outside: string;
}

/** A session's folder with links that lead out of it and to a hook, next to a folder with a secret. */
export function openFixture(): Fixture {
  const root = realpathSync(temporaryFolder());
  const directory = join(root, "project");
  const outside = join(root, "outside");
  for (const folder of [directory, outside, join(directory, "sub"), join(directory, "src")]) mkdirSync(folder);
  mkdirSync(join(directory, ".git", "hooks"), { recursive: true });
  for (const file of ["a.txt", "sub/a.txt", "script.sh", ".git/config"]) writeFileSync(join(directory, file), "text\n");
  writeFileSync(join(outside, "secret"), "secret\n");
  symlinkSync(outside, join(directory, "link"));
  symlinkSync(join(outside, "secret"), join(directory, "link.txt"));
  symlinkSync(join(directory, ".git", "hooks"), join(directory, "hooks"));
  return { directory, outside };
}

export interface Question {
  readonly rules: readonly PermissionRule[];
  readonly remembered?: readonly RememberedScope[];
  readonly names?: readonly string[];
}

/** Inspects a command in the fixture and judges it. */
export async function judgeCommand(command: string, { directory }: Fixture, question: Question): Promise<Verdict> {
  const action: RequestedAction = { kind: "command", command };
  return judgeInspected({ action, inspection: await inspectAction(action, directory), directory }, question);
}

export const judgeInspected = (
  inspected: { action: RequestedAction; inspection: Inspection | null; directory: string },
  { rules, remembered = [], names = ["bash"] }: Question,
): Verdict => judge({ ...inspected, rules, remembered, names });
