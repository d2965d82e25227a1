/** Real ACP agents from npm, with a scripted model: one end per turn, the right reason, files really changed. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import {
  AFTER,
  calls,
  openReal,
  type Real,
  type RealAgent,
  ran,
  realAgents,
  says,
  slowly,
} from "../support/acp-real.ts";
import { eventually, killIfAlive, processesIn } from "../support/processes.ts";
import { describeNeeding } from "../support/requires.ts";
import { wholeLog } from "../support/sessions.ts";

const WAIT_MS = 60_000;

const variable = (name: string): string => `FRANCA_TEST_${name.toUpperCase().replaceAll("-", "_")}`;

/** Agents whose permission requests do not contain the command. */
const hidesCommand: ReadonlySet<string> = new Set(["gemini", "opencode-acp"]);

for (const real of realAgents) {
  const [program, node] = [process.env[variable(real.agent)], process.env[variable("node")]];
  const missing = program === undefined || node === undefined ? `${variable(real.agent)} is not set` : null;
  describeNeeding(real.agent, { missing }, () => suite(real, { program: program ?? "", node: node ?? "" }));
}

function suite(real: RealAgent, programs: { readonly program: string; readonly node: string }): void {
  // The first word that a conversation has in it counts: one that comes later in a session stands before.
  const scripts = (work: string) => ({
    SLUMBER: [calls(real.command("echo begun > begun.txt; sleep 300; echo on > survived.txt")), says("It slept.")],
    EDIT: [...real.edit(join(work, "README.md")).map(calls), says("Edited.")],
    RUN: [...twice(real.command("echo out >> ran.txt")), says("It ran.")],
    DENY: [calls(real.command("echo out > denied.txt")), says("You did not want that.")],
    STORY: [slowly],
    BROKEN: [{ type: "status" as const, status: 400, message: "Scripted refusal" }],
  });
  const using = async (body: (one: Real) => Promise<void>): Promise<void> => {
    const one = await openReal(real, { ...programs, scripts });
    try {
      await body(one);
    } finally {
      await one.close();
    }
  };

  // Most of a test is waiting for a program that starts.
  describe.concurrent("with a scripted model", () => {
    test("text, an edit that is allowed, and a command that is always allowed", () =>
      using(async (one) => {
        const id = await one.create("work");
        expect(await ran(one, id, { text: "Hi" })).toMatchObject({ reason: "completed", text: "Hello." });
        const edited = await ran(one, id, { text: "EDIT it" });
        expect(edited).toMatchObject({ reason: "completed", evidence: "signal" });
        expect(readFileSync(join(one.work, "README.md"), "utf8")).toContain(AFTER);
        const command = await one.create("command");
        const always = await ran(one, command, { text: "RUN it", reply: "always" });
        // It is called twice. An agent that does not send the command is asked each time.
        expect(always).toMatchObject({ reason: "completed", asked: hidesCommand.has(real.agent) ? 2 : 1 });
        expect(readFileSync(join(one.work, "ran.txt"), "utf8")).toBe("out\nout\n");
        await expectExact(one, [id, command]);
      }));

    test("a refused command does not run, and a refused request of the provider is an error", () =>
      using(async (one) => {
        const denied = await one.create("denied");
        const refusal = await ran(one, denied, { text: "DENY it", reply: "reject" });
        expect(refusal.asked).toBe(1);
        expect(refusal.reason).toBe(real.rejected);
        expect(existsSync(join(one.work, "denied.txt"))).toBe(false);
        const broken = await one.create("broken");
        expect((await ran(one, broken, { text: "BROKEN" })).reason).toBe("error");
        await expectExact(one, [denied, broken]);
      }));

    test.runIf(real.drafts)("version 2: its states begin and end the turns, an edit and a failure among them", () =>
      using(async (one) => {
        const version2 = { FRANCA_ACP_VERSION: "2" };
        const id = await one.create("draft", version2);
        expect(await ran(one, id, { text: "Hi" })).toMatchObject({ reason: "completed", text: "Hello." });
        expect((await ran(one, id, { text: "EDIT it" })).reason).toBe("completed");
        expect(readFileSync(join(one.work, "README.md"), "utf8")).toContain(AFTER);
        const broken = await one.create("broken", version2);
        expect((await ran(one, broken, { text: "BROKEN" })).reason).toBe("error");
        const story = await one.create("story", version2);
        const abort = once(async () => one.sessions.abort(story, { clearQueue: false }));
        expect((await ran(one, story, { text: "Tell me a STORY", during: abort })).reason).toBe("aborted");
        await expectExact(one, [id, broken, story]);
        const native = await one.sessions.native(id, { offset: 0, limit: 3 });
        expect(JSON.stringify(native)).toContain('"protocolVersion":2');
      }),
    );

    test("abort in text and in a command, kill -9 and a restart: the session goes on each time, and nothing is said twice", () =>
      using(async (one) => {
        const id = await one.create("story");
        await ran(one, id, { text: "Hi" });
        const aborted = await ran(one, id, {
          text: "Tell me a STORY",
          during: once(async () => one.sessions.abort(id, { clearQueue: false })),
        });
        expect(aborted.reason).toBe("aborted");
        await expectStopped(one, id);
        const other = await one.create("killed");
        const killed = await ran(one, other, {
          text: "Tell me a STORY",
          during: once(async () => {
            for (const { pid } of processesIn(one.work)) killIfAlive(pid);
          }),
        });
        expect(killed).toMatchObject({ reason: "error", evidence: "exit" });
        await one.reopen();
        const fresh = await one.create("fresh");
        expect((await ran(one, fresh, { text: "Hi" })).reason).toBe("completed");
        await expectExact(one, [id, other, fresh]);
      }));

    test.skipIf(real.forgets)(
      "after a restart of the daemon the conversation is loaded, and its past is in the log once",
      () =>
        using(async (one) => {
          const id = await one.create("again");
          await ran(one, id, { text: "Hi" });
          await one.reopen();
          expect(await ran(one, id, { text: "Go on" })).toMatchObject({ reason: "completed", text: "Hello." });
          const log = await wholeLog(one.sessions, id);
          const said = log.map((event) => (event.type === "item.delta" ? event.data.delta : "")).join("");
          expect(said.replaceAll("Hello.", "")).toBe("");
          expect(said).toBe("Hello.Hello.");
        }),
    );
  });
}

