/** What must hold of a simulated life, whatever went wrong in it. Pure: what was seen in, broken promises out. */
import { defaultPolicy } from "../../src/core/input.ts";
import { projections } from "../../src/projections/index.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { lint, universal } from "../../src/server/rules.ts";
import { bodyOf, type Seen } from "./clients.ts";
import type { Looked, Observer, SentPrompt } from "./observer.ts";

export interface Violation {
  readonly promise: string;
  readonly what: string;
}

/** The log of each session, as it can be read in the end. */
export type Logs = ReadonlyMap<string, readonly UniversalEvent[]>;

export interface Evidence {
  readonly observer: Observer;
  readonly clients: readonly Seen[];
  readonly logs: Logs;
}

export function checkAll({ observer, clients, logs }: Evidence): Violation[] {
  const found: Violation[] = [];
  const broken = (promise: string) => (what: string) => void found.push({ promise, what });
  for (const [session, events] of logs) {
    checkOrder(events, broken(`order of ${session}`));
    checkTurns(events, broken(`turns of ${session}`));
    checkRules(events, broken(`rules of ${session}`));
    const silences = observer.stopped.filter((one) => one.session === session).map(({ silentMs }) => silentMs);
    checkWatchdog(events, silences, broken(`watchdog of ${session}`));
  }
  for (const client of clients) checkClient(client, logs.get(client.session) ?? [], broken(`client ${client.name}`));
  for (const prompt of observer.prompts) checkPrompt(prompt, { observer, logs }, broken("prompts"));
  for (const look of observer.looks) checkLook(look, logs.get(look.session) ?? [], broken("look"));
  checkAnswers({ observer, logs }, broken("answers"));
  for (const surprise of observer.surprises) broken("refusals")(surprise);
  return found;
}

type Report = (what: string) => void;

/** The daemon's own policy. */
const WATCHDOG_MS = defaultPolicy.watchdogMs;

/** The watchdog stops only agents that were silent while the machine was awake, whatever the clock did. */
function checkWatchdog(events: readonly UniversalEvent[], silences: readonly number[], broken: Report): void {
  const ended = events.filter(({ type, data }) => type === "error" && "code" in data && data.code === "watchdog");
  const silent = silences.filter((ms) => ms >= WATCHDOG_MS);
  if (ended.length > silent.length) broken(`ended ${ended.length} turns, and only ${silent.length} were silent`);
}

function checkOrder(events: readonly UniversalEvent[], broken: Report): void {
  let time = "";
  for (const [index, event] of events.entries()) {
    if (event.sequence !== index + 1) broken(`${event.sequence} is at place ${index + 1}`);
    if (event.time < time) broken(`${event.sequence} was before the one before it`);
    time = event.time;
  }
}

/** One end for each beginning, none open in the end; and no request is open when its turn is over. */
function checkTurns(events: readonly UniversalEvent[], broken: Report): void {
  let open: string | null = null;
  const requests = new Set<string>();
  for (const event of events) {
    switch (event.type) {
      case "turn.started":
        if (open !== null) broken(`${event.data.turn_id} begins inside ${open}`);
        open = event.data.turn_id;
        break;
      case "turn.ended":
        if (event.data.turn_id !== open) broken(`${event.data.turn_id} ends while ${open} is open`);
        if (requests.size > 0) broken(`${[...requests]} open at the end of ${open}`);
        open = null;
        break;
      case "permission.requested":
        requests.add(event.data.permission_id);
        break;
      case "question.requested":
        requests.add(event.data.question_id);
        break;
      case "permission.resolved":
        if (!requests.delete(event.data.permission_id)) broken(`${event.data.permission_id} resolved twice`);
        break;
      case "question.resolved":
        if (!requests.delete(event.data.question_id)) broken(`${event.data.question_id} resolved twice`);
    }
  }
  if (open !== null) broken(`${open} never ended`);
  if (requests.size > 0) broken(`${[...requests]} never resolved`);
}

/** The linter's rules, for the events and for each dialect they are rendered in. Agents here write odd lines. */
function checkRules(events: readonly UniversalEvent[], broken: Report): void {
  for (const { rule, message, line } of lint(universal, events)) {
    if (rule !== "universal.unparsed") broken(`${rule} at ${line}: ${message}`);
  }
  for (const { name, rules, open } of projections) {
    const running = open();
    const rendered = events.flatMap((event) => [...running.step(event)]);
    rendered.push(...running.end());
    if (rules === null) continue;
    for (const { rule, message, line } of lint(rules, rendered)) broken(`${name}: ${rule} at ${line}: ${message}`);
  }
}

