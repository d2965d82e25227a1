/** Prompts and what else begins a turn: held open until the turn has ended and everybody has heard it. */
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { DEFAULT_MODEL } from "../../projections/opencode/index.ts";
import type { PromptExtras } from "../../protocol/commands.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import type { UpdateSession } from "../../protocol/resources.ts";
import type { AgentChoice, PromptRequest } from "../../runtime/session/contract.ts";
import { timeoutSignal } from "../../runtime/timeout-signal.ts";
import { keepForSession } from "../hosts/attachments.ts";
import { type Carried, keepAttachments } from "./attachments.ts";
import { configuredRules, sayingWhere } from "./config-rules.ts";
import { headOf, lastAnswer, latestHeads, messageJson } from "./messages.ts";
import { modeChange, modeOptions } from "./modes.ts";
import { inPieces, json, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute } from "./route.ts";
import type { SessionView } from "./session-view.ts";
import { conversationIn, titleFrom, viewOf } from "./sessions.ts";
import { sendSideRequest, visibly } from "./side-requests.ts";

const Model = z.looseObject({ providerID: z.string(), modelID: z.string() });
const Part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  url: z.string().optional(),
  mime: z.string().optional(),
  filename: z.string().optional(),
  name: z.string().optional(),
  synthetic: z.boolean().optional(),
  ignored: z.boolean().optional(),
});
export type PromptPart = z.infer<typeof Part>;

const Prompt = z.looseObject({
  messageID: z.string().startsWith("msg").optional(),
  model: Model.optional(),
  agent: z.string().optional(),
  variant: z.string().optional(),
  noReply: z.boolean().optional(),
  system: z.string().optional(),
  format: z.looseObject({ type: z.string() }).optional(),
  tools: z.record(z.string(), z.boolean()).optional(),
  parts: z.array(Part),
});
/** `delivery` is of the newer API only. */
type PromptRequestBody = z.infer<typeof Prompt> & { readonly delivery?: "steer" | "queue" };

const OWN = "`noReply`, `format`, subtask and agent parts for the OpenCode agent. Without parts it is refused.";

export const promptRoutes: readonly OpenCodeRoute[] = [
  {
    method: "POST",
    path: "/session/{sessionID}/message",
    partial: OWN,
    handle: async (call) => {
      const asked = await ask(call, await call.body(Prompt));
      return "noted" in asked ? asked.noted : answered(call, asked);
    },
  },
  {
    method: "POST",
    path: "/session/{sessionID}/prompt_async",
    partial: OWN,
    handle: async (call) => {
      const asked = await ask(call, await call.body(Prompt));
      const refused = "noted" in asked && isRefusal(asked.noted);
      return refused ? asked.noted : "empty";
    },
  },
  {
    method: "POST",
    path: "/session/{sessionID}/command",
    partial: "The agent's own slash commands; as words for all but the OpenCode agent.",
    handle: command,
  },
  {
    method: "POST",
    path: "/session/{sessionID}/init",
    partial: "Nothing is required in its body.",
    handle: init,
  },
  {
    method: "POST",
    path: "/session/{sessionID}/shell",
    partial: "Refused in plan mode, and in folders that are not trusted.",
    handle: shell,
  },
  {
    method: "POST",
    path: "/session/{sessionID}/summarize",
    partial: "For agents that can compact.",
    handle: summarize,
  },
  { method: "POST", path: "/session/{sessionID}/abort", handle: abort },
];

interface Asked {
  readonly view: SessionView;
  readonly prompt: string;
}

export async function ask(
  call: OpenCodeCall,
  body: PromptRequestBody,
): Promise<Asked | { readonly noted: OpenCodeAnswer }> {
  const view = await choose(call, body);
  if (body.parts.length === 0) throw new ApiError("invalid_request", "The body: `parts` is empty: there is no prompt.");
  const { text, written, parts, attachments, own } = await keepAttachments(body.parts, (content) =>
    keepForSession(call, { content, session: view.id }),
  );
  const extras = extrasOf({ ...body, tools: await toolsFor(call, { view, tools: body.tools }) }, own);
  const isPlain = Object.keys(extras).length === 0;
  const all = { ...extras, ...defined({ parts: parts ?? undefined }) };
  const request = {
    text,
    attachments,
    ...defined({
      extras: Object.keys(all).length === 0 ? undefined : all,
      clientId: body.messageID,
      idempotencyKey: body.messageID,
      delivery: body.delivery,
    }),
  };
  if (body.noReply === true) return { noted: await note(call, { view, request }) };
  const { title } = await call.sessions.get(view.id, { limit: 0 });
  // An agent that understands more than words names its sessions itself, and others are about to refuse.
  if (isPlain && title === null && written.trim() !== "") {
    const naming = call.sessions.update(view.id, { title: titleFrom(written) }, { standIn: true });
    // One that waits for a host takes prompts, and nothing else.
    await naming.catch((error: unknown) => {
      if (!hasCode(error, "session_owned")) throw error;
    });
  }
  return { view, prompt: await send(call, view, request) };
}

