/** `franca doctor` where only the given agents' programs are found. */
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { franca, type Ran } from "./daemon.ts";
import { temporaryFolder } from "./folders.ts";
import { describeNeeding } from "./requires.ts";

/** A script for Node, or where the program is. */
export type Program = { readonly script: string } | { readonly path: string };

export interface Examined extends Ran {
  /** Folders that it should have removed. */
  readonly left: readonly string[];
}

export async function doctor(
  args: readonly string[],
  programs: Readonly<Record<string, Program>> = {},
): Promise<Examined> {
  const home = temporaryFolder();
  const [bin, temporary] = [join(home, "bin"), join(home, "tmp")];
  for (const path of [bin, temporary]) mkdirSync(path);
  for (const [name, program] of Object.entries(programs)) offer(join(bin, name), program);
  const PATH = [bin, dirname(process.execPath), "/usr/bin", "/bin"].join(":");
  const ran = await franca(["doctor", ...args], {
    home,
    env: { PATH, TMPDIR: temporary, ANTHROPIC_API_KEY: "mine", OPENAI_API_KEY: "mine" },
  });
  return { ...ran, left: readdirSync(temporary).filter((name) => name.startsWith("franca-doctor-")) };
}

function offer(place: string, program: Program): void {
  if ("path" in program) return symlinkSync(program.path, place);
  writeFileSync(place, `#!${process.execPath}\n${program.script}\n`);
  chmodSync(place, 0o755);
}

export const findings = ({ stdout }: Ran) => JSON.parse(stdout).agents;

/** With the real program: all is well, and every line is understood. */
export function describeWell(agent: string): void {
  const variable = `FRANCA_TEST_${agent.toUpperCase()}`;
  const path = process.env[variable] ?? "";
  const missing = path === "" ? `${variable} does not name the program` : null;
  describeNeeding(`doctor: ${agent}`, { missing }, () => {
    test("a scripted turn changes the file, every line is understood, nothing is left", async () => {
      const ran = await doctor([agent, "--json"], { [agent]: { path } });
      expect(findings(ran)).toEqual([
        expect.objectContaining({
          agent,
          state: "well",
          turn: "completed",
          changed: true,
          unparsed: 0,
          violations: [],
        }),
      ]);
      expect([ran.code, ran.left]).toEqual([0, []]);
    });
  });
}
