/**
 * The nouns of OpenCode's events: a session, a message and its model, as they stand now. A field without a value is
 * `undefined` and so absent from the JSON: objects of one shape are made and printed faster.
 */
import type {
  OpenCodeAssistantMessage,
  OpenCodeError,
  OpenCodeSession,
  OpenCodeTokens,
  OpenCodeUserMessage,
} from "../../dialects/opencode.ts";
import type { Tokens } from "../../protocol/events.ts";
import { projectId } from "./ids.ts";
import { type Conversation, noTokens, type OpenMessage, type State } from "./state.ts";

/** The OpenCode whose shapes these are; clients compare it with their own. */
export const OPENCODE_VERSION = "1.18.33";
/** What OpenCode calls an agent's only mode, and the model of an agent that chooses by itself. */
export const DEFAULT_MODE = "build";
export const DEFAULT_MODEL = "default";
const SUMMARY_MODE = "compaction";

export const modelOf = (
  state: Pick<State, "agent" | "model">,
): { readonly providerID: string; readonly modelID: string } => ({
  providerID: state.agent === "" ? "franca" : state.agent,
  modelID: state.model ?? DEFAULT_MODEL,
});

/** Clients go on with the model that prompts name, so these must name one that can be chosen. */
const chosenOf = ({ agent, model, chosen }: State) => modelOf({ agent, model: chosen === undefined ? model : chosen });

export function describeSession(state: State, conversation: Conversation): OpenCodeSession {
  const { providerID, modelID } = chosenOf(state);
  const isRoot = conversation.parentID === null;
  return {
    id: conversation.id,
    slug: conversation.slug,
    projectID: projectOf(state),
    directory: state.directory,
    path: "",
    parentID: conversation.parentID ?? state.parent ?? undefined,
    title: conversation.title,
    agent: conversation.agent ?? DEFAULT_MODE,
    model: { id: modelID, providerID, variant: state.variant ?? undefined },
    version: OPENCODE_VERSION,
    cost: isRoot ? state.cost : 0,
    tokens: isRoot ? withoutTotal(state.tokens) : noTokens,
    share: (isRoot ? state.share : null) ?? undefined,
    revert: (isRoot ? state.revert : null) ?? undefined,
    time: {
      created: conversation.created,
      updated: conversation.updated,
      archived: conversation.archived ?? undefined,
    },
  };
}

/** The folder seldom changes, and a session is described often. */
function projectOf(state: State): string {
  const { directory, project } = state;
  if (project?.directory === directory) return project.id;
  const id = projectId(directory);
  state.project = { directory, id };
  return id;
}

export function describeUser(
  state: State,
  { conversation, id, created }: { conversation: Conversation; id: string; created: number },
): OpenCodeUserMessage {
  const { providerID, modelID } = chosenOf(state);
  return {
    id,
    sessionID: conversation.id,
    role: "user",
    time: { created },
    agent: conversation.agent ?? DEFAULT_MODE,
    model: { providerID, modelID, variant: state.variant ?? undefined },
  };
}

export interface MessageEnd {
  readonly completed: number;
  readonly finish: string | null;
  readonly error: OpenCodeError | null;
}

export function describeAssistant(
  state: State,
  { conversation, message, end }: { conversation: Conversation; message: OpenMessage; end: MessageEnd | null },
): OpenCodeAssistantMessage {
  const mode = message.summary ? SUMMARY_MODE : (conversation.agent ?? DEFAULT_MODE);
  const { providerID, modelID } = modelOf(state);
  return {
    id: message.id,
    sessionID: conversation.id,
    role: "assistant",
    parentID: message.parentID,
    mode,
    agent: mode,
    summary: message.summary || undefined,
    path: { cwd: state.directory, root: state.directory },
    cost: message.cost,
    tokens: message.tokens ?? noTokens,
    providerID,
    modelID,
    variant: state.variant ?? undefined,
    time: { created: message.created, completed: end?.completed },
    finish: end?.finish ?? undefined,
    structured: message.structured,
    error: end?.error ?? undefined,
  };
}

export function tokensOf(tokens: Tokens): OpenCodeTokens {
  const { input, output, reasoning, cache_read: read, cache_write: write } = tokens;
  const total = input + output + reasoning + read + write;
  return { total, input, output, reasoning, cache: { read, write } };
}

function withoutTotal({ input, output, reasoning, cache }: OpenCodeTokens): OpenCodeTokens {
  return { input, output, reasoning, cache };
}
