/** The owner of a session is killed in mid-flood, at another place each time: nothing that was published is lost. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleOwner, startOwner } from "../support/run-owner.ts";
import { open, removeFolder, session, spoken, tempFolder, turn, until, wholeLog } from "../support/sessions.ts";

let bundle: string;
beforeAll(async () => {
  bundle = await bundleOwner();
});
afterAll(() => rmSync(bundle, { force: true }));

const id = session("victim");
const seeds = Array.from({ length: 20 }, (_, seed) => seed);

test.concurrent.each(seeds)("seed %i", async (seed) => {
  const folder = tempFolder();
  const victim = startOwner(bundle, folder);
  try {
    await victim.until(({ type }) => type === "ready");
    victim.order({ type: "create", session: id, agent: "fake", directory: folder });
    victim.order({ type: "prompt", session: id, text: "flood 1000000" });
    victim.order({ type: "prompt", session: id, text: "echo from the queue" });
    const prompted = () => victim.reports.flatMap((report) => (report.type === "prompted" ? [report.promptId] : []));
    const groups = () => victim.reports.filter(({ type }) => type === "published").length;
    await victim.until(() => prompted().length === 2 && groups() >= 6 + ((seed * 7) % 20));
  } finally {
    await victim.kill();
  }
  const published = Math.max(...victim.reports.map((report) => (report.type === "published" ? report.last : 0)));
  const queued = victim.reports.flatMap((report) => (report.type === "prompted" ? [report.promptId] : []))[1];

  const sessions = await open(folder);
  try {
    const log = await wholeLog(sessions, id);
    expect(log.length).toBeGreaterThanOrEqual(published);
    const cut = log.find((event) => event.type === "turn.ended");
    expect(cut).toMatchObject({ data: { reason: "interrupted", evidence: "restart" } });
    const unclosed = new Set<string>();
    for (const event of log.slice(0, cut?.sequence)) {
      if (event.type === "item.started") unclosed.add(event.data.item.item_id);
      if (event.type === "item.completed") unclosed.delete(event.data.item.item_id);
    }
    expect([...unclosed]).toEqual([]);
    const begun = await until(sessions, id, { type: "turn.started", after: cut?.sequence ?? 0 });
    expect(begun.data).toMatchObject({ prompt_id: queued, origin: "queue" });
    const done = await until(sessions, id, { type: "turn.ended", after: begun.sequence });
    expect(done.data).toMatchObject({ reason: "completed", evidence: "signal" });
    expect((await sessions.get(id)).queue).toEqual([]);
    expect(spoken(await turn(sessions, id, "echo next"))).toBe("next");
  } finally {
    await sessions.close();
    removeFolder(folder);
  }
});