/** All that is in the log, once, in order and as it is there; after it came back, from where it asked. */
function checkClient({ entries }: Seen, events: readonly UniversalEvent[], broken: Report): void {
  let last = 0;
  for (const entry of entries) {
    if ("from" in entry) {
      last = entry.from;
      continue;
    }
    const { sequence, body } = entry;
    if (sequence !== last + 1) broken(`${sequence} after ${last}`);
    const stored = events[sequence - 1];
    if (stored === undefined) broken(`${sequence} was seen and is not stored`);
    else if (bodyOf(stored) !== body) broken(`${sequence} was seen otherwise than it is stored`);
    last = sequence;
  }
  if (last !== events.length) broken(`has seen ${last} of ${events.length}`);
}

type Known = Pick<Evidence, "observer" | "logs">;

function checkPrompt(prompt: SentPrompt, { observer, logs }: Known, broken: Report): void {
  const { session, text, receipts, delivery, lost, cancelled } = prompt;
  const events = logs.get(session) ?? [];
  const ids = new Set(receipts.map(({ promptId }) => promptId));
  const turns = events.filter((event) => event.type === "turn.started" && ids.has(event.data.prompt_id ?? ""));
  const items = events.filter((event) => event.type === "item.started" && isSaidBy(event.data.item, text));
  const heard = observer.heard.filter(
    ({ line }) => (line.type === "prompt" || line.type === "steer") && line.text === text,
  );
  if (ids.size > 1) broken(`${text} was given ${ids.size} ids`);
  if (receipts.filter(({ fresh }) => fresh).length > 1) broken(`${text} was fresh twice`);
  if (turns.length > 1) broken(`${text} began ${turns.length} turns`);
  if (items.length > 1) broken(`${text} was said ${items.length} times`);
  if (heard.length > 1) broken(`${text} was sent to an agent ${heard.length} times`);
  if (heard.length > items.length) broken(`${text} was sent to an agent, and the log does not say so`);
  const isAcknowledged = receipts.length > 0;
  if (!isAcknowledged && !lost && items.length > 0) broken(`${text} was refused and is in the log`);
  if (!isAcknowledged || cancelled) return;
  if (items.length === 0) broken(`${text} was acknowledged and never run`);
  if (delivery === "queue" && turns.length === 0) broken(`${text} was acknowledged and began no turn`);
}

type Item = Extract<UniversalEvent, { type: "item.started" }>["data"]["item"];

const isSaidBy = ({ role, content }: Item, text: string): boolean =>
  role === "user" && content.some((part) => part.type === "text" && part.text === text);

/** A session as it was shown is how the log has it up to there: nothing that a crash could lose was shown. */
function checkLook({ session, detail }: Looked, events: readonly UniversalEvent[], broken: Report): void {
  const { lastSequence, status, turnId, pendingPermissions, pendingQuestions } = detail;
  if (lastSequence > events.length) return broken(`${session} was shown at ${lastSequence} of ${events.length}`);
  let open: string | null = null;
  let requests = 0;
  for (const event of events.slice(0, lastSequence)) {
    if (event.type === "turn.started") open = event.data.turn_id;
    if (event.type === "turn.ended") open = null;
    if (event.type === "permission.requested" || event.type === "question.requested") requests += 1;
    if (event.type === "permission.resolved" || event.type === "question.resolved") requests -= 1;
  }
  if (turnId !== open) broken(`${session} was shown in ${turnId} at ${lastSequence}, which is ${open}`);
  if ((status === "idle") !== (open === null)) broken(`${session} was shown ${status} at ${lastSequence} in ${open}`);
  const shown = pendingPermissions.length + pendingQuestions.length;
  if (shown !== requests) broken(`${session} was shown with ${shown} requests at ${lastSequence}: ${requests}`);
  if (requests > 0 && status !== "requires_action") broken(`${session} waits for a person and was shown ${status}`);
}

/** What was acknowledged of answers and titles is in the log, and no agent got two answers to one request. */
function checkAnswers({ observer, logs }: Known, broken: Report): void {
  for (const { session, request, yes } of observer.answered) {
    const status = statusOf(logs.get(session) ?? [], request);
    const wanted = yes ? ["accept", "accept_for_session", "answered"] : ["reject", "rejected"];
    if (status === null || !wanted.includes(status)) broken(`${request} was answered ${yes} and is ${status}`);
  }
  const answers = observer.heard.flatMap(({ line }) =>
    line.type === "answer" || line.type === "answers" ? [line.id] : [],
  );
  if (new Set(answers).size !== answers.length) broken(`an agent got two answers: ${answers}`);
  for (const { session, title } of observer.titles) {
    const events = logs.get(session) ?? [];
    const isStored = events.some((event) => event.type === "session.updated" && event.data.title === title);
    if (!isStored) broken(`the title ${title} was acknowledged and lost`);
  }
}

function statusOf(events: readonly UniversalEvent[], request: string): string | null {
  for (const event of events) {
    if (event.type === "permission.resolved" && event.data.permission_id === request) return event.data.status;
    if (event.type === "question.resolved" && event.data.question_id === request) return event.data.status;
  }
  return null;
}
