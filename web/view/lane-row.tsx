/** One row of the lanes: a cause, the events it led to, and what each client was sent. */
import { memo } from "preact/compat";
import { type Lane, summariseEvent } from "../../src/core/lanes.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { Cell, LaneRow } from "../model/lanes.ts";
import { visibleText } from "../model/plain.ts";
import { duration, endedBy, endWord, shapeOfEnd, usageWords } from "../model/words.ts";
import { selected } from "../state/selection.ts";
import type { SessionStore } from "../state/store.ts";
import { Status } from "./icons.tsx";

export interface RowProps {
  readonly row: LaneRow;
  readonly index: number;
  readonly start: number;
  readonly shown: readonly (Lane & { readonly index: number })[];
  readonly store: SessionStore;
  readonly onSelect: (event: UniversalEvent) => void;
}

const MOST_TEXT = 160;

export const LaneRowView = memo(({ row, index, start, shown, store, onSelect }: RowProps) => {
  const wanted = selected.value;
  const isSelected = wanted !== null && row.events.some(({ sequence }) => sequence === wanted);
  const at = store.at.value;
  const last = at === null ? Number.POSITIVE_INFINITY : (store.events[at - 1]?.sequence ?? 0);
  const isLater = (row.events[0]?.sequence ?? 0) > last;
  const [native] = row.natives;
  const isSent = native !== undefined && native.from === "host";
  const names = [
    "lr",
    row.events.length === 0 && "none",
    isSelected && "sel",
    isLater && "later",
    row.unparsed && "bad",
  ];
  const first = row.events[0];
  return (
    <>
      {row.turn !== null && <TurnHead turn={row.turn} store={store} />}
      <div class={names.filter(Boolean).join(" ")} role="row" aria-rowindex={index + 2} aria-selected={isSelected}>
        <span class="tm" role="gridcell">
          {((row.at - start) / 1000).toFixed(3)}
        </span>
        <span class="bd" role="gridcell" aria-label={row.band}>
          <i class={`k-${row.band}`} />
        </span>
        <span class="ln" role="gridcell">
          {native === undefined ? "" : `${isSent ? "→" : ""}${native.line}`}
        </span>
        <div class="c" role="gridcell">
          {native !== undefined && (
            <button type="button" class="ev" tabIndex={-1} onClick={() => first !== undefined && onSelect(first)}>
              {row.unparsed && <Status shape="failed" />}
              <Name text={visibleText(row.native.replace(/^[→×] /, ""))} />
              {row.count > 1 && <em class="x">×{row.natives.length}</em>}
            </button>
          )}
        </div>
        <div class="c" role="gridcell">
          <Events row={row} onSelect={onSelect} />
        </div>
        {shown.map((lane) => (
          <div key={lane.name} class="c" role="gridcell">
            <Cells cells={row.columns[lane.index] ?? []} count={row.count} onSelect={onSelect} />
          </div>
        ))}
      </div>
    </>
  );
});

/** The first word says what it is; the rest says about what. */
function Name({ text }: { readonly text: string }) {
  const space = text.indexOf(" ");
  const head = space === -1 ? text : text.slice(0, space);
  const dot = head.lastIndexOf(".");
  return (
    <>
      {dot !== -1 && <s>{head.slice(0, dot + 1)}</s>}
      <b>{head.slice(dot + 1)}</b>
      {space !== -1 && <span>{text.slice(space + 1, space + MOST_TEXT)}</span>}
    </>
  );
}

function Events({ row, onSelect }: { readonly row: LaneRow; readonly onSelect: RowProps["onSelect"] }) {
  const { events, count } = row;
  const [first] = events;
  if (first === undefined) return <span class="ev quiet">–</span>;
  if (count > 1 && first.type === "item.delta") {
    const last = events.at(-1) ?? first;
    const words = events
      .slice(0, 40)
      .map((event) => (event.type === "item.delta" ? event.data.delta : ""))
      .join("");
    return (
      <button type="button" class={chosen(events)} tabIndex={-1} onClick={() => onSelect(first)}>
        <span class="sq">
          {first.sequence}–{last.sequence}
        </span>
        <s>item.</s>
        <b>delta</b>
        <em class="x">×{events.length}</em>
        <span>{visibleText(JSON.stringify(words.slice(0, MOST_TEXT)))}</span>
      </button>
    );
  }
  return (
    <>
      {events.map((event) => (
        <button
          key={event.sequence}
          type="button"
          class={chosen([event])}
          tabIndex={-1}
          onClick={() => onSelect(event)}
        >
          <span class="sq">{event.sequence}</span>
          <Name text={visibleText(plainSummary(event))} />
          {event.synthetic && (
            <em class="x" title="Made by Franca: the agent did not send it">
              made
            </em>
          )}
        </button>
      ))}
    </>
  );
}

/** `item.started (assistant message)` without the brackets: colours separate the parts. */
const plainSummary = (event: UniversalEvent): string => withoutBrackets(summariseEvent(event));

function withoutBrackets(text: string): string {
  const open = text.indexOf(" (");
  return open === -1 || !text.endsWith(")") ? text : `${text.slice(0, open)} ${text.slice(open + 2, -1)}`;
}

const chosen = (events: readonly UniversalEvent[]): string =>
  events.some(({ sequence }) => sequence === selected.value) ? "ev on" : "ev";

interface CellsProps {
  readonly cells: readonly Cell[];
  readonly count: number;
  readonly onSelect: RowProps["onSelect"];
}

function Cells({ cells, count, onSelect }: CellsProps) {
  const [first] = cells;
  if (first === undefined) return null;
  const shown = count > 1 ? [first] : cells;
  return (
    <>
      {shown.map((cell, index) => (
        <button
          key={index}
          type="button"
          class={cell.isEdge ? "ev edge" : "ev"}
          tabIndex={-1}
          onClick={() => onSelect(cell.event)}
        >
          <Name text={visibleText(withoutBrackets(cell.text).slice(0, MOST_TEXT))} />
          {count > 1 && <em class="x">×{cells.length}</em>}
        </button>
      ))}
    </>
  );
}

function TurnHead({ turn, store }: { readonly turn: string; readonly store: SessionStore }) {
  store.rev.value;
  const found = store.live.turns.find(({ id }) => id === turn);
  if (found === undefined) return null;
  const { end, number, prompt, startedAt } = found;
  return (
    <div class="lr turn" role="row">
      <span role="gridcell" />
      <span class="bd" role="gridcell" />
      <div class="row" role="gridcell">
        <Status shape={end === null ? "running" : shapeOfEnd(end.reason)} />
        <b>t{number}</b>
        <span class="cut">{visibleText(prompt.slice(0, MOST_TEXT))}</span>
        <span class="dim cut num">
          {end === null
            ? "open"
            : [
                duration(end.at - startedAt),
                found.usage === null ? null : usageWords(found.usage),
                `${endWord(end.reason).toLowerCase()}, ${endedBy(end)}`,
              ]
                .filter((part) => part !== null)
                .join(" · ")}
        </span>
      </div>
    </div>
  );
}
