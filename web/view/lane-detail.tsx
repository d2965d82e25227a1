/** The selected event: why it exists, step by step, and its JSON in every lane. */
import { useSignal } from "@preact/signals";
import { summariseEvent, summariseNative } from "../../src/core/lanes.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { LaneRow } from "../model/lanes.ts";
import { visibleText } from "../model/plain.ts";
import { reasonOf } from "../model/rules.ts";
import { laneRev, table } from "../state/lanes.ts";
import { selected } from "../state/selection.ts";
import type { SessionStore } from "../state/store.ts";
import { CopyButton } from "./copy.tsx";
import { Json } from "./json.tsx";
import { lookAtEvent } from "./look.ts";

interface Found {
  readonly event: UniversalEvent;
  readonly row: LaneRow;
}

/** Rows are searched from the end of a halving: 100,000 rows are nothing to wait for. */
function findEvent(sequence: number | null): Found | null {
  laneRev.value;
  if (sequence === null) return null;
  for (const row of table.value?.rows ?? []) {
    const last = row.events.at(-1);
    if (last === undefined || last.sequence < sequence) continue;
    const event = row.events.find((one) => one.sequence === sequence);
    if (event !== undefined) return { event, row };
  }
  return null;
}

export function LaneDetail({ store }: { readonly store: SessionStore }) {
  const found = findEvent(selected.value);
  if (found === null) {
    return <p class="dim nothing">Select an event to see why it exists, and its JSON in every lane.</p>;
  }
  const { event, row } = found;
  return (
    <>
      <div class="head">
        <h2 class="mono grow cut">{event.type}</h2>
        <span class="dim num">
          {event.sequence} of {store.live.sequence}
        </span>
        <kbd>J</kbd>
        <kbd>K</kbd>
      </div>
      <section>
        <h2>Why</h2>
        <p>{reasonOf(event)}</p>
        <Steps found={found} />
        <button type="button" class="btn ghost" onClick={() => lookAtEvent(store, event.sequence)}>
          See the conversation at this moment
        </button>
      </section>
      <section>
        <Bodies event={event} row={row} />
      </section>
    </>
  );
}

function Steps({ found: { event, row } }: { readonly found: Found }) {
  const lanes = table.value?.lanes ?? [];
  const [native] = row.natives;
  return (
    <ol class="why">
      <li>
        {native === undefined ? (
          <>
            <b>{event.cause.line === null ? "No native line" : `native ${event.cause.line}`}</b>
            <small>{event.cause.line === null ? "Franca did it by itself" : "a line that came earlier"}</small>
          </>
        ) : (
          <>
            <b class="mono">native {native.line}</b> {visibleText(summariseNative(native)).slice(0, 80)}
            <small>
              {native.from === "host"
                ? "sent to the agent"
                : native.from === "process"
                  ? "the process itself"
                  : "the agent’s own line"}
            </small>
          </>
        )}
      </li>
      {event.cause.rule !== undefined && (
        <li>
          Rule <b class="mono">{event.cause.rule}</b>
          <small>of the turn machine</small>
        </li>
      )}
      <li class="hit">
        <b class="mono">
          {event.sequence} {event.type}
        </b>
        <small>
          {visibleText(summariseEvent(event).slice(event.type.length).replaceAll(/[()]/g, "").slice(0, 80))}
        </small>
      </li>
      {lanes.map(({ title }, index) => {
        const cells = (row.columns[index] ?? []).filter((cell) => cell.event === event);
        if (cells.length === 0) return null;
        return (
          <li key={title}>
            <b class="mono">{cells.map(({ text }) => visibleText(text.slice(0, 60))).join(", ")}</b>
            <small>{title}</small>
          </li>
        );
      })}
    </ol>
  );
}

function Bodies({ event, row }: Found) {
  const lane = useSignal("Universal");
  const [native] = row.natives;
  const bodies = new Map<string, unknown>();
  if (native !== undefined) bodies.set("Native", native.native);
  bodies.set("Universal", event);
  for (const [index, { title }] of (table.value?.lanes ?? []).entries()) {
    const outputs = (row.columns[index] ?? []).filter((cell) => cell.event === event).map(({ output }) => output);
    if (outputs.length > 0) bodies.set(title, outputs.length === 1 ? outputs[0] : outputs);
  }
  const name = bodies.has(lane.value) ? lane.value : "Universal";
  return (
    <>
      <div class="row bodies">
        <div class="seg" role="group" aria-label="JSON of">
          {[...bodies.keys()].map((title) => (
            <button
              key={title}
              type="button"
              aria-pressed={title === name}
              onClick={() => {
                lane.value = title;
              }}
            >
              {title}
            </button>
          ))}
        </div>
        <span class="grow" />
        <CopyButton text={JSON.stringify(bodies.get(name), null, 2)} what="JSON" />
      </div>
      <Json value={bodies.get(name)} />
    </>
  );
}
