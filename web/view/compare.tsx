/** One prompt, several agents: result, time, tokens, cost and changes side by side, while they work and afterwards. */
import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { firstTurn, isBest, lastWords, type Numbers, numbersOf } from "../model/compared.ts";
import { visibleText } from "../model/plain.ts";
import { agentName, clock, count, duration, endWord, money, plural, type Shape, shapeWords } from "../model/words.ts";
import { now } from "../state/clock.ts";
import {
  type Contestant,
  contestantsOf,
  keepOnly,
  openWork,
  readBeginning,
  readDiff,
  readWorktrees,
  type Work,
  worktrees,
} from "../state/compare.ts";
import { link } from "../state/link.ts";
import { linkTo } from "../state/route.ts";
import { isListed, shapeOfRow } from "../state/sessions.ts";
import { Changes } from "./compare-changes.tsx";
import { CopyButton } from "./copy.tsx";
import { Icon, Status } from "./icons.tsx";
import { Markdown } from "./markdown.tsx";

export function Compare({ id }: { readonly id: string }) {
  const contestants = useMemo(() => contestantsOf(id), [id]).value;
  const works = useWorks(contestants.map(({ row }) => row.sessionId));
  const isLive = link.value.state === "live";
  const ended = contestants.filter(({ row }) => row.status === "idle").length;
  useEffect(() => {
    if (isLive) void readWorktrees();
  }, [isLive, ended, contestants.length]);
  if (contestants.length === 0) return <Nothing />;
  const prompt = [...works.values()].map(({ beginning }) => beginning.value?.prompt ?? "").find((text) => text !== "");
  const numbers = contestants.map(({ row }) => numbersIn(works.get(row.sessionId)));
  return (
    <main class="main" aria-label="Comparison">
      <header class="head">
        <a class="btn ghost icon phone-only" href={linkTo({ page: "home" })} aria-label="All sessions">
          <Icon sign="left" />
        </a>
        <h1 class="cut">Comparison</h1>
        <Progress contestants={contestants} />
        <span class="dim cut wide-only">{contestants.map(({ comparison }) => comparison.name).join(", ")}</span>
      </header>
      <div class="compare" tabIndex={0} role="group" aria-label="Results">
        {prompt !== undefined && <p class="asked">{visibleText(prompt)}</p>}
        <div class="contest">
          {contestants.map((contestant, index) => {
            const work = works.get(contestant.row.sessionId);
            if (work === undefined) return null;
            return (
              <Column
                key={contestant.row.sessionId}
                contestant={contestant}
                contestants={contestants}
                work={work}
                numbers={numbers}
                index={index}
              />
            );
          })}
        </div>
      </div>
    </main>
  );
}

/** Follows those that are shown, and no others. */
function useWorks(ids: readonly string[]): ReadonlyMap<string, Work> {
  const works: Signal<ReadonlyMap<string, Work>> = useSignal(new Map());
  const key = ids.join(" ");
  useEffect(() => {
    const known = works.value;
    works.value = new Map(ids.map((id) => [id, known.get(id) ?? openWork(id)]));
    for (const [id, work] of known) if (!ids.includes(id)) work.close();
  }, [key]);
  useEffect(
    () => () => {
      for (const work of works.peek().values()) work.close();
    },
    [works],
  );
  return works.value;
}

function numbersIn(work: Work | undefined): Numbers {
  if (work === undefined) return numbersOf(null, null);
  work.store.rev.value;
  return numbersOf(firstTurn(work.store.live), work.beginning.value);
}

function Nothing() {
  return (
    <main class="main" aria-label="Comparison">
      <div class="empty">
        <h2>{isListed.value ? "There is no such comparison" : "Loading…"}</h2>
        {isListed.value && (
          <p>
            Start one with <code>franca compare --agents claude,codex -- "…"</code>.
          </p>
        )}
      </div>
    </main>
  );
}

function Progress({ contestants }: { readonly contestants: readonly Contestant[] }) {
  const busy = contestants.filter(({ row }) => row.status !== "idle");
  const needs = contestants.filter(({ row }) => row.status === "requires_action").length;
  if (needs > 0) return <span class="pill needs">{plural(needs, "needs you", "need you")}</span>;
  if (busy.length === 0) return <span class="pill completed">Done</span>;
  return (
    <span class="pill running num">
      {busy.length} of {contestants.length} running
    </span>
  );
}

interface ColumnProps {
  readonly contestant: Contestant;
  readonly contestants: readonly Contestant[];
  readonly work: Work;
  readonly numbers: readonly Numbers[];
  readonly index: number;
}

function Column({ contestant, contestants, work, numbers, index }: ColumnProps) {
  const { row, comparison } = contestant;
  const { store } = work;
  store.rev.value;
  const isReady = store.progress.value.state === "ready";
  const changes = useComputed(() => {
    store.rev.value;
    return [...store.live.tools.values()].filter(({ files }) => files.length > 0).length;
  }).value;
  useEffect(() => {
    if (isReady) void readDiff(work);
  }, [isReady, changes, row.status, work]);
  useEffect(() => {
    if (isReady && work.beginning.value === null) void readBeginning(work);
  }, [isReady, row.status, work]);
  const shape = shapeOfRow(row);
  const isGone = worktrees.value !== null && !worktrees.value.has(row.sessionId);
  return (
    <section class={isGone ? "contestant gone" : "contestant"} aria-label={visibleText(comparison.name)}>
      <header>
        <Status shape={shape} named />
        <h2 class="cut">{visibleText(comparison.name)}</h2>
        <span class={`pill ${shape}`}>{outcome({ shape, work })}</span>
      </header>
      <Facts contestant={contestant} work={work} numbers={numbers} index={index} />
      <Changes diff={work.diff.value} />
      <Answer contestant={contestant} work={work} />
      <Actions contestant={contestant} contestants={contestants} isGone={isGone} />
    </section>
  );
}

