/** `franca doctor`: runs a scripted turn through each installed agent, and reports which of its lines are not known. */
import type { Command } from "commander";
import { adapterFor, adapters } from "../adapters/index.ts";
import { ApiError } from "../protocol/errors.ts";
import type { AgentSummary } from "../protocol/resources.ts";
import { loadSettings } from "./config.ts";
import { checkStorage } from "./doctor-data.ts";
import { examine, type Finding, type Laboratory, openLaboratory, unexamined } from "./doctor-examine.ts";
import type { StorageProblem } from "./doctor-storage.ts";
import { loginAdvice } from "./login-advice.ts";
import { onSignals } from "./signals.ts";
import { printJson, table } from "./table.ts";
import { UsageError } from "./usage.ts";

const WRONG = 1;
const INTERRUPTED = 130;

interface Flags {
  readonly json?: true;
  /** True where it was given without a folder: only what is stored is looked at. */
  readonly data?: string | true;
  readonly storage?: true;
  readonly yes?: true;
  readonly config?: string;
}

export function define(command: Command): void {
  command
    .argument("[agents...]", "these only; all of them otherwise")
    .option("--json", "as JSON")
    .option("--data [folder]", "the data folder (FRANCA_DATA); without a folder, check only what is stored")
    .option("--storage", "check only what is stored, of the folder that --data names")
    .option("-y, --yes", "repair what can be repaired, without asking")
    .option("--config <file>", "the config file (FRANCA_CONFIG)")
    .addHelpText(
      "after",
      `
Each agent works in a temporary folder with a home of its own and a scripted model on loopback: no login is used, nothing
goes to the network, nothing is kept. Whether each agent could log in with your own account is looked up as well.

What is stored is checked: the database, checksums, sequences without a gap, rows and files that belong to no session.
What can be repaired without losing an event is repaired after you were asked, or with --yes; no daemon may run then.

Exit code 0: all is well, or was repaired. 1: something is wrong. 2: wrong usage.

Examples:
  $ franca doctor claude codex
  $ franca doctor --data
  $ franca doctor --storage --data ./folder --yes`,
    )
    .action(doctor);
}

async function doctor(names: readonly string[], flags: Flags): Promise<void> {
  const { data: folder, ...others } = flags;
  const named = typeof folder === "string" ? { data: folder } : {};
  const { data, hideData, secretFiles } = await loadSettings({ flags: { ...others, ...named }, env: process.env });
  const laboratory: Laboratory = { data, hideData, secretFiles };
  const storage = await checkStorage(data, { yes: flags.yes === true });
  if (flags.storage === true || folder === true) {
    if (names.length > 0) throw new UsageError("Agents are not tried when only what is stored is checked.");
    return reportStorage(storage, { json: flags.json === true });
  }
  // Looked for before the user's own environment is left outside.
  const logins = loginsIn(await summariesOf(laboratory));
  leaveOutside(process.env);
  const wanted = choose(await summariesOf(laboratory), names);
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  const release = onSignals({ interrupt: stop, terminate: stop });
  const findings: Finding[] = [];
  try {
    for (const summary of wanted) {
      if (stopped.signal.aborted) break;
      const finding = await lookAt(summary, { ...laboratory, asked: names.length > 0, signal: stopped.signal });
      // What was interrupted says nothing about the agent.
      if (!stopped.signal.aborted) findings.push(withLogin(finding, logins.get(finding.agent) ?? null));
    }
  } finally {
    release();
  }
  if (flags.json === true) printJson({ agents: findings, storage: storage.map(({ message }) => message) });
  else {
    print(findings);
    for (const { message } of storage) process.stdout.write(`storage: ${message}\n`);
  }
  if (stopped.signal.aborted) process.exitCode = INTERRUPTED;
  else if (storage.length > 0 || findings.some(({ state }) => state === "wrong")) process.exitCode = WRONG;
}

function reportStorage(storage: readonly StorageProblem[], { json }: { json: boolean }): void {
  if (json) printJson({ storage });
  else if (storage.length === 0) process.stdout.write("storage: all is well\n");
  else for (const { message } of storage) process.stdout.write(`storage: ${message}\n`);
  if (storage.length > 0) process.exitCode = WRONG;
}

/** Whether each agent has what it needs to log in. */
const loginsIn = (agents: readonly AgentSummary[]): ReadonlyMap<string, boolean> =>
  new Map(agents.map(({ id, credentialsAvailable }) => [id, credentialsAvailable]));

