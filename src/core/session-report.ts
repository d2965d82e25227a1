/** What becomes known about a session: said once as its start, then only what changed. */
import type { DraftOf, SessionMetadata } from "../protocol/events.ts";
import { isSameJson } from "./json.ts";
import { emit, type MachineOutput, type MachineState } from "./machine-state.ts";
import type { SessionReport } from "./report.ts";

export function onSession(state: MachineState, out: MachineOutput[], report: SessionReport): void {
  const { native_session_id, metadata } = report;
  const renamed = native_session_id !== undefined && native_session_id !== state.native_session_id;
  if (renamed) state.native_session_id = native_session_id;
  if (!state.started && metadata !== undefined) {
    begin(state, out, metadata);
    return changed(state, out, fieldsOf(state, report));
  }
  // The id of a session that was not announced yet is on its first event anyway.
  const id = renamed && state.started ? native_session_id : undefined;
  changed(state, out, { native_session_id: id, ...fieldsOf(state, report) });
}

function begin(state: MachineState, out: MachineOutput[], known: Partial<SessionMetadata>): void {
  state.started = true;
  const metadata: SessionMetadata = Object.assign({}, known, {
    agent: known.agent ?? state.agent,
    agent_version: known.agent_version ?? null,
    model: known.model ?? null,
    directory: known.directory ?? null,
    permission_mode: known.permission_mode ?? null,
    tools: known.tools ?? [],
  });
  for (const name in metadata) state.known.set(name, metadata[name]);
  emit(state, out, { type: "session.started", data: { metadata } });
}

type Update = DraftOf<"session.updated">["data"];
/** What an update may say; `undefined` where the report does not speak of it. */
type Fields = { readonly [Name in keyof Update]: Update[Name] | undefined };

function fieldsOf({ titleGiven }: MachineState, report: SessionReport): Fields {
  const { metadata, title, model, mode, permission_mode, revert, share } = report;
  const now = model ?? metadata?.model;
  const permissions = permission_mode ?? metadata?.permission_mode;
  return {
    title: titleGiven ? undefined : title,
    model: now ?? undefined,
    mode,
    permission_mode: permissions ?? undefined,
    agent_version: metadata?.agent_version ?? undefined,
    directory: metadata?.directory ?? undefined,
    revert,
    share,
    tools: metadata?.tools?.length === 0 ? undefined : metadata?.tools,
    commands: report.commands ?? metadata?.commands,
    capabilities: metadata?.capabilities,
  };
}

/** Says only what is new. */
function changed(state: MachineState, out: MachineOutput[], fields: Readonly<Record<string, unknown>>): void {
  const news: Record<string, unknown> = {};
  let isNew = false;
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined || isSameJson(state.known.get(name), value)) continue;
    state.known.set(name, value);
    news[name] = value;
    isNew = true;
  }
  if (isNew) emit(state, out, { type: "session.updated", data: news });
}
