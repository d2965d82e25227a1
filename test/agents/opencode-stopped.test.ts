/** The real OpenCode, stopped, killed and cut off. Run by `npm run test:agents -- opencode`. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EventOf } from "../../src/protocol/events.ts";
import { items, prompt, rest, results, streaming, texts } from "../support/agent-turns.ts";
import {
  asked,
  bash,
  calls,
  completed,
  expectSound,
  type OpenCodeLab,
  openLab,
  says,
} from "../support/opencode-lab.ts";
import { cuttableServer } from "../support/opencode-relay.ts";
import { endOf, spoken, turn, until, wholeLog } from "../support/sessions.ts";

const program = process.env.FRANCA_TEST_OPENCODE;

describe.skipIf(program === undefined)("opencode", () => {
  let lab: OpenCodeLab;
  beforeAll(async () => {
    lab = await openLab(program ?? "");
  });
  afterAll(() => lab?.close());

  const aborted = { reason: "aborted", evidence: "signal" };

  test("abort while text streams, and the next prompt runs", async () => {
    const hang = { type: "hang", afterChunks: 2 } as const;
    const begun = await lab.begin([says("Never said to the end", { fault: hang }), says("Here again.")]);
    const { id } = begun;
    const delta = await streaming(lab.sessions, id, await prompt(lab.sessions, begun.id, "talk"));
    await lab.sessions.abort(id, { clearQueue: false });
    const events = await rest(lab.sessions, id, delta.sequence);
    expect(endOf(events)).toEqual(aborted);
    expect(items(events).map(({ status }) => status)).toEqual(["failed"]);
    expect(spoken(await turn(lab.sessions, id, "still there?"))).toBe("Here again.");
    await expectSound(lab, begun);
  });

  test("abort in a tool ends the command too", async () => {
    const begun = await lab.begin([calls(bash("echo begun; sleep 300")), says("Later.")]);
    const { id } = begun;
    const output = await streaming(lab.sessions, id, await prompt(lab.sessions, begun.id, "sleep"));
    expect(output.data).toMatchObject({ part: "tool_output", delta: "begun\n" });
    await lab.sessions.abort(id, { clearQueue: false });
    const events = await rest(lab.sessions, id, output.sequence);
    expect(endOf(events)).toEqual(aborted);
    expect(results(events)[0]).toMatchObject({ is_error: true });
    expect(endOf(await turn(lab.sessions, id, "go on"))).toEqual(completed);
    await expectSound(lab, begun);
  });

  test("abort while a permission is open resolves it", async () => {
    const begun = await lab.begin([calls(bash("touch never.txt")), says("Later.")]);
    const { id } = begun;
    const request = await asked(lab.sessions, id, await prompt(lab.sessions, begun.id, "make a file"));
    await lab.sessions.abort(id, { clearQueue: false });
    const events = await rest(lab.sessions, id, request.sequence);
    expect(endOf(events)).toEqual(aborted);
    const resolved = events.filter(
      (event): event is EventOf<"permission.resolved"> => event.type === "permission.resolved",
    );
    expect(resolved.map(({ data }) => data.status)).toEqual(["reject"]);
    expect((await lab.sessions.get(id)).pendingPermissions).toEqual([]);
    expect(endOf(await turn(lab.sessions, id, "go on"))).toEqual(completed);
    await expectSound(lab, begun);
  });

  test("abort while idle changes nothing; abort right after the prompt stops it", async () => {
    const begun = await lab.begin([says("One."), says("Two, slowly.", { chunkDelayMs: 300 }), says("Three.")]);
    const { id } = begun;
    await turn(lab.sessions, id, "first");
    const before = (await wholeLog(lab.sessions, id)).length;
    await lab.sessions.abort(id, { clearQueue: false });
    const sequence = await prompt(lab.sessions, begun.id, "second");
    await lab.sessions.abort(id, { clearQueue: false });
    const log = await rest(lab.sessions, id, sequence);
    expect(log[0]?.sequence).toBe(before + 1);
    expect(endOf(log)).toEqual(aborted);
    expect(spoken(await turn(lab.sessions, id, "third"))).toContain("T");
    await expectSound(lab, begun);
  });

  test("killed in mid-turn: the turn ends, and the next prompt goes on with the session in a new server", async () => {
    const hang = { type: "hang", afterChunks: 2 } as const;
    const begun = await lab.begin([
      says("The word is heron."),
      says("Never ends here", { fault: hang }),
      says("It was heron."),
    ]);
    const { id } = begun;
    await turn(lab.sessions, id, "remember a word");
    const delta = await streaming(lab.sessions, id, await prompt(lab.sessions, begun.id, "talk"));
    const killed = lab.pid();
    process.kill(killed, "SIGKILL");
    const events = await rest(lab.sessions, id, delta.sequence);
    expect(endOf(events)).toEqual({ reason: "error", evidence: "exit" });
    expect(items(events).map(({ status }) => status)).toEqual(["failed"]);
    const native = (await lab.sessions.get(id)).nativeSessionId;
    expect(spoken(await turn(lab.sessions, id, "which word?"))).toBe("It was heron.");
    expect(lab.pid()).not.toBe(killed);
    expect((await lab.sessions.get(id)).nativeSessionId).toBe(native);
    expect(lab.model.requests.at(-1)?.messages).toContain("heron");
    await expectSound(lab, begun);
  });

  describe("when its event stream is cut", () => {
    test("in mid-text, nothing is lost and nothing comes twice", async () => {
      const server = await cuttableServer(lab);
      try {
        const env = { ...lab.environment, OPENCODE_SERVER_URL: server.url };
        const text = "One two three four five six seven eight nine ten.";
        const blocks = [{ type: "text", text, chunks: 10 } as const];
        const begun = await lab.begin([says(text, { chunkDelayMs: 200, blocks })], { env });
        server.cutAfter("message.part.delta");
        const delta = await streaming(lab.sessions, begun.id, await prompt(lab.sessions, begun.id, "count"));
        await server.said("message.part.delta", 4);
        server.mend();
        const events = await rest(lab.sessions, begun.id, delta.sequence - 1);
        expect(endOf(events)).toEqual(completed);
        expect(spoken(events)).toBe(text);
        // The first piece came before the cut, the others while nobody listened.
        expect(events.filter(({ type }) => type === "item.delta")).toHaveLength(2);
        expect(texts(events, "assistant")).toEqual([text]);
        await expectSound(lab, begun);
      } finally {
        await server.close();
      }
    });

    test("until after the end, the turn still ends with all that was said", async () => {
      const server = await cuttableServer(lab);
      try {
        const env = { ...lab.environment, OPENCODE_SERVER_URL: server.url };
        const begun = await lab.begin([calls(bash("sleep 0.5; echo ran")), says("All done.")], { env });
        server.cutAfter("message.part.updated");
        const started = await until(lab.sessions, begun.id, {
          type: "item.started",
          after: await prompt(lab.sessions, begun.id, "run"),
        });
        await server.said("session.idle", 1);
        server.mend();
        const events = await rest(lab.sessions, begun.id, started.sequence);
        expect(endOf(events)).toEqual(completed);
        expect(texts(events, "assistant")).toEqual(["All done."]);
        expect(results(events)[0]?.output).toBe("ran\n");
        await expectSound(lab, begun);
      } finally {
        await server.close();
      }
    });
  });
});
