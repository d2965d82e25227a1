/** The sessions: those that need somebody first, then those at work, then the others by day. */
import type { Signal } from "@preact/signals";
import { nameText, visibleText } from "../model/plain.ts";
import { age, agentName, allTokens, clock, count, folderName, money } from "../model/words.ts";
import { now } from "../state/clock.ts";
import { link } from "../state/link.ts";
import { go, linkTo, route } from "../state/route.ts";
import {
  allRows,
  costOf,
  filter,
  isListed,
  needing,
  type SessionRow,
  search,
  shapeOfRow,
  shownRows,
  titleOf,
  working,
} from "../state/sessions.ts";
import { Icon, Status } from "./icons.tsx";

const DAY_MS = 86_400_000;

/** Beside a view it is a way there; where it fills the screen, it is what the page is about. */
export function SessionList({ alone }: { readonly alone: boolean }) {
  return alone ? (
    <main class="side" aria-label="Sessions">
      <ListParts />
    </main>
  ) : (
    <nav class="side" aria-label="Sessions">
      <ListParts />
    </nav>
  );
}

function ListParts() {
  return (
    <>
      <div class="head">
        <a class="brand" href={linkTo({ page: "home" })}>
          Franca
        </a>
        <span class="grow" />
        <LinkState />
        <button type="button" class="btn" onClick={() => go({ page: "new" })}>
          New <kbd>N</kbd>
        </button>
      </div>
      <div class="sess-top">
        <label class="field">
          <Icon sign="search" />
          <input
            id="session-search"
            type="search"
            placeholder="Search sessions"
            aria-label="Search sessions"
            value={search.value}
            onInput={(event) => {
              search.value = event.currentTarget.value;
            }}
          />
          <kbd>/</kbd>
        </label>
        <Filters />
      </div>
      <Rows />
      <div class="side-foot">
        <a class="btn ghost" href={linkTo({ page: "usage" })}>
          Usage
        </a>
        <a class="btn ghost" href={linkTo({ page: "health" })}>
          Health
        </a>
      </div>
    </>
  );
}

function LinkState() {
  const words = {
    live: "live",
    connecting: "connecting",
    lost: "offline",
    "logged-out": "logged out",
    none: "",
  } as const;
  const { state } = link.value;
  const shape = state === "live" ? "completed" : state === "lost" ? "retrying" : "idle";
  return (
    <span class="row mut num" style={{ gap: "6px", font: "var(--t-12)" }}>
      <Status shape={shape} named />
      {words[state]}
    </span>
  );
}

function Filters() {
  const options = [
    ["all", "All", allRows.value.length],
    ["needs", "Needs you", needing.value.length],
    ["running", "Running", working.value.length],
  ] as const;
  return (
    <div class="row" style={{ gap: "4px" }} role="group" aria-label="Filter sessions">
      {options.map(([name, label, total]) => (
        <FilterChip key={name} name={name} label={label} total={total} chosen={filter} />
      ))}
    </div>
  );
}

function FilterChip<Name extends string>({
  name,
  label,
  total,
  chosen,
}: {
  readonly name: Name;
  readonly label: string;
  readonly total: number;
  readonly chosen: Signal<Name>;
}) {
  return (
    <button
      type="button"
      class="chip"
      aria-pressed={chosen.value === name}
      onClick={() => {
        chosen.value = name;
      }}
    >
      {label} <span class="num">{total}</span>
    </button>
  );
}

