/** An imaginary dialect, added as ARCHITECTURE says: a folder and one line. Every command and route then speaks it. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../../src/sdk/index.ts";
import { copyProject } from "../../support/copied-project.ts";
import { franca, serve } from "../../support/daemon.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { transcriptsFolder } from "../../support/transcripts.ts";

const folder = `/** Acme: a bell when a turn begins and another when it ends. */
import { defineRules } from "../../core/lint.ts";
import { defineProjection } from "../../core/projection.ts";
import type { UniversalEvent } from "../../protocol/events.ts";

type Bell = { readonly bell: "begin" | "end" | "never" };

const bells = ({ type }: UniversalEvent): Bell[] =>
  type === "turn.started" ? [{ bell: "begin" }] : type === "turn.ended" ? [{ bell: "end" }] : [];

export const acme = defineProjection({
  name: "acme",
  summary: "a bell for every turn",
  form: "json",
  file: "acme.jsonl",
  sessions: "each",
  fold: () => ({ start: () => null, step: (_state: null, event) => bells(event) }),
  rules: defineRules({
    dialect: "acme",
    rules: [{ id: "acme.rings", says: "It rings.", check: () => ({ step: ({ bell }) => (bell === "never" ? ["silence"] : []) }) }],
    isEvent: (value): value is Bell => typeof value === "object" && value !== null && "bell" in value,
  }),
  lane: { title: "Acme", share: 10, summarise: ({ bell }) => \`ding \${bell}\`, isEdge: () => true },
  ending: { isLast: ({ bell }) => bell === "end", missing: (run) => ({ bell: "never", ...run }) },
});
`;

const rung = '{"bell":"begin"}\n{"bell":"end"}\n';

// It builds the program once more.
test("a new dialect is a folder and one line of the registry", { timeout: 90_000 }, async () => {
  const project = copyProject();
  project.add("src/projections/acme/index.ts", folder);
  project.edit("src/projections/index.ts", {
    from: "export const projections: readonly Projection[] = [",
    to: 'import { acme } from "./acme/index.ts";\nexport const projections: readonly Projection[] = [acme, ',
  });
  const executable = project.build();
  const home = temporaryFolder();
  const recording = join(transcriptsFolder, "mock", "echo", "native.jsonl");
  const program = (...args: string[]) => franca(args, { home, executable });

  expect((await program("convert", "--to", "acme", recording)).stdout).toBe(rung);
  expect((await program("lanes", recording)).stdout).toMatch(
    /^ *native +universal +Acme +OpenCode +Takopi +ACP +why\n/,
  );

  const lint = await franca(["lint", "--dialect", "acme"], {
    home,
    executable,
    input: `${rung}{"bell":"never"}\n{}\n`,
  });
  expect([lint.code, lint.stdout.match(/acme\.\w+: .*/g)]).toEqual([
    1,
    ["acme.rings: silence (docs/rules.md#acme.rings)", "acme.shape: not an event: {} (docs/rules.md#acme.shape)"],
  ]);

  // The last bell says how the run ended, so the exit code of a failed turn is 0.
  const failed = await program("run", "--agent", "mock", "--format", "acme", "--", "error");
  expect([failed.code, failed.stdout]).toEqual([0, rung]);
  const missing = await program("run", "--agent", "nobody", "--format", "acme", "--", "hello");
  expect([missing.code, JSON.parse(missing.stdout)]).toEqual([
    0,
    { bell: "never", agent: "nobody", problem: expect.stringContaining("nobody") },
  ]);

  const { url } = await serve({ home, executable, args: ["--port", "0", "--no-token"] });
  const session = await connect({ url }).create({ agent: "mock", directory: home });
  for await (const _event of session.ask("echo hello"));
  expect((await program("sessions", "export", "--to", "acme", session.id)).stdout).toBe(rung);
  const stop = new AbortController();
  const response = await fetch(`${url}/v1/sessions/${session.id}/events/sse?format=acme`, { signal: stop.signal });
  const frames: string[] = [];
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    frames.push(...[...chunk.matchAll(/^data: (.*)$/gm)].map(([, data]) => `${data}\n`));
    if (frames.length === 2) break;
  }
  stop.abort();
  expect(frames.join("")).toBe(rung);
});