/** A program that works and cannot log in is of no use: a finding like any other. */
function withLogin(finding: Finding, login: boolean | null): Finding {
  const adapter = adapterFor(finding.agent);
  if (login !== false || finding.state === "absent" || adapter === null) return { ...finding, login };
  const advice = `no login: ${loginAdvice(adapter)}`;
  if (finding.state === "wrong") return { ...finding, login, advice: `${finding.advice}; ${advice}` };
  if (finding.state === "seen") return { ...finding, login, state: "wrong", advice: `${advice}; ${finding.advice}` };
  // The builtin agent is always there, wanted or not.
  return { ...finding, login, advice, state: adapter.binary === null ? finding.state : "wrong" };
}

/** What would lead an agent to its owner's account, settings or proxy. Agents inherit our environment. */
const isPersonal = (name: string): boolean =>
  /_PROXY$/i.test(name) || adapters.some(({ ownsVariable }) => ownsVariable(name));

function leaveOutside(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(env)) if (isPersonal(name)) delete env[name];
}

async function summariesOf(laboratory: Laboratory): Promise<readonly AgentSummary[]> {
  const door = await openLaboratory(laboratory);
  try {
    return await door.agents();
  } finally {
    await door.close();
  }
}

function choose(all: readonly AgentSummary[], names: readonly string[]): readonly AgentSummary[] {
  const unknown = names.filter((name) => all.every(({ id }) => id !== name));
  if (unknown.length === 0) return names.length === 0 ? all : all.filter(({ id }) => names.includes(id));
  throw new UsageError(`There is no agent ${unknown.join(", ")}. There are: ${all.map(({ id }) => id).join(", ")}.`);
}

interface Looking extends Laboratory {
  /** An agent that was asked for by name must be there. */
  readonly asked: boolean;
  readonly signal: AbortSignal;
}

async function lookAt(summary: AgentSummary, { asked, ...looking }: Looking): Promise<Finding> {
  const { id, installed } = summary;
  const { trial = null, binary = null } = adapterFor(id) ?? {};
  if (!installed) {
    const advice = binary?.install.kind === "other" ? binary.install.advice : `franca agents install ${id}`;
    return unexamined(summary, { state: asked ? "wrong" : "absent", advice });
  }
  if (trial === null) {
    return unexamined(summary, { state: "seen", advice: "only looked at: it is not run with a scripted model" });
  }
  process.stderr.write(`Trying ${id}…\n`);
  try {
    return await examine(trial, { summary, ...looking });
  } catch (error) {
    // A refusal is a finding about this agent; the others are looked at all the same.
    if (!(error instanceof ApiError)) throw error;
    return unexamined(summary, { state: "wrong", advice: error.message });
  }
}

function print(findings: readonly Finding[]): void {
  const head = ["AGENT", "VERSION", "LOGIN", "TURN", "FILE", "LINES", "UNKNOWN", "WHAT TO DO"];
  process.stdout.write(table([head, ...findings.map(row)]));
  for (const { agent, firstUnparsed, violations } of findings) {
    for (const line of [...firstUnparsed, ...violations]) process.stdout.write(`${agent}: ${line}\n`);
  }
  process.stdout.write(hideDataText(findings));
  const programs = findings.filter(({ path }) => path !== null);
  if (findings.some(({ state }) => state === "absent") && programs.length === 0) {
    process.stderr.write("franca: no agent's program is installed; try: franca agents install claude\n");
  }
}

/** Agents by the reason why they see the data folder, one line each. */
function hideDataText(findings: readonly Finding[]): string {
  const agentsBy = new Map<string, string[]>();
  for (const { agent, hideData } of findings) {
    if (hideData.active) continue;
    const reason = hideData.reason ?? "";
    agentsBy.set(reason, [...(agentsBy.get(reason) ?? []), agent]);
  }
  if (agentsBy.size === 0) return "data folder: hidden from agents\n";
  return [...agentsBy]
    .map(([reason, agents]) => `data folder: not hidden from ${agents.join(", ")}: ${reason}\n`)
    .join("");
}

const row = ({ agent, state, version, login, turn, changed, nativeLines, unparsed, advice }: Finding): string[] => {
  const tried = nativeLines > 0 || turn !== null;
  return [
    agent,
    state === "absent" ? "not installed" : (version ?? ""),
    login === null ? "-" : login ? "found" : "missing",
    turn ?? (tried ? "no end" : "-"),
    changed === null ? "-" : changed ? "changed" : "unchanged",
    tried ? String(nativeLines) : "-",
    tried ? String(unparsed) : "-",
    advice,
  ];
};
