/** The first screen: how to begin, and what is there to begin with. */
import { useSignal, useSignalEffect } from "@preact/signals";
import type { AgentSummary } from "../../src/protocol/resources.ts";
import { askToNotify, canNotify, notifying } from "../state/announce.ts";
import { daemon, link } from "../state/link.ts";
import { chooseFile } from "../state/recording.ts";
import { go } from "../state/route.ts";
import { allRows, isListed } from "../state/sessions.ts";
import { Status } from "./icons.tsx";

export function Home() {
  const isEmpty = allRows.value.length === 0;
  return (
    <main class="main" aria-label="Start">
      <div class="empty">
        <h2>{isEmpty && isListed.value ? "No sessions yet" : "Choose a session"}</h2>
        <p>
          {isEmpty ? (
            <>
              Start one here or with <code>franca run "…"</code>. Drop a recording on this page to look at it without an
              agent.
            </>
          ) : (
            "Or start a new one. Drop a recording on this page to look at it without an agent."
          )}
        </p>
        <div class="row">
          <button type="button" class="btn primary" onClick={() => go({ page: "new" })}>
            New session <kbd>N</kbd>
          </button>
          <button type="button" class="btn" onClick={chooseFile}>
            Open a recording
          </button>
        </div>
        <Agents />
        {canNotify() && !notifying.value && !isEmpty && (
          <button type="button" class="btn ghost" onClick={() => void askToNotify()}>
            Notify me on the desktop when a session needs me
          </button>
        )}
      </div>
    </main>
  );
}

function Agents() {
  const agents = useSignal<readonly AgentSummary[]>([]);
  useSignalEffect(() => {
    if (link.value.state !== "live") return;
    void daemon()
      .agents()
      .then((found) => {
        agents.value = found;
      })
      .catch(() => {});
  });
  return (
    <div class="agents">
      {agents.value
        .filter(({ id, installed }) => installed && id !== "mock")
        .map(({ id, name, version, credentialsAvailable }) => (
          <span key={id} class={credentialsAvailable ? "row" : "row dim"} style={{ gap: "6px" }}>
            <Status shape={credentialsAvailable ? "completed" : "idle"} named />
            {name} {version ?? ""}
            {!credentialsAvailable && ": not logged in"}
          </span>
        ))}
    </div>
  );
}
