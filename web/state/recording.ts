/**
 * A transcript without a daemon: adapters and projections run in the page. Native lines in any form that `franca
 * convert` reads, or universal events as they were exported.
 */
import { signal } from "@preact/signals";
import { type Recorded, readRecorded } from "../../src/dialects/recording.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { NativeLine } from "../../src/protocol/resources.ts";
import type { Group } from "../model/lanes.ts";
import { agentName } from "../model/words.ts";
import { problem } from "./actions.ts";
import { loadConverter } from "./load.ts";
import { go } from "./route.ts";
import { addEvents, createStore, type SessionStore } from "./store.ts";

export const recording = signal<SessionStore | null>(null);
export const isDropping = signal(false);

/** Larger files would fill the page's memory. */
const MOST_BYTES = 256 * 1024 * 1024;

export async function openFile(file: File): Promise<void> {
  if (file.size > MOST_BYTES) {
    problem.value = `${file.name} is larger than ${MOST_BYTES / 1024 / 1024} MB: cut it, or use franca lanes.`;
    return;
  }
  await openText({ name: file.name, text: await file.text() });
}

/** Opens the system's dialog. */
export function chooseFile(): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".jsonl,.json,.ndjson,.log,.txt";
  input.onchange = () => {
    const [file] = input.files ?? [];
    if (file !== undefined) void openFile(file);
  };
  input.click();
}

interface Text {
  readonly name: string;
  readonly text: string;
  /** Which agent it is of, where that is known. */
  readonly from?: string | undefined;
}

export async function openText({ name, text, from }: Text): Promise<void> {
  try {
    const store = await storeOf({ name, text, from });
    recording.value = store;
    problem.value = null;
    go({ page: "recording", view: "lanes" });
  } catch (error) {
    problem.value = error instanceof Error ? error.message : String(error);
  }
}

async function storeOf({ name, text, from }: Text): Promise<SessionStore> {
  const groups = exportedEvents(text) ?? (await convert({ name, text, from }));
  const id = groups.flatMap(({ events }) => events)[0]?.session_id ?? "recording";
  // A file may hold several sessions; sequences count within one of them.
  const own = groups.map((group) => ({ ...group, events: group.events.filter((event) => event.session_id === id) }));
  const store = createStore({ id, kind: "recording", name, groups: own });
  addEvents(
    store,
    own.flatMap(({ events }) => events),
  );
  store.progress.value = { state: "ready" };
  return store;
}

/** Null when the text does not begin with a universal event. */
function exportedEvents(text: string): Group[] | null {
  const groups: Group[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const event = eventIn(line);
    if (event === null) return null;
    const last = groups.at(-1);
    const isSame = last !== undefined && event.cause.line !== null && last.events[0]?.cause.line === event.cause.line;
    if (isSame) groups[groups.length - 1] = { native: last.native, events: [...last.events, event] };
    else groups.push({ native: nativeOf(event), events: [event] });
  }
  return groups.length === 0 ? null : groups;
}

/** Events that were exported with their native lines bring them along. */
function nativeOf({ raw, cause, time }: UniversalEvent): NativeLine | null {
  if (raw === null || raw === undefined || cause.line === null) return null;
  return { line: cause.line, time, from: "agent", native: raw };
}

function eventIn(line: string): UniversalEvent | null {
  try {
    const value: unknown = JSON.parse(line);
    return isEvent(value) ? value : null;
  } catch {
    return null;
  }
}

const isEvent = (value: unknown): value is UniversalEvent =>
  typeof value === "object" && value !== null && "event_id" in value && "sequence" in value && "data" in value;

async function convert({ name, text, from }: Text): Promise<Group[]> {
  const { adapters, openConverter } = await loadConverter();
  const recorded = text.split("\n").flatMap((line): Recorded[] => {
    const one = readRecorded(line);
    return one === null ? [] : [one];
  });
  if (recorded.length === 0) throw new Error(`There is nothing in ${name}.`);
  const known = (entry: Recorded) =>
    entry.type === "line" ? adapters.find((one) => one.recognises(entry.line)) : undefined;
  const first = recorded.find((entry) => known(entry) !== undefined);
  const adapter = adapters.find(({ agent }) => agent === from) ?? (first === undefined ? undefined : known(first));
  if (adapter === undefined) {
    const names = adapters.map(({ agent }) => agentName(agent)).join(", ");
    throw new Error(`${name} is no recording of an agent that Franca knows: ${names}.`);
  }
  const converter = openConverter({ adapter });
  const groups: Group[] = recorded.map((entry, index) => ({
    native: lineOf(entry, index + 1),
    events: converter.step(entry),
  }));
  return [...groups, { native: null, events: converter.end() }].filter(
    ({ native, events }) => native !== null || events.length > 0,
  );
}

function lineOf(entry: Recorded, line: number): NativeLine {
  const time = new Date(entry.at ?? 0).toISOString();
  switch (entry.type) {
    case "line":
      return { line, time, from: entry.from, native: entry.line };
    case "unreadable":
      return { line, time, from: "agent", native: entry.text };
    case "exit":
      return { line, time, from: "process", native: { type: "exit", ...entry.exit } };
    case "inspected": {
      const { type: _type, at: _at, ...inspected } = entry;
      return { line, time, from: "process", native: { inspected } };
    }
  }
}

/** `franca lanes --html` puts a recording into the page. */
export async function openEmbedded(): Promise<boolean> {
  const element = document.getElementById("recording");
  if (element === null) return false;
  const { name = "recording", from } = element.dataset;
  await openText({ name, from, text: decode(element.textContent ?? "") });
  return true;
}

/** Base64 of UTF-8: nothing in a recording can end the element that holds it. */
function decode(text: string): string {
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
