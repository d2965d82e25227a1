/**
 * Which open items are background work: work that outlives its turn, as the agent reports it. Everything else that is
 * open is in the foreground and holds its turn. Updated item by item, so that no step iterates over all of them.
 */
import type { Ledger, MachineState, OpenItem, OpenWork } from "./machine-state.ts";
import type { ItemHead } from "./report.ts";

export const isTool = (head: ItemHead): boolean => head.kind === "tool_call" || head.kind === "tool_result";

/** The call an item belongs to, for tool items. */
export function callIdOf({ content }: Pick<ItemHead, "content">): string | null {
  for (const part of content) {
    if (part.type === "tool_call" || part.type === "tool_result") return part.call_id;
  }
  return null;
}

/** Names under which the agent's list of background work may refer to an item. */
function namesOf(head: ItemHead): string[] {
  const names: string[] = [];
  const callId = callIdOf(head);
  if (callId !== null) names.push(`call/${callId}`);
  if (head.subagent !== undefined) names.push(`id/${head.subagent.id}`);
  // The work's own status item is known by the agent's id of it.
  if (head.kind === "status" && head.native_item_id !== null) names.push(`id/${head.native_item_id}`);
  return names;
}

const workNames = ({ id, call_id }: OpenWork): string[] =>
  call_id === undefined ? [`id/${id}`] : [`id/${id}`, `call/${call_id}`];

/** Whether an item is background work: a subagent or a command that the agent reports as still running. */
export const isBackground = ({ backgroundNames }: Pick<MachineState, "backgroundNames">, head: ItemHead): boolean =>
  backgroundNames.size > 0 && namesOf(head).some((name) => backgroundNames.has(name));

/** Replaces the list of background work. */
export function setBackground(state: MachineState, open: readonly OpenWork[]): void {
  const before = state.backgroundNames;
  state.background = open;
  state.backgroundNames = new Set(open.flatMap(workNames));
  for (const name of before) if (!state.backgroundNames.has(name)) classify(state, name);
  for (const name of state.backgroundNames) if (!before.has(name)) classify(state, name);
}

/** Looks again at the open items that have this name. */
function classify(state: MachineState, name: string): void {
  for (const item of state.ledger.byWork.get(name) ?? []) {
    const inBackground = isBackground(state, item.head);
    if (inBackground === item.inBackground) continue;
    item.inBackground = inBackground;
    if (isTool(item.head)) state.ledger.foregroundTools += inBackground ? -1 : 1;
  }
}

export function addOpen(state: MachineState, item: OpenItem): void {
  const { ledger } = state;
  ledger.open.set(item.head.key, item);
  item.inBackground = isBackground(state, item.head);
  if (isTool(item.head) && !item.inBackground) ledger.foregroundTools += 1;
  for (const name of namesOf(item.head)) {
    const named = ledger.byWork.get(name);
    if (named === undefined) ledger.byWork.set(name, new Set([item]));
    else named.add(item);
  }
}

export function deleteOpen(ledger: Ledger, item: OpenItem): void {
  ledger.open.delete(item.head.key);
  if (isTool(item.head) && !item.inBackground) ledger.foregroundTools -= 1;
  for (const name of namesOf(item.head)) {
    const named = ledger.byWork.get(name);
    named?.delete(item);
    if (named?.size === 0) ledger.byWork.delete(name);
  }
}

/** Whether a tool is at work in the foreground. */
export const isToolAtWork = ({ ledger }: MachineState): boolean => ledger.foregroundTools > 0;

/** Whether a natural end must wait: a tool that only waits for a person has been given up with that end. */
export function holdsEnd({ ledger, requests }: MachineState): boolean {
  if (ledger.foregroundTools === 0) return false;
  const waiting = new Set<OpenItem>();
  for (const { data } of requests.values()) {
    for (const item of ledger.byWork.get(`call/${data.metadata.call_id}`) ?? []) {
      if (isTool(item.head) && !item.inBackground) waiting.add(item);
    }
  }
  return waiting.size < ledger.foregroundTools;
}
