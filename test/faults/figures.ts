/** How much a run has done: what a zero of broken promises is worth. */

export interface Figures {
  plans: number;
  sessions: number;
  clients: number;
  /** Acknowledged. */
  prompts: number;
  /** Stored, at the end of each session. */
  events: number;
  /** By all clients together. */
  received: number;
  /** Connections that were cut at some byte. */
  cuts: number;
  daemonsKilled: number;
  daemonsStopped: number;
  agentsKilled: number;
  agentsStopped: number;
}

export const noFigures = (): Figures => ({
  plans: 0,
  sessions: 0,
  clients: 0,
  prompts: 0,
  events: 0,
  received: 0,
  cuts: 0,
  daemonsKilled: 0,
  daemonsStopped: 0,
  agentsKilled: 0,
  agentsStopped: 0,
});

export function addFigures(sums: Figures, more: Partial<Figures>): void {
  for (const name of names) sums[name] += more[name] ?? 0;
}

export const describeFigures = (figures: Figures): string =>
  names.map((name) => `${figures[name].toLocaleString("en")} ${labels[name]}`).join(", ");

const labels: Readonly<Record<keyof Figures, string>> = {
  plans: "plans",
  sessions: "sessions",
  clients: "clients",
  prompts: "prompts",
  events: "events stored",
  received: "events received",
  cuts: "connections cut",
  daemonsKilled: "kill -9 of the daemon",
  daemonsStopped: "SIGTERM of the daemon",
  agentsKilled: "kill -9 of agents",
  agentsStopped: "SIGSTOP of agents",
};

const names = [
  "plans",
  "sessions",
  "clients",
  "prompts",
  "events",
  "received",
  "cuts",
  "daemonsKilled",
  "daemonsStopped",
  "agentsKilled",
  "agentsStopped",
] as const;
