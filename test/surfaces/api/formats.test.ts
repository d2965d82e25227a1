/** The same session's events in other dialects, over the same route. */
import { expect, test } from "vitest";
import { sessionId } from "../../../src/protocol/ids.ts";
import { startDaemon } from "../../support/daemon.ts";
import { problemsIn } from "../../support/dialects.ts";

async function told(url: string, last: string): Promise<{ id: string | null; data: Record<string, unknown> }[]> {
  const stop = new AbortController();
  const response = await fetch(url, { signal: stop.signal });
  const frames: { id: string | null; data: Record<string, unknown> }[] = [];
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString("utf8");
    const whole = text.split("\n\n");
    text = whole.pop() ?? "";
    for (const frame of whole) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data !== undefined) frames.push({ id: /^id: (.*)$/m.exec(frame)?.[1] ?? null, data: JSON.parse(data) });
    }
    if (frames.some(({ data }) => data.type === last)) break;
  }
  stop.abort();
  return frames;
}

test.each([
  { format: "takopi", last: "completed" },
  { format: "opencode", last: "session.idle" },
])("$format", async ({ format, last }) => {
  const daemon = await startDaemon();
  const id = sessionId("formats");
  await daemon.sessions.create(id, { agent: "mock", directory: daemon.directory });
  await daemon.sessions.prompt(id, { text: "tool" });
  const url = `${daemon.url}/v1/sessions/${id}/events/sse?format=${format}`;
  const all = await told(url, last);
  expect(
    problemsIn(
      format,
      all.map(({ data }) => data),
    ),
  ).toEqual([]);
  const middle = all.findIndex((frame, index) => index > 3 && frame.id !== null);
  const rest = await told(`${url}&offset=${all[middle]?.id}`, last);
  expect(rest).toEqual(all.slice(middle + 1));
  expect((await fetch(`${url}x`)).status).toBe(400);
});
