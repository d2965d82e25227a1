/** Budgets over a session and those that its agent has started. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mock } from "../../src/adapters/mock/index.ts";
import type { Adapter } from "../../src/core/adapter.ts";
import type { SessionBudget } from "../../src/protocol/budget.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { endOf, open, removeFolder, session, tempFolder, turn, until } from "../support/sessions.ts";

let folder: string;
let sessions: Sessions | null = null;

beforeEach(() => {
  folder = tempFolder();
});
afterEach(async () => {
  await sessions?.close();
  sessions = null;
  removeFolder(folder);
});

describe("a session and those that its agent has started", () => {
  const delegating: Adapter = { ...mock, capabilities: { ...mock.capabilities, mcp: true } };
  const server = { command: "franca", args: ["mcp"] };
  const options = { adapters: [delegating], serveDelegate: () => ({ server, end: () => {} }) };

  /** In the middle of a turn, as an agent that hands on work is. */
  async function begin(all: Sessions, budget: SessionBudget): Promise<SessionId> {
    const root = session("root");
    await all.create(root, { agent: "mock", directory: folder, delegate: true, budget });
    await all.prompt(root, { text: "permission" });
    await until(all, root, { type: "permission.requested" });
    return root;
  }
  const limit = { steps: 3 };

  test("share the root's budget: a child stops at once when it is used up, the root in mid-turn", async () => {
    let all = await open(folder, options);
    sessions = all;
    const root = await begin(all, { session: limit });
    const child = await all.delegates.start(root, { agent: "mock" });
    const other = await all.delegates.start(root, { agent: "mock" });
    const reasons: (string | undefined)[] = [];
    for (const id of [child, other, child, other]) reasons.push(endOf(await turn(all, id, "hello"))?.reason);
    expect(reasons[0]).toBe("completed");
    expect(reasons.at(-1)).toBe("budget");
    expect((await until(all, root, { type: "turn.ended" })).data).toMatchObject({ reason: "budget" });
    // A restart forgets nothing of it.
    await all.close();
    all = await open(folder, options);
    sessions = all;
    expect(endOf(await turn(all, child, "hello"))?.reason).toBe("budget");
    expect(endOf(await turn(all, root, "hello"))?.reason).toBe("budget");
  });

  test("what a child uses during a prompt counts in the prompt's budget; what it used before does not", async () => {
    const all = await open(null, options);
    sessions = all;
    const root = await begin(all, {});
    const child = await all.delegates.start(root, { agent: "mock" });
    for (let count = 0; count < 3; count += 1) await turn(all, child, "hello");
    await all.abort(root, { clearQueue: false });
    const ended = await until(all, root, { type: "turn.ended" });
    expect(ended.data.reason).toBe("aborted");
    await all.prompt(root, { text: "permission", budget: limit });
    await until(all, root, { type: "permission.requested", after: ended.sequence });
    for (let count = 0; count < 3; count += 1) await turn(all, child, "hello");
    expect((await until(all, root, { type: "turn.ended", after: ended.sequence })).data).toMatchObject({
      reason: "budget",
      error: { details: { scope: "prompt", kind: "steps" } },
    });
  });
});
