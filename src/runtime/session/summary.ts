/** Summary and detail of a session for lists and views, from its snapshot and its settings. */
import type { Capabilities } from "../../core/capabilities.ts";
import { defined } from "../../core/defined.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { Placement } from "../../protocol/placement.ts";
import type { SessionDetail, SessionSummary } from "../../protocol/resources.ts";
import type { SessionSettings } from "../log/contract.ts";

export interface Described {
  readonly id: SessionId;
  readonly settings: SessionSettings;
  readonly snapshot: Snapshot;
}

export function summarise({ id, settings, snapshot }: Described): SessionSummary {
  const { create } = settings;
  return {
    sessionId: id,
    agent: create.agent,
    agentMode: snapshot.mode ?? create.agentMode ?? null,
    permissionMode: snapshot.permission_mode ?? create.permissionMode ?? "default",
    model: snapshot.model ?? create.model ?? null,
    variant: snapshot.variant ?? create.variant ?? null,
    nativeSessionId: snapshot.native_session_id ?? create.nativeSessionId ?? null,
    status: snapshot.status,
    ...defined({ retry: snapshot.retry ?? undefined }),
    ended: snapshot.ended,
    eventCount: snapshot.sequence,
    lastSequence: snapshot.sequence,
    createdAt: snapshot.createdAt,
    updatedAt: snapshot.time,
    directory: create.directory ?? "",
    title: snapshot.title ?? create.title ?? null,
    ...keptWith(settings),
    usage: snapshot.usage,
    ...(snapshot.lastEnd === null ? {} : { lastEnd: snapshot.lastEnd }),
  };
}

/** What clients keep with a session: as it is set now, whenever the summary was written. */
export const keptWith = ({ create: { metadata, parentId, archivedAt }, worktree, damaged }: SessionSettings) =>
  defined({ metadata, parentId, archivedAt, worktree, damaged: damaged === true ? DAMAGED_SETTINGS : undefined });

export const DAMAGED_SETTINGS =
  "Its stored settings are damaged, so that nothing runs in it. It can be read and deleted. Restore a backup of the " +
  "data folder to continue it.";

export interface DescribedFully extends Described {
  readonly trusted: boolean;
  /** What is known of the agent. */
  readonly capabilities: Capabilities;
  readonly placement?: Placement;
  /** Prompts that wait, also for a host. */
  readonly queue: Snapshot["queue"];
}

/** All but its items and what depends on the machine. */
export function detail(described: DescribedFully): Omit<SessionDetail, "items" | "hideData"> {
  const { snapshot } = described;
  return {
    ...summarise(described),
    turnId: snapshot.turn?.id ?? null,
    trusted: described.trusted,
    pendingPermissions: [...snapshot.permissions.values()],
    pendingQuestions: [...snapshot.questions.values()],
    queue: described.queue,
    todos: snapshot.todos,
    usage: snapshot.usage,
    revert: snapshot.revert,
    share: snapshot.share,
    ...defined({ placement: described.placement }),
    permissionRules: described.settings.create.permissionRules ?? [],
    capabilities: { ...ownCapabilities(described.capabilities, snapshot) },
    commands: snapshot.metadata?.commands ?? [],
  };
}

/** What the agent itself has said in this session comes first. */
export const ownCapabilities = (known: Capabilities, { metadata }: Snapshot): Capabilities => ({
  ...known,
  ...metadata?.capabilities,
});