const twice = (tool: Parameters<typeof calls>[0]) => [calls(tool), calls(tool)];

/** Acts on the first words of the model. */
function once(act: () => Promise<void>): (event: UniversalEvent) => Promise<void> {
  let done = false;
  return async (event) => {
    if (done || event.type !== "item.delta") return;
    done = true;
    await act();
  };
}

/** A command that is cancelled is really ended. */
async function expectStopped(one: Real, id: Parameters<typeof wholeLog>[1]): Promise<void> {
  const running = ran(one, id, { text: "SLUMBER now" });
  await eventually(() => existsSync(join(one.work, "begun.txt")), { withinMs: WAIT_MS });
  await one.sessions.abort(id, { clearQueue: false });
  expect((await running).reason).toBe("aborted");
  const sleeps = (): boolean => processesIn(one.work).some(({ command }) => command.includes("sleep 300"));
  await eventually(() => !sleeps(), { withinMs: WAIT_MS });
  expect(existsSync(join(one.work, "survived.txt"))).toBe(false);
}

/** One end per turn, nothing open, every line understood. */
async function expectExact({ sessions }: Real, ids: Parameters<typeof wholeLog>[1][]): Promise<void> {
  for (const id of ids) {
    const log = await wholeLog(sessions, id);
    const count = (type: UniversalEvent["type"]): number => log.filter((event) => event.type === type).length;
    expect(count("turn.ended")).toBe(count("turn.started"));
    expect(count("item.completed")).toBe(count("item.started"));
    expect(log.filter((event) => event.type === "agent.unparsed")).toEqual([]);
  }
}
