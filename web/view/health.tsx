/** Whether all is well: agents, lines that were not understood, the log, and the daemon's own counters. */
import { useSignal, useSignalEffect } from "@preact/signals";
import type { AgentSummary, Health as HealthAnswer } from "../../src/protocol/resources.ts";
import { visibleText } from "../model/plain.ts";
import { bytes, duration, plural } from "../model/words.ts";
import { findUnparsed, type Unparsed } from "../state/health.ts";
import { daemon, link } from "../state/link.ts";
import { linkTo } from "../state/route.ts";
import { CopyButton } from "./copy.tsx";
import { Status } from "./icons.tsx";
import { Json } from "./json.tsx";
import { PageHead } from "./page-head.tsx";

interface Facts {
  readonly health: HealthAnswer;
  readonly agents: readonly AgentSummary[];
  readonly metrics: ReadonlyMap<string, number>;
}

export function Health() {
  const facts = useSignal<Facts | null>(null);
  const unparsed = useSignal<readonly Unparsed[] | null>(null);
  useSignalEffect(() => {
    if (link.value.state !== "live") return;
    void Promise.all([daemon().health(), daemon().agents(), daemon().metrics()])
      .then(([health, agents, text]) => {
        facts.value = { health, agents, metrics: metricsIn(text) };
      })
      .catch(() => {});
    void findUnparsed()
      .then((found) => {
        unparsed.value = found;
      })
      .catch(() => {});
  });
  return (
    <main class="main" aria-label="Health">
      <PageHead title="Health" note={facts.value === null ? "" : `Franca ${facts.value.health.version}`} />
      <div class="page">
        {facts.value === null ? <p class="dim">Asking the daemon…</p> : <Cards facts={facts.value} />}
        <UnparsedLines lines={unparsed.value} />
      </div>
    </main>
  );
}

/** Samples of Prometheus' text by name and labels. */
function metricsIn(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split("\n")) {
    const at = line.lastIndexOf(" ");
    if (!line.startsWith("#") && at > 0) found.set(line.slice(0, at), Number(line.slice(at + 1)));
  }
  return found;
}

function Cards({ facts: { health, agents, metrics } }: { readonly facts: Facts }) {
  const sum = (name: string): number =>
    [...metrics].reduce(
      (total, [key, value]) => (key === name || key.startsWith(`${name}{`) ? total + value : total),
      0,
    );
  const rows: [string, string][] = [
    ["Storage", health.storage === "ok" ? "ok" : (health.storageMessage ?? "failing")],
    ["Log size", metrics.has("franca_log_bytes") ? bytes(sum("franca_log_bytes")) : "–"],
    ["Sessions", sum("franca_sessions").toLocaleString("en")],
    ["Events since start", sum("franca_events_total").toLocaleString("en")],
    ["Turns since start", `${sum("franca_turns_started_total")} begun, ${sum("franca_turns_ended_total")} ended`],
    ["Open requests", String(sum("franca_open_requests"))],
    ["Clients connected", metrics.has("franca_clients") ? String(sum("franca_clients")) : "–"],
    ["Memory", bytes(sum("process_resident_memory_bytes"))],
    ["Up for", duration(sum("process_uptime_seconds") * 1000)],
  ];
  return (
    <div class="two">
      <section class="box-card">
        <h2>
          Agents <span>{agents.filter(({ installed }) => installed).length} installed</span>
        </h2>
        <ul class="agent-list">
          {agents.map((agent) => (
            <AgentRow key={agent.id} agent={agent} />
          ))}
        </ul>
      </section>
      <section class="box-card">
        <h2>
          Daemon{" "}
          <span class="row">
            <Status shape={health.storage === "ok" ? "completed" : "failed"} named />
            {health.storage === "ok" ? "running" : "storage fails"}
          </span>
        </h2>
        <dl class="kv">
          {rows.map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </>
          ))}
        </dl>
      </section>
    </div>
  );
}

function AgentRow({ agent }: { readonly agent: AgentSummary }) {
  const { name, installed, version, path, credentialsAvailable } = agent;
  const words = !installed ? "not installed" : credentialsAvailable ? "ready" : "not logged in";
  return (
    <li>
      <Status shape={installed && credentialsAvailable ? "completed" : "idle"} named />
      <b>{name}</b>
      <span class="num">{version ?? ""}</span>
      <code class="cut dim grow" title={path}>
        {path ?? ""}
      </code>
      <span class={installed && credentialsAvailable ? "c-completed" : "dim"}>{words}</span>
    </li>
  );
}

function UnparsedLines({ lines }: { readonly lines: readonly Unparsed[] | null }) {
  return (
    <section class="box-card">
      <h2>
        Lines that were not understood <span>{lines === null ? "looking…" : plural(lines.length, "line")}</span>
      </h2>
      {lines?.length === 0 && (
        <p class="mut">None in the sessions that were used last: every line fits a known shape.</p>
      )}
      {lines?.map((one) => (
        <article key={`${one.sessionId}${one.sequence}`} class="unparsed">
          <div class="row">
            <Status shape="failed" named />
            <b>{one.agent}</b>
            <a class="cut" href={linkTo({ page: "session", id: one.sessionId, view: "lanes" })}>
              {visibleText(one.title)}
            </a>
            <span class="grow" />
            <CopyButton text={one.report} what="bug report" label="Copy as a bug report" />
          </div>
          <p class="mut">{visibleText(one.error)}</p>
          <Json value={one.native} />
        </article>
      ))}
    </section>
  );
}