function Rows() {
  const rows = shownRows.value;
  if (!isListed.value) return <p class="sess dim">Loading…</p>;
  if (rows.length === 0) {
    return (
      <div class="sess none">
        {allRows.value.length === 0 ? (
          <>
            <p>No sessions yet.</p>
            <p class="dim">
              Start one with New, or with <code>franca run "…"</code> in a terminal.
            </p>
          </>
        ) : (
          <>
            <p>No session fits.</p>
            <button
              type="button"
              class="btn"
              onClick={() => {
                search.value = "";
                filter.value = "all";
              }}
            >
              Show all {allRows.value.length}
            </button>
          </>
        )}
      </div>
    );
  }
  return (
    <div class="sess">
      {grouped(rows, now.value).map(([title, members]) => (
        <section key={title}>
          <h2>
            {title} <span class="num">{members.length}</span>
          </h2>
          <ul>
            {members.map((row) => (
              <Row key={row.sessionId} row={row} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function grouped(rows: readonly SessionRow[], at: number): [string, SessionRow[]][] {
  const groups = new Map<string, SessionRow[]>([
    ["Needs you", []],
    ["Running", []],
    ["Today", []],
    ["Yesterday", []],
    ["Earlier", []],
  ]);
  const midnight = new Date(at).setHours(0, 0, 0, 0);
  for (const row of rows) {
    const time = Date.parse(row.updatedAt);
    const day = time >= midnight ? "Today" : time >= midnight - DAY_MS ? "Yesterday" : "Earlier";
    const title = row.status === "requires_action" ? "Needs you" : row.status === "idle" ? day : "Running";
    groups.get(title)?.push(row);
  }
  return [...groups].filter(([, members]) => members.length > 0);
}

function Row({ row }: { readonly row: SessionRow }) {
  const here = route.value;
  const isCurrent = here.page === "session" && here.id === row.sessionId;
  const shape = shapeOfRow(row);
  const isBusy = row.status !== "idle";
  const at = Date.parse(row.updatedAt);
  return (
    <li>
      <a
        class="srow"
        href={linkTo({ page: "session", id: row.sessionId, view: "conversation" })}
        aria-current={isCurrent ? "page" : undefined}
      >
        <Status shape={shape} />
        <span class="t cut">{titleOf(row)}</span>
        <span class="w">{isBusy ? age(at, now.value) : age(at, now.value)}</span>
        {row.asks === "" ? (
          <span class="m">
            <span class="cut">{visibleText(secondLine(row))}</span>
            <span class="cut num">{visibleText(agentAndCost(row))}</span>
          </span>
        ) : (
          <span class="m c-needs">
            <span class="cut">{visibleText(row.asks)}</span>
          </span>
        )}
      </a>
    </li>
  );
}

function secondLine(row: SessionRow): string {
  if (row.status !== "idle") return row.doing === "" ? "Working" : row.doing;
  if (row.lastEnd?.message !== undefined) return row.lastEnd.message;
  if (row.lastEnd?.reason === "aborted") return "Stopped by you";
  const folder = nameText(folderName(row.directory));
  return row.eventCount <= 1 ? `${folder} · no prompt yet` : folder;
}

function agentAndCost(row: SessionRow): string {
  const cost = costOf(row);
  const tokens = row.usage === undefined ? 0 : allTokens(row.usage.tokens);
  const spent = cost !== null && cost > 0 ? money(cost) : tokens > 0 ? `${count(tokens)} tokens` : "–";
  return `${agentName(row.agent)} · ${spent}`;
}

/** In views that need the width: one shape per session that is at work, waits, or was looked at last. */
export function Rail() {
  const here = route.value;
  const current = here.page === "session" ? here.id : null;
  const shown = allRows.value
    .filter(({ status, sessionId }) => status !== "idle" || sessionId === current)
    .concat(allRows.value.filter(({ status, sessionId }) => status === "idle" && sessionId !== current).slice(0, 6));
  const order = (row: SessionRow): number => (row.status === "requires_action" ? 0 : row.status === "idle" ? 2 : 1);
  const rows = shown.toSorted((a, b) => order(a) - order(b)).slice(0, 24);
  /** How many wait for a person, on the first session of the rail. */
  const badgeOf = (index: number): number => (index === 0 ? needing.value.length : 0);
  return (
    <nav class="side rail" aria-label="Sessions">
      <a class="brand" href={linkTo({ page: "home" })} aria-label="Franca, all sessions">
        F
      </a>
      {rows.map((row, index) => (
        <a
          key={row.sessionId}
          href={linkTo({
            page: "session",
            id: row.sessionId,
            view: here.page === "session" ? here.view : "conversation",
          })}
          aria-current={row.sessionId === current ? "page" : undefined}
          aria-label={badgeOf(index) > 0 ? `${titleOf(row)}, ${badgeOf(index)} need you` : titleOf(row)}
          title={titleOf(row)}
        >
          <Status shape={shapeOfRow(row)} />
          {badgeOf(index) > 0 && <b aria-hidden="true">{badgeOf(index)}</b>}
        </a>
      ))}
    </nav>
  );
}

/** `waiting 0:16`, counting. */
export const Waiting = ({ since }: { readonly since: number }) => (
  <span class="num">waiting {clock(now.value - since)}</span>
);
