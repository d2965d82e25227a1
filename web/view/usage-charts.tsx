/** Tokens and cost of all sessions, by agent and by day, as small charts. */
import { useSignal, useSignalEffect } from "@preact/signals";
import type { UsageRow } from "../../src/protocol/resources.ts";
import { agentName, allTokens, count, money } from "../model/words.ts";
import { daemon, link } from "../state/link.ts";

export function UsageCharts({ days }: { readonly days: number }) {
  const byAgent = useSignal<readonly UsageRow[]>([]);
  const byDay = useSignal<readonly UsageRow[]>([]);
  useSignalEffect(() => {
    if (link.value.state !== "live") return;
    const offsetMinutes = -new Date().getTimezoneOffset();
    void Promise.all([
      daemon().usage({ by: "agent", days, offsetMinutes }),
      daemon().usage({ by: "day", days, offsetMinutes }),
    ])
      .then(([agents, list]) => {
        byAgent.value = agents;
        byDay.value = list;
      })
      .catch(() => {});
  });
  return (
    <>
      <ByAgent rows={byAgent.value} days={days} />
      <ByDay rows={byDay.value} days={days} />
    </>
  );
}

const tokensOf = ({ usage }: UsageRow): number => allTokens(usage.tokens);

function ByAgent({ rows, days }: { readonly rows: readonly UsageRow[]; readonly days: number }) {
  const isPriced = rows.some(({ usage }) => (usage.cost_usd ?? 0) > 0);
  const size = (row: UsageRow): number => (isPriced ? (row.usage.cost_usd ?? 0) : tokensOf(row));
  const most = Math.max(...rows.map(size), 0.000001);
  return (
    <section class="box-card">
      <h2>
        {isPriced ? "Cost" : "Tokens"} by agent <span>{days} days</span>
      </h2>
      {rows.length === 0 && <p class="dim">Nothing was used yet.</p>}
      {rows.map((row) => (
        <div key={row.key} class="hb">
          <span class="cut">{agentName(row.key)}</span>
          {row.usage.cost_usd === null && isPriced ? (
            <span class="dim cut">not priced by the agent</span>
          ) : (
            <i class="b-tool" style={{ width: `${(size(row) / most) * 100}%` }} />
          )}
          <span>{isPriced ? money(row.usage.cost_usd) : count(tokensOf(row))}</span>
        </div>
      ))}
    </section>
  );
}

function ByDay({ rows, days }: { readonly rows: readonly UsageRow[]; readonly days: number }) {
  const known = new Map(rows.map((row) => [row.key, row]));
  const isPriced = rows.some(({ usage }) => (usage.cost_usd ?? 0) > 0);
  const size = (key: string): number => {
    const row = known.get(key);
    if (row === undefined) return 0;
    return isPriced ? (row.usage.cost_usd ?? 0) : tokensOf(row);
  };
  const keys = lastDays(days);
  const most = Math.max(...keys.map(size), 0.000001);
  const sum = keys.reduce((total, key) => total + size(key), 0);
  return (
    <section class="box-card">
      <h2>
        {isPriced ? "Cost" : "Tokens"} by day <span class="num">{isPriced ? money(sum) : count(sum)}</span>
      </h2>
      <div class="vb">
        {keys.map((key, index) => (
          <div
            key={key}
            class={index === keys.length - 1 ? "today" : ""}
            title={`${key}: ${isPriced ? money(size(key)) : count(size(key))}`}
          >
            <i style={{ height: `${(size(key) / most) * 84}px` }} />
            {dayName(key, days)}
          </div>
        ))}
      </div>
    </section>
  );
}

const two = (value: number): string => String(value).padStart(2, "0");

function lastDays(days: number): string[] {
  return Array.from({ length: days }, (_, index) => {
    const date = new Date();
    date.setDate(date.getDate() - (days - 1 - index));
    return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  });
}

const dayName = (key: string, days: number): string => {
  const date = new Date(`${key}T12:00:00`);
  return days > 10 ? String(date.getDate()) : date.toLocaleDateString("en", { weekday: "short" });
};
