/** The real Codex when it is stopped, killed, shared and resumed. `npm run test:agents -- codex` */
import { expect, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import {
  answerOf,
  calls,
  checked,
  describeCodex,
  ends,
  isResultStarted,
  items,
  runs,
  says,
  seen,
  slowly,
} from "../support/codex-agent.ts";
import { eventually, type Process, processesIn } from "../support/processes.ts";
import { turn } from "../support/sessions.ts";

describeCodex("codex: lifecycle", (start) => {
  test("an abort during a command: the turn ends at once and the command is dead", async () => {
    const codex = await start({
      turns: [runs("echo started; sleep 300; touch late.txt", { yield_time_ms: 30_000 }), says("Here.")],
    });
    const id = await codex.create("s");
    await codex.sessions.prompt(id, { text: "go" });
    await seen(codex.sessions, id, isResultStarted);
    await eventually(() => sleepers(codex.work).length > 0, { withinMs: 10_000 });
    await codex.sessions.abort(id, { clearQueue: false });
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended");
    await eventually(() => sleepers(codex.work).length === 0, { withinMs: 2_000 });
    expect(answerOf(await turn(codex.sessions, id, "still there?"))).toBe("Here.");
    expect(ends(await checked(codex, id)).map(({ reason }) => reason)).toEqual(["aborted", "completed"]);
  });

  test("a command that outlives its turn is named, and ends later, outside a turn", async () => {
    const codex = await start({
      turns: [runs("sleep 3; echo done", { yield_time_ms: 500 }), says("It goes on.")],
    });
    const id = await codex.create("s");
    const events = await turn(codex.sessions, id, "go");
    expect(ends(events)).toMatchObject([{ reason: "completed", background: [{ kind: "command" }] }]);
    const late = await seen(codex.sessions, id, (event) => event.type === "item.completed" && event.turn_id === null);
    if (late.type !== "item.completed") throw new Error(late.type);
    expect(late.data.item.content).toMatchObject([{ type: "tool_result", output: "done\n", exit_code: 0 }]);
    await checked(codex, id);
  });

  test("kill -9 ends the turn with the exit as evidence; the next prompt resumes the same conversation", async () => {
    const codex = await start({
      turns: [says("The word is heron."), slowly("This will be cut off by somebody."), says("It was heron.")],
    });
    const id = await codex.create("s");
    await turn(codex.sessions, id, "remember");
    const { nativeSessionId } = await codex.sessions.get(id);
    const { sequence } = await codex.sessions.prompt(id, { text: "talk" });
    await seen(codex.sessions, id, ({ type }) => type === "item.delta", { after: sequence });
    for (const pid of appServers(codex.work)) process.kill(pid, "SIGKILL");
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended", { after: sequence });
    expect(answerOf(await turn(codex.sessions, id, "what was it?"))).toBe("It was heron.");
    const log = await checked(codex, id);
    expect(ends(log)).toMatchObject([
      { reason: "completed" },
      { reason: "error", evidence: "exit", error: { code: "agent_exited" } },
      { reason: "completed" },
    ]);
    expect((await codex.sessions.get(id)).nativeSessionId).toBe(nativeSessionId);
    expect(codex.server.requests.at(-1)?.messages).toContain("The word is heron.");
    // The resumed thread repeats its total: it is not counted again.
    expect((await codex.sessions.get(id)).usage.tokens).toMatchObject({ input: 200, output: 40 });
  });

  test("after a restart of the daemon the conversation goes on", async () => {
    const codex = await start({ turns: [says("The word is heron."), says("It was heron.")] });
    const id = await codex.create("s");
    await turn(codex.sessions, id, "remember");
    await codex.reopen();
    expect(answerOf(await turn(codex.sessions, id, "what was it?"))).toBe("It was heron.");
    expect(codex.server.requests.at(-1)?.messages).toContain("The word is heron.");
    expect((await codex.sessions.get(id)).usage.tokens).toMatchObject({ input: 200, output: 40 });
    await checked(codex, id);
  });

  test("two sessions work in one app-server at once; the end of one does not touch the other", async () => {
    const said = (text: string) => `"input_text","text":"${text}"`;
    const codex = await start({
      turns: [says("Nobody.")],
      side: [
        {
          name: "left",
          match: { messageContains: said("left") },
          turns: [slowly("Left speaks."), says("Left again.")],
        },
        {
          name: "right",
          match: { messageContains: said("right") },
          turns: [runs("sleep 300", { yield_time_ms: 30_000 })],
        },
      ],
    });
    const [left, right] = [await codex.create("left"), await codex.create("right")];
    const running = turn(codex.sessions, left, "left");
    await codex.sessions.prompt(right, { text: "right" });
    await seen(codex.sessions, right, isResultStarted);
    const events = await running;
    expect(answerOf(events)).toBe("Left speaks.");
    expect(appServers(codex.work)).toHaveLength(1);
    await eventually(() => sleepers(codex.work).length > 0, { withinMs: 10_000 });
    await codex.sessions.terminate(right);
    await eventually(() => sleepers(codex.work).length === 0, { withinMs: 2_000 });
    expect(answerOf(await turn(codex.sessions, left, "left"))).toBe("Left again.");
    expect(ends(await checked(codex, left)).map(({ reason }) => reason)).toEqual(["completed", "completed"]);
    expect(ends(await checked(codex, right)).map(({ reason }) => reason)).toEqual(["aborted"]);
  });

  test("a spawned agent's work is the session's, marked as the agent's", async () => {
    const codex = await start({
      turns: [
        calls({ id: "spawn", name: "multi_agent_v1.spawn_agent", input: { message: "CHILDTASK list the files" } }),
        slowly("The parent goes on meanwhile, and takes its time."),
        // Codex tells the parent that its agent is done, and asks the model once more.
        says(" All done."),
      ],
      side: [
        {
          name: "child",
          match: { messageContains: '"input_text","text":"CHILDTASK' },
          turns: [runs("ls"), says("The child is done.")],
        },
      ],
    });
    const id = await codex.create("s", { model: "scripted-model" });
    const events = await turn(codex.sessions, id, "use an agent");
    await seen(codex.sessions, id, (event) => {
      return event.type === "item.completed" && event.data.item.kind === "status" && isSubagent(event);
    });
    const log = await checked(codex, id);
    expect(ends(log)).toHaveLength(1);
    expect(answerOf(events)).toBe("The parent goes on meanwhile, and takes its time. All done.");
    const work = items(log).filter(({ subagent }) => subagent !== undefined);
    expect(work.every(({ subagent }) => subagent?.parent_call_id === "spawn")).toBe(true);
    expect(work.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["tool_call", "tool_result", "message", "status"]),
    );
    expect(codex.server.requests.filter(({ conversation }) => conversation === "child")).toHaveLength(2);
    // Five model calls, two of them the child's: each is counted once.
    expect((await codex.sessions.get(id)).usage.tokens).toMatchObject({ input: 500, output: 100 });
  });

  test("compaction and a command of the user's are turns without a prompt", async () => {
    const codex = await start({ turns: [says("First."), says("A summary."), says("After it.")] });
    const id = await codex.create("s");
    await turn(codex.sessions, id, "hello");
    const { lastSequence } = await codex.sessions.get(id);
    await codex.sessions.compact(id);
    const ended = await seen(codex.sessions, id, ({ type }) => type === "turn.ended", { after: lastSequence });
    await codex.sessions.shell(id, "echo from the user");
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended", { after: ended.sequence });
    await turn(codex.sessions, id, "go on");
    const log = await checked(codex, id);
    expect(ends(log).map(({ reason }) => reason)).toEqual(["completed", "completed", "completed", "completed"]);
    expect(log.some((event) => event.type === "turn.state" && event.data.state === "compacting")).toBe(true);
    expect(items(log).flatMap(({ content }) => content)).toContainEqual(
      expect.objectContaining({ type: "tool_result", output: "from the user\n" }),
    );
  });

  test("an unknown conversation is refused with its name, and the turn ends", async () => {
    const codex = await start({ turns: [says("Never.")] });
    const id = await codex.create("s", { nativeSessionId: "01a1e0eb-1ef3-7a50-87ac-1b9d04076000" });
    const events = await turn(codex.sessions, id, "hello");
    expect(ends(events)).toMatchObject([{ reason: "error", error: { code: "native_session_not_found" } }]);
    expect(items(events).filter(({ role }) => role === "user")).toHaveLength(1);
    await checked(codex, id);
  });
});

const isSubagent = (event: UniversalEvent): boolean =>
  event.type === "item.completed" && event.data.item.subagent !== undefined;

const sleepers = (folder: string): Process[] => processesIn(folder).filter(({ command }) => /^sleep 300/.test(command));

/** The app-servers themselves, not the wrapper that starts them. */
const appServers = (folder: string): number[] =>
  processesIn(folder)
    .filter(({ command }) => /app-server/.test(command) && !/^\S*node\s/.test(command))
    .map(({ pid }) => pid);