/** Sends a prompt; what it changes in files can be taken back afterwards. */
async function send(call: OpenCodeCall, view: SessionView, request: PromptRequest): Promise<string> {
  const before = await call.undo.before(view);
  const { promptId, fresh } = await call.sessions.prompt(view.id, request);
  if (fresh) await call.undo.sent(view, { promptId, message: request.clientId ?? promptId, before });
  return promptId;
}

/**
 * Which tools may be used, for agents that take such a list. For others a tool that is turned off is a permission rule,
 * as it is in OpenCode itself; one that is turned on is there already.
 */
async function toolsFor(
  call: OpenCodeCall,
  { view, tools }: { view: SessionView; tools: z.infer<typeof Prompt>["tools"] },
): Promise<z.infer<typeof Prompt>["tools"]> {
  if (tools === undefined) return undefined;
  const { agent, permissionRules: known } = await call.sessions.get(view.id, { limit: 0 });
  if (await call.catalogue.takes(agent, "tools")) return tools;
  const off = Object.entries(tools).filter(([, on]) => !on);
  const rules = off.map(([permission]) => ({ permission, pattern: "*", action: "deny" as const }));
  const isKnown = (rule: (typeof rules)[number]): boolean =>
    known.some(
      ({ permission, pattern, action }) => permission === rule.permission && pattern === "*" && action === "deny",
    );
  const added = rules.filter((rule) => !isKnown(rule));
  if (added.length > 0) await call.sessions.update(view.id, { permissionRules: [...known, ...added] });
  return undefined;
}

function extrasOf(
  { system, format, tools }: Pick<z.infer<typeof Prompt>, "system" | "format" | "tools">,
  own: Carried["own"],
): PromptExtras {
  // Text is what everybody answers with.
  return defined({ ...own, system, format: format?.type === "text" ? undefined : format, tools });
}

const Noted = z.looseObject({ info: z.looseObject({ id: z.string() }) });

/** A message that nobody answers: no turn, only the message. */
async function note(
  call: OpenCodeCall,
  { view, request }: { view: SessionView; request: PromptRequest },
): Promise<OpenCodeAnswer> {
  const { refusal, body } = await sendSideRequest(call, { view, request: { word: "note", request } });
  if (refusal !== null) return refusal;
  const { data } = Noted.safeParse(body);
  const conversation = conversationIn(call, view);
  const noted = data === undefined ? null : await headOf(conversation, data.info.id);
  if (noted === null) throw new ApiError("internal", "The message was taken, but is not in the session.");
  return inPieces(messageJson(conversation, noted));
}

const isRefusal = (answer: OpenCodeAnswer): boolean =>
  typeof answer === "object" && "status" in answer && answer.status !== undefined;

interface Choice {
  readonly model?: z.infer<typeof Model> | undefined;
  readonly agent?: string | undefined;
  readonly variant?: string | undefined;
}

/** The session, changed to what the client has chosen; one that was made here and never used may change its agent. */
export async function choose(call: OpenCodeCall, { model, agent, variant }: Choice): Promise<SessionView> {
  const view = await viewOf(call);
  const now = await call.sessions.get(view.id, { limit: 0 });
  if (model !== undefined && model.providerID !== now.agent) {
    // One that was made elsewhere was made for its agent, with settings that clients of this surface do not know.
    const isForItsAgent = view.id !== view.openCodeId || now.nativeSessionId !== null;
    if (isForItsAgent || (await latestHeads(conversationIn(call, view), 1)).length > 0) {
      throw new ApiError(
        "not_supported",
        `This session belongs to ${now.agent}: choose one of its models. To use ${model.providerID}, begin a new session.`,
      );
    }
    const mode = await modeOptions(call.sessions, agent, model.providerID);
    const { directory, permissionRules: rules } = now;
    const configured = await configuredRules(call, { agent: model.providerID, directory, rules });
    const choice = { ...choiceOf({ model, variant }), ...mode, ...defined({ permissionRules: configured }) };
    await sayingWhere(call.sessions.changeAgent(view.id, choice), { asked: false });
    return view;
  }
  const mode = await modeChange(call.sessions, agent, now);
  const change = { ...changeOf({ model, variant, now }), ...mode };
  if (Object.keys(change).length > 0) await call.sessions.update(view.id, change);
  return view;
}

function changeOf({
  model,
  variant,
  now,
}: Pick<Choice, "model" | "variant"> & { now: { model: string | null; variant: string | null } }): UpdateSession {
  const wanted = model?.modelID ?? DEFAULT_MODEL;
  return defined({
    model: wanted === DEFAULT_MODEL || wanted === now.model ? undefined : wanted,
    variant: variant === "default" || variant === now.variant ? undefined : variant,
  });
}

