/** What the ACP projection remembers of a session: its open tool calls, and the turn that a prompt waits for. */
import type { AcpToolKind } from "../../core/acp.ts";
import type { Origin } from "../../protocol/events.ts";

/** What a client has said that it understands, beyond the protocol's minimum. */
export interface ClientAbilities {
  readonly elicitation: boolean;
  readonly notices: boolean;
  readonly compaction: boolean;
}

export interface AcpOptions {
  readonly client?: Partial<ClientAbilities>;
  /** The user's words are repeated: the past is being loaded, or another client has sent the prompt. */
  readonly echo?: (promptId: string | null) => boolean;
}

export interface Tool {
  readonly id: string;
  readonly title: string;
  readonly kind: AcpToolKind;
  output: string;
  /** When output was sent last. */
  sentAt: number;
}

export interface State {
  readonly client: ClientAbilities;
  readonly echo: (promptId: string | null) => boolean;
  /** By the agent's call id, which may come again when the call has ended. */
  readonly tools: Map<string, Tool>;
  turn: { readonly id: string; readonly origin: Origin; readonly promptId: string | null } | null;
}

const minimal: ClientAbilities = { elicitation: true, notices: false, compaction: false };

export const start = ({ client, echo = () => false }: AcpOptions): State => ({
  client: { ...minimal, ...client },
  echo,
  tools: new Map(),
  turn: null,
});
