/** A session as a file: native lines (a recording that opens here again), universal events, or Markdown to read. */
import type { NativeLine } from "../../src/protocol/resources.ts";
import { attempt } from "./actions.ts";
import { daemon } from "./link.ts";
import { loadMarkdown } from "./load.ts";
import type { SessionStore } from "./store.ts";

export type ExportForm = "recording" | "events" | "markdown";

const PAGE = 10_000;

export async function exportAs(store: SessionStore, form: ExportForm): Promise<void> {
  const text = await attempt(() => textOf(store, form));
  if (text !== null) save({ name: `${store.id}.${form === "markdown" ? "md" : `${form}.jsonl`}`, text });
}

async function textOf(store: SessionStore, form: ExportForm): Promise<string> {
  switch (form) {
    case "recording": {
      const lines = await nativeLines(store);
      return lines
        .map(({ time, from, native }) => `${JSON.stringify({ t: Date.parse(time), from, line: native })}\n`)
        .join("");
    }
    case "events":
      return (await allEvents(store)).map((event) => `${JSON.stringify(event)}\n`).join("");
    case "markdown": {
      const { markdown } = await loadMarkdown();
      const running = markdown.open();
      const events = await allEvents(store);
      return [...events.flatMap((event) => running.step(event)), ...running.end()].join("");
    }
  }
}

async function allEvents(store: SessionStore): Promise<readonly SessionStore["events"][number][]> {
  if (store.kind === "recording") return store.events;
  const events: SessionStore["events"] = [];
  for (let offset = 0, hasMore = true; hasMore; ) {
    const page = await daemon().session(store.id).listEvents({ offset, limit: PAGE });
    events.push(...page.events);
    hasMore = page.hasMore && page.events.length > 0;
    offset = events.at(-1)?.sequence ?? 0;
  }
  return events;
}

async function nativeLines(store: SessionStore): Promise<readonly NativeLine[]> {
  if (store.kind === "recording") return store.groups.flatMap(({ native }) => (native === null ? [] : [native]));
  const lines: NativeLine[] = [];
  for (let offset = 0, hasMore = true; hasMore; ) {
    const page = await daemon().session(store.id).listNative({ offset, limit: PAGE });
    lines.push(...page.lines);
    hasMore = page.hasMore && page.lines.length > 0;
    offset = lines.at(-1)?.line ?? 0;
  }
  return lines;
}

function save({ name, text }: { readonly name: string; readonly text: string }): void {
  const link = document.createElement("a");
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
