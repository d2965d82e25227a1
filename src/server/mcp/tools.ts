/** The tools of the MCP endpoint, as a table: what each takes and what it does. Unknown fields are refused. */
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { itemsText } from "../../core/items-text.ts";
import { sessionId } from "../../protocol/ids.ts";
import type { SessionSummary } from "../../protocol/resources.ts";
import { PermissionMode } from "../../protocol/session-enums.ts";
import type { Action } from "../../protocol/tokens.ts";
import { describeIssues } from "../http/request.ts";
import { type Asking, ask } from "./ask.ts";
import type { Authority } from "./authority.ts";
import { answerWith, failure, type ToolResult } from "./result.ts";

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType;
  /** What a credential needs. */
  readonly action: Action;
  /** Only for those who may do everything. */
  readonly full?: true;
  readonly call: (asking: Asking, input: unknown) => Promise<ToolResult>;
}

interface ToolDefinition<Input extends z.ZodType> extends Omit<Tool, "call" | "input"> {
  readonly input: Input;
  readonly call: (asking: Asking, input: z.infer<Input>) => Promise<ToolResult>;
}

/** The input is checked with the tool's own schema before the tool sees it. */
function defineTool<Input extends z.ZodType>({ call, input, ...rest }: ToolDefinition<Input>): Tool {
  return {
    ...rest,
    input,
    call: async (asking, given) => {
      const result = input.safeParse(given ?? {});
      if (!result.success) return failure(describeIssues(result.error, { where: `The input of ${rest.name}` }));
      return call(asking, result.data);
    },
  };
}

const Id = z.string().min(1).max(256).describe("A session's id, from `ask` or `sessions`.");
const MOST_ITEMS = 200;

const tools: readonly Tool[] = [
  defineTool({
    name: "agents",
    action: "read",
    description: "List the coding agents that can be asked.",
    input: z.strictObject({}),
    call: async ({ sessions }) => {
      const agents = (await sessions.agents()).filter(({ installed }) => installed);
      return answerWith({
        agents: agents.map(({ id, name, version, credentialsAvailable }) => ({
          id,
          name,
          version,
          credentialsAvailable,
        })),
      });
    },
  }),
  defineTool({
    name: "ask",
    action: "prompt",
    description:
      "Ask a coding agent and wait for its answer. Without `session` a new session is started; with it, that one is continued. The agent works in the same folder.",
    input: z.strictObject({
      prompt: z.string().min(1).describe("What the agent shall do. It knows nothing of this conversation."),
      agent: z.string().min(1).optional().describe("Which agent, from `agents`; only for a new session."),
      session: Id.optional(),
      model: z.string().min(1).optional().describe("The agent's model; only for a new session."),
      permissionMode: PermissionMode.optional().describe("Never looser than your own; only for a new session."),
      directory: z.string().min(1).optional().describe("A folder inside yours; only for a new session."),
      title: z.string().max(500).optional(),
    }),
    call: (asking, input) => ask(asking, input),
  }),
  defineTool({
    name: "sessions",
    action: "read",
    description: "List the sessions that you have started, with their status.",
    input: z.strictObject({}),
    call: async ({ authority }) => answerWith({ sessions: (await authority.list()).map(listed) }),
  }),
  defineTool({
    name: "read",
    action: "read",
    description: "Read what was said and done in a session, the latest items last.",
    input: z.strictObject({ session: Id, limit: z.number().int().min(1).max(MOST_ITEMS).optional() }),
    call: async ({ authority, sessions }, { session, limit = 50 }) => {
      const id = sessionId(session);
      await authority.check(id);
      const detail = await sessions.get(id, { limit });
      return {
        content: [{ type: "text", text: itemsText(detail.items) }],
        structuredContent: { ...listed(detail), waitsFor: [...detail.pendingPermissions, ...detail.pendingQuestions] },
      };
    },
  }),
  defineTool({
    name: "abort",
    action: "abort",
    description: "Stop what a session is doing.",
    input: z.strictObject({ session: Id }),
    call: async ({ authority, sessions }, { session }) => {
      const id = sessionId(session);
      await authority.check(id);
      await sessions.abort(id, { clearQueue: true });
      return answerWith({ session, aborted: true });
    },
  }),
  defineTool({
    name: "answer",
    action: "answer",
    description: "Answer a permission request (`reply`) or a question (`answers`) of a session.",
    full: true,
    input: z.strictObject({
      session: Id,
      request: z.string().min(1).describe("Its permission_id or question_id, from `read`."),
      reply: z.enum(["once", "always", "reject"]).optional(),
      scope: z
        .string()
        .optional()
        .describe("With `always`: one of the request's `scopes`, instead of the exact action."),
      answers: z.array(z.array(z.string())).optional(),
    }),
    call: async ({ sessions }, { session, request, reply, scope, answers }) => {
      const id = sessionId(session);
      if (answers !== undefined) await sessions.replyQuestion(id, request, answers);
      else if (reply !== undefined) await sessions.replyPermission(id, request, { reply, ...defined({ scope }) });
      else return failure("The input of answer: give `reply` for a permission, or `answers` for a question.");
      return answerWith({ session, request, answered: true });
    },
  }),
];

const listed = ({ sessionId: id, agent, model, status, title, directory, permissionMode }: SessionSummary) => ({
  session: id,
  agent,
  model,
  status,
  title,
  directory,
  permissionMode,
});

type Allowed = Pick<Authority, "isFull" | "actions">;

const toolsOf = ({ isFull, actions }: Allowed): readonly Tool[] =>
  tools.filter(({ full, action }) => (full !== true || isFull) && actions.includes(action));

/** As `tools/list` gives them. */
export const describeTools = (authority: Allowed) =>
  toolsOf(authority).map(({ name, description, input }) => {
    const { $schema: _schema, ...inputSchema } = z.toJSONSchema(input);
    return { name, description, inputSchema };
  });

/** Null when there is no such tool for this caller. */
export const findTool = (authority: Allowed, name: unknown): Tool | null =>
  toolsOf(authority).find((tool) => tool.name === name) ?? null;
