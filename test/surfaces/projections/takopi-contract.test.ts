/**
 * Takopi's contract, said again from its side: a reader that treats our lines as its runner does, and fails where
 * its runner would hang, raise or show an error. It shares nothing with src/rules.
 */
import { describe, expect, test } from "vitest";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import { sessionsOf, toTakopi } from "../../support/dialects.ts";
import { transcripts } from "../../support/transcripts.ts";

/** Reads one run from text, as a chat bridge does. */
function readRun(lines: readonly string[]): { started: Line | null; completed: Line; actions: Line[] } {
  let started: Line | null = null;
  const over = new Set<unknown>();
  const actions: Line[] = [];
  for (const [index, text] of lines.entries()) {
    expect(text.endsWith("\n")).toBe(true);
    const line: Line = JSON.parse(text);
    expect(line.engine).toMatch(/^[a-z0-9_]{1,32}$/);
    switch (line.type) {
      case "started":
        expect(started, "a second started raises if it differs, and means nothing if it does not").toBeNull();
        expect(line.resume?.engine).toBe(line.engine);
        expect(line.resume?.value).not.toBe("");
        started = line;
        break;
      case "action": {
        const { id, kind } = line.action ?? {};
        expect(kinds).toContain(kind);
        expect(over.has(id), `action ${id} is over`).toBe(false);
        if (line.phase === "completed") {
          expect(typeof line.ok).toBe("boolean");
          over.add(id);
        } else expect(line.ok).toBeNull();
        actions.push(line);
        break;
      }
      case "completed": {
        expect(index, "whatever follows completed is never read").toBe(lines.length - 1);
        expect(line.resume ?? null).toEqual(started?.resume ?? null);
        expect(line.answer, "an empty answer is shown as an error").toMatch(/\S/);
        if (line.ok === true) expect(line.error ?? null).toBeNull();
        else expect(line.error).toMatch(/\S/);
        const begun = actions.filter(({ phase }) => phase === "started").map(({ action }) => action?.id);
        expect(begun.filter((id) => !over.has(id))).toEqual([]);
        return { started, completed: line, actions };
      }
      default:
        throw new Error(`Takopi has no ${line.type}`);
    }
  }
  throw new Error("the bridge waits for ever: no completed");
}

interface Line {
  readonly type: string;
  readonly engine: string;
  readonly resume?: { readonly engine: string; readonly value: string } | null;
  readonly phase?: string;
  readonly ok?: boolean | null;
  readonly answer?: string;
  readonly error?: string | null;
  readonly usage?: { readonly total_cost_usd: number | null; readonly tokens: Record<string, number> };
  readonly action?: { readonly id: string; readonly kind: string; readonly detail: Record<string, unknown> };
}

const kinds = ["command", "tool", "file_change", "web_search", "subagent", "note", "turn", "warning", "telemetry"];

/** The lines of each run: a bridge starts one process per prompt, so runs never share a stream there. */
function runsOf(events: readonly UniversalEvent[]): string[][] {
  const runs: string[][] = [[]];
  for (const line of toTakopi(events)) {
    runs.at(-1)?.push(`${JSON.stringify(line)}\n`);
    if (line.type === "completed") runs.push([]);
  }
  expect(runs.at(-1), "lines after the last completed").toEqual([]);
  return runs.slice(0, -1);
}

describe.each(transcripts)("$name", (transcript) => {
  test("every turn is a run that a bridge can read", () => {
    for (const events of sessionsOf(transcript)) {
      const ends = events.flatMap((event) => (event.type === "turn.ended" ? [event.data] : []));
      const runs = runsOf(events).map(readRun);
      expect(runs.map(({ completed }) => completed.ok)).toEqual(ends.map(({ reason }) => reason === "completed"));
      expect(runs.map(({ completed }) => completed.usage?.tokens)).toEqual(ends.map(({ usage }) => usage.tokens));
      expect(runs.map(({ completed }) => completed.usage?.total_cost_usd)).toEqual(
        ends.map(({ usage }) => usage.cost_usd),
      );
    }
  });

  test("every tool that ran in a turn is an action with its outcome", () => {
    for (const events of sessionsOf(transcript)) {
      const ran = new Map<string, boolean>();
      for (const event of events) {
        if (event.type !== "item.completed" || event.turn_id === null) continue;
        for (const part of event.data.item.content) {
          if (part.type !== "tool_result") continue;
          ran.set(part.call_id, !part.is_error && event.data.item.status === "completed");
        }
      }
      const told = new Map<string, boolean>();
      for (const { actions } of runsOf(events).map(readRun)) {
        for (const { phase, ok, action } of actions) {
          if (phase === "completed" && action !== undefined && ran.has(action.id)) told.set(action.id, ok === true);
        }
      }
      expect([...told].sort()).toEqual([...ran].sort());
    }
  });

  test("the answer is what the agent said last", () => {
    for (const events of sessionsOf(transcript)) {
      const runs = runsOf(events).map(readRun);
      const last = lastTexts(events);
      for (const [index, { completed }] of runs.entries()) {
        const said = last[index] ?? "";
        if (completed.ok === true && said.trim() !== "") expect(completed.answer).toContain(said);
      }
    }
  });
});

/** The last completed text block of each turn, subagents' words apart. */
function lastTexts(events: readonly UniversalEvent[]): string[] {
  const texts: string[] = [];
  let last = "";
  for (const event of events) {
    if (event.type === "turn.started") last = "";
    if (event.type === "turn.ended") texts.push(last);
    if (event.type !== "item.completed") continue;
    const { role, kind, status, content, subagent } = event.data.item;
    if (role !== "assistant" || kind !== "message" || status !== "completed" || subagent !== undefined) continue;
    for (const part of content) if (part.type === "text" && part.text.trim() !== "") last = part.text;
  }
  return texts;
}
