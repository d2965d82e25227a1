/** A machine as it was left: rebuilt from the session's snapshot, after a restart or when a session is opened again. */
import type { Item } from "../protocol/items.ts";
import { addOpen } from "./background.ts";
import { recallBudget } from "./budget-limits.ts";
import { defined } from "./defined.ts";
import { type MachineState, newTurn, type OpenItem } from "./machine-state.ts";
import { noScopes } from "./remembered.ts";
import type { Snapshot } from "./snapshot.ts";
import { unheardIn } from "./unheard.ts";

/**
 * Fills a fresh machine. What only the agent's process knew is gone with it, and so is the queue: the edge keeps that.
 */
export function resumeMachine(state: MachineState, snapshot: Snapshot): void {
  state.at = snapshot.time === "" ? 0 : Date.parse(snapshot.time);
  state.heardAt = state.at;
  state.started = snapshot.metadata !== null;
  state.ended = snapshot.ended;
  state.native_session_id = snapshot.native_session_id;
  state.titleGiven = snapshot.titleGiven;
  state.turns = snapshot.turns;
  state.permissions = snapshot.permissionCount;
  state.questions = snapshot.questionCount;
  state.todos = snapshot.todos;
  state.ledger.count = snapshot.itemCount;
  state.unheard = state.capabilities.shell === true ? [] : unheardIn(snapshot);
  state.usage.session = snapshot.usage;
  state.usage.before = snapshot.usage;
  Object.assign(state.books, snapshot.books);
  recallBudget(state);
  state.governor.stopped = !snapshot.continuing;
  state.remembered = snapshot.remembered;
  recall(state, snapshot);
  for (const item of snapshot.items.values()) if (item.status === "in_progress") reopen(state, snapshot, item);
  for (const data of snapshot.permissions.values()) {
    state.requests.set(data.permission_id, {
      type: "permission",
      key: data.permission_id,
      deadline: 0,
      data,
      scopes: noScopes,
    });
  }
  for (const data of snapshot.questions.values()) {
    state.requests.set(data.question_id, { type: "question", key: data.question_id, deadline: 0, data });
  }
  for (const { prompt_id } of snapshot.queue) state.announced.add(prompt_id);
  if (snapshot.turn === null) return;
  state.turn = newTurn({ id: snapshot.turn.id, origin: "user", startedAt: state.at });
  state.usage.turn = snapshot.turnUsage.turn;
  state.usage.before = snapshot.turnUsage.before;
}

function recall(state: MachineState, snapshot: Snapshot): void {
  const known = {
    ...snapshot.metadata,
    title: snapshot.title,
    model: snapshot.model,
    variant: snapshot.variant,
    mode: snapshot.mode,
    permission_mode: snapshot.permission_mode,
    revert: snapshot.revert,
    share: snapshot.share,
    trusted: snapshot.trusted,
  };
  for (const [name, value] of Object.entries(known)) if (value !== null) state.known.set(name, value);
}

function reopen(state: MachineState, snapshot: Snapshot, item: Item): void {
  const said = snapshot.texts.get(item.item_id);
  const open: OpenItem = {
    item_id: item.item_id,
    parent_id: item.parent_id,
    head: {
      key: item.item_id,
      native_item_id: item.native_item_id,
      kind: item.kind,
      role: item.role,
      content: item.content,
      ...defined({ message_id: item.message_id ?? undefined, subagent: item.subagent }),
    },
    content: item.content,
    inBackground: false,
    text: said?.text ?? "",
    part: said?.part ?? null,
  };
  addOpen(state, open);
}