const choiceOf = ({ model, variant }: Choice & { readonly model: z.infer<typeof Model> }): AgentChoice => ({
  agent: model.providerID,
  ...defined({
    model: model.modelID === DEFAULT_MODEL ? undefined : model.modelID,
    variant: variant === "default" ? undefined : variant,
  }),
});

/** A client that leaves does not end the turn. */
const hold = ({ incoming, outgoing, stopped }: OpenCodeCall): AbortSignal => {
  const left = new AbortController();
  incoming.on("aborted", () => left.abort());
  outgoing.on("close", () => left.abort());
  return AbortSignal.any([left.signal, stopped]);
};

async function answered(call: OpenCodeCall, { view, prompt }: Asked): Promise<OpenCodeAnswer> {
  const outcome = await call.turns.ended(view, prompt, hold(call));
  if (outcome === "dropped") throw new ApiError("invalid_request", "The prompt was taken off the queue: it never ran.");
  if (outcome === "gone") throw new ApiError("session_ended", "The session ended before the prompt's turn did.");
  // `opencode run --attach` leaves when its request is answered, and prints what it has received by then.
  await call.streams.flushed();
  return answerJson(call, view);
}

async function answerJson(call: OpenCodeCall, view: SessionView): Promise<OpenCodeAnswer> {
  const conversation = conversationIn(call, view);
  const last = await lastAnswer(conversation);
  if (last === null) throw new ApiError("internal", "The turn has ended without a message.");
  return inPieces(messageJson(conversation, last));
}

const Command = z.looseObject({
  command: z.string().min(1),
  arguments: z.string(),
  agent: z.string().optional(),
  model: z.string().optional(),
  messageID: z.string().startsWith("msg").optional(),
});

async function command(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const body = await call.body(Command);
  const [providerID, ...rest] = (body.model ?? "").split("/");
  const model =
    body.model === undefined || providerID === undefined ? undefined : { providerID, modelID: rest.join("/") };
  const view = await choose(call, { model, agent: body.agent });
  const text = `/${body.command} ${body.arguments}`.trim();
  const prompt = await send(call, view, {
    text,
    extras: { command: { name: body.command, arguments: body.arguments } },
    ...defined({ clientId: body.messageID }),
  });
  return answered(call, { view, prompt });
}

const INIT_PROMPT = [
  "Look at this project and write an AGENTS.md at its root, or improve the one that is there.",
  "It is for coding agents that come after you: how to build, run and test, the layout of the code, the house style,",
  "and what one would otherwise find out the hard way. Keep it short; say only what is true of this project.",
].join(" ");

const Init = z.looseObject({
  providerID: z.string().optional(),
  modelID: z.string().optional(),
  messageID: z.string().startsWith("msg").optional(),
});

async function init(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { providerID, modelID, messageID } = await call.body(Init);
  const model = providerID === undefined || modelID === undefined ? undefined : { providerID, modelID };
  const view = await choose(call, { model });
  const prompt = await send(call, view, { text: INIT_PROMPT, ...defined({ clientId: messageID }) });
  await answered(call, { view, prompt });
  return json(true);
}

const Shell = z.looseObject({
  command: z.string().min(1).max(100_000),
  agent: z.string(),
  model: Model.optional(),
  messageID: z.string().startsWith("msg").optional(),
});

async function shell(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { command: typed, agent, model, messageID } = await call.body(Shell);
  const view = await viewOf(call);
  const begin = () =>
    visibly(call, view, async () => {
      await choose(call, { agent, model });
      return (await call.sessions.shell(view.id, typed, defined({ clientId: messageID }))).turnId;
    });
  const message = await call.turns.answer(view, begin, hold(call));
  const conversation = conversationIn(call, view);
  const head = message === null ? null : await headOf(conversation, message);
  if (head === null) throw new ApiError("session_ended", "The session ended before the command did.");
  await call.streams.flushed();
  return inPieces(messageJson(conversation, head));
}

const Summarize = z.looseObject({ providerID: z.string(), modelID: z.string() });

async function summarize(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  await call.body(Summarize);
  const view = await viewOf(call);
  await call.sessions.compact(view.id);
  await settled(call, view);
  return json(true);
}

/** The answer to an abort comes when everything is written. */
async function abort(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  // As OpenCode: what does not run is aborted already, also where there is no such session.
  const view = await call.views.find(call.params.sessionID ?? "");
  if (view === null) return json(true);
  await call.sessions.abort(view.id, { clearQueue: true });
  await settled(call, view);
  return json(true);
}

/** How long the answer to an abort waits for the turn's end. */
const ABORT_MS = 30_000;

/** The request is in the log; when all of that is rendered and the session is idle, the turn is over. */
export async function settled(call: OpenCodeCall, view: SessionView): Promise<void> {
  const { lastSequence } = await call.sessions.get(view.id, { limit: 0 });
  const signal = timeoutSignal({ signal: hold(call), ms: ABORT_MS });
  await call.turns.idle(view, { after: lastSequence, signal });
  await call.streams.flushed();
}