function outcome({ shape, work }: { readonly shape: Shape; readonly work: Work }): string {
  const end = firstTurn(work.store.live)?.end;
  return shape === "completed" || end === undefined || end === null ? shapeWords[shape] : endWord(end.reason);
}

function Facts({ contestant, work, numbers, index }: Omit<ColumnProps, "contestants">) {
  const { row } = contestant;
  const { ms, tokens, cost } = numbers[index] ?? numbersOf(null, null);
  const turn = firstTurn(work.store.live);
  const from = work.beginning.value?.startedAt ?? null;
  const isBusy = row.status !== "idle";
  const time = ms !== null ? duration(ms) : isBusy && from !== null ? clock(now.value - from) : "–";
  const used = turn?.usage?.tokens ?? (isBusy ? (row.usage?.tokens ?? null) : null);
  const input = used === null ? null : used.input + used.cache_read + used.cache_write;
  const best = (key: "ms" | "tokens" | "cost", word: string) =>
    isBest(numbers, index, key) && <span class="best">{word}</span>;
  return (
    <dl class="kv">
      <dt>Agent</dt>
      <dd>
        {agentName(row.agent)}
        {row.model !== null && <span class="dim"> · {visibleText(row.model)}</span>}
      </dd>
      <dt>Time</dt>
      <dd>
        {best("ms", "fastest")} {time}
      </dd>
      <dt>Tokens</dt>
      <dd>
        {best("tokens", "fewest")}{" "}
        {used === null || input === null ? "–" : `${count(input)} in, ${count(used.output + used.reasoning)} out`}
        {tokens === null && used !== null && <span class="dim"> so far</span>}
      </dd>
      <dt>Cost</dt>
      <dd>
        {best("cost", "cheapest")} {cost === null ? "not known" : money(cost)}
      </dd>
    </dl>
  );
}

function Answer({ contestant, work }: { readonly contestant: Contestant; readonly work: Work }) {
  const { row } = contestant;
  const { progress, live } = work.store;
  const words = lastWords(live);
  const error = firstTurn(live)?.end?.error?.message ?? row.lastEnd?.message ?? null;
  const state = progress.value;
  return (
    <div class="answer">
      {state.state === "missing" && <p class="dim">{visibleText(state.message)}</p>}
      {row.asks !== "" && <p class="c-needs">{visibleText(row.asks)}</p>}
      {error !== null && <p class="c-failed">{visibleText(error)}</p>}
      {words !== null && (
        <div class="say">
          <Markdown text={words.text} streaming={words.streaming} />
        </div>
      )}
      {row.status !== "idle" && row.asks === "" && (
        <p class="dim doing">
          <Status shape="running" named /> {visibleText(row.doing === "" ? "Working" : row.doing)}
        </p>
      )}
      {words === null && error === null && row.status === "idle" && <p class="dim">No answer.</p>}
    </div>
  );
}

interface ActionProps {
  readonly contestant: Contestant;
  readonly contestants: readonly Contestant[];
  readonly isGone: boolean;
}

function Actions({ contestant, contestants, isGone }: ActionProps) {
  const { row, comparison } = contestant;
  const isBusy = useSignal(false);
  const others = contestants.filter(
    (one) => one.row.sessionId !== row.sessionId && worktrees.value?.has(one.row.sessionId) === true,
  );
  const running = others.filter((one) => one.row.status !== "idle");
  const names = others.map((one) => one.comparison.name).join(", ");
  const keep = async (): Promise<void> => {
    const question = `Keep ${comparison.name} and remove the worktrees of ${names}, with what is in them?`;
    if (!confirm(visibleText(question))) return;
    isBusy.value = true;
    await keepOnly(row.sessionId, contestants);
    isBusy.value = false;
  };
  const apply = `franca diff ${row.sessionId.slice(0, 8)} | git apply`;
  return (
    <footer>
      {isGone ? (
        <p class="dim">Its worktree was removed.</p>
      ) : others.length > 0 ? (
        <button
          type="button"
          class="btn primary"
          disabled={isBusy.value || running.length > 0 || row.status !== "idle" || link.value.state !== "live"}
          title={running.length > 0 ? "When all of them are done" : undefined}
          onClick={() => void keep()}
        >
          Keep this one
        </button>
      ) : (
        worktrees.value !== null && (
          <p class="kept">
            <Status shape="completed" named /> Kept. Take it over with <code>{apply}</code>
            <CopyButton text={apply} what="command" />
          </p>
        )
      )}
      <a class="btn" href={linkTo({ page: "session", id: row.sessionId, view: "conversation" })}>
        Open the session
      </a>
    </footer>
  );
}
