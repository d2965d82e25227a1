/** Conversations in OpenCode's newer API: `/api/session…`, `/api/permission…`, `/api/question…`. */
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import type { OpenCodeSession } from "../../dialects/opencode.ts";
import { isShape } from "../../dialects/shape.ts";
import { projectId } from "../../projections/opencode/index.ts";
import { ApiError } from "../../protocol/errors.ts";
import { sessionId } from "../../protocol/ids.ts";
import { cursorOf, type Place, placeIn } from "./cursors.ts";
import { headOf, headsBefore, messageJson } from "./messages.ts";
import { nextPermission, seqUpTo } from "./next-events.ts";
import { numberIn } from "./next-history.ts";
import { nextMessage } from "./next-messages.ts";
import { Answers, find, Reply } from "./permissions.ts";
import { ask, choose, settled } from "./prompts.ts";
import { freshId, json, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute } from "./route.ts";
import type { SessionView } from "./session-view.ts";
import { conversationIn, conversationOf, createSession, infoOf, listed, viewOf } from "./sessions.ts";
import { bringBack, takeBack } from "./side-requests.ts";

const PAGE = 50;
const LONGEST = 200;

const ModelRef = z.looseObject({ id: z.string(), providerID: z.string(), variant: z.string().optional() });
const Create = z.looseObject({
  id: z
    .string()
    .regex(/^ses_\w{1,100}$/)
    .optional(),
  agent: z.string().optional(),
  model: ModelRef.optional(),
  location: z.looseObject({ directory: z.string() }).optional(),
});
const PromptBody = z.looseObject({
  id: z.string().startsWith("msg_").optional(),
  prompt: z.looseObject({
    text: z.string(),
    files: z.array(z.looseObject({ uri: z.string(), name: z.string().optional() })).optional(),
  }),
  delivery: z.enum(["steer", "queue"]).optional(),
});

const session = "/api/session/{sessionID}";
const MODES = "Modes that the agent does not have are refused.";

const routes: readonly OpenCodeRoute[] = [
  { method: "GET", path: "/api/session", action: "read", handle: list },
  { method: "POST", path: "/api/session", action: "create", partial: "The directory must exist.", handle: create },
  { method: "GET", path: "/api/session/active", action: "read", handle: active },
  {
    method: "GET",
    path: session,
    action: "read",
    handle: async (call) => data(nextSession(await infoOf(call, await viewOf(call)))),
  },
  { method: "POST", path: `${session}/agent`, action: "manage", partial: MODES, handle: setAgent },
  { method: "POST", path: `${session}/model`, action: "manage", handle: setModel },
  {
    method: "POST",
    path: `${session}/prompt`,
    action: "prompt",
    partial: "Agent mentions are left to the text.",
    handle: prompt,
  },
  { method: "POST", path: `${session}/compact`, action: "prompt", partial: "OpenCode answers 503.", handle: compact },
  { method: "POST", path: `${session}/wait`, action: "read", partial: "OpenCode answers 503.", handle: wait },
  { method: "POST", path: `${session}/interrupt`, action: "abort", handle: interrupt },
  {
    method: "GET",
    path: `${session}/context`,
    action: "read",
    partial: "All messages, also those before a compaction.",
    handle: context,
  },
  { method: "GET", path: `${session}/message`, action: "read", handle: messages },
  {
    method: "GET",
    path: `${session}/message/{messageID}`,
    action: "read",
    partial: "Also one that came by the older API.",
    handle: message,
  },
  {
    method: "GET",
    path: "/api/permission/request",
    action: "read",
    handle: async (call) => located(call, await permissions(call)),
  },
  {
    method: "GET",
    path: "/api/question/request",
    action: "read",
    handle: async (call) => located(call, await questions(call)),
  },
  {
    method: "GET",
    path: "/api/permission/saved",
    action: "read",
    partial: "Always empty: what was allowed for good is kept by the agent.",
    handle: async () => data([]),
  },
  {
    method: "POST",
    path: `${session}/revert/stage`,
    action: "prompt",
    partial: "For agents whose conversation can be taken back.",
    handle: stageRevert,
  },
  {
    method: "POST",
    path: `${session}/revert/clear`,
    action: "prompt",
    partial: "For agents whose conversation can be taken back.",
    handle: clearRevert,
  },
  {
    method: "GET",
    path: `${session}/permission`,
    action: "read",
    handle: async (call) => data(await permissions(call)),
  },
  { method: "GET", path: `${session}/permission/{requestID}`, action: "read", handle: permission },
  { method: "POST", path: `${session}/permission/{requestID}/reply`, action: "answer", handle: reply },
  { method: "GET", path: `${session}/question`, action: "read", handle: async (call) => data(await questions(call)) },
  { method: "POST", path: `${session}/question/{requestID}/reply`, action: "answer", handle: answer },
  { method: "POST", path: `${session}/question/{requestID}/reject`, action: "answer", handle: reject },
];

/** As OpenCode: the session is looked for before anything else is looked at. */
export const ofSession = (route: OpenCodeRoute): OpenCodeRoute =>
  route.path.startsWith(session)
    ? {
        ...route,
        async handle(call) {
          const { sessionID = "", messageID } = call.params;
          if (!sessionID.startsWith("ses")) throw new ApiError("invalid_request", "Invalid session ID");
          if (messageID !== undefined && !messageID.startsWith("msg_"))
            throw new ApiError("invalid_request", "Invalid message ID");
          await viewOf(call);
          return route.handle(call);
        },
      }
    : route;

export const nextSessionRoutes = routes.map(ofSession);

const data = (value: unknown): OpenCodeAnswer => json({ data: value });
const located = ({ directory }: OpenCodeCall, value: unknown): OpenCodeAnswer =>
  json({ location: { directory, project: { id: projectId(directory), directory } }, data: value });

const nextSession = ({
  id,
  parentID,
  projectID,
  agent,
  model,
  cost,
  tokens,
  time,
  title,
  directory,
  revert,
}: OpenCodeSession) =>
  defined({
    id,
    parentID,
    projectID,
    agent,
    model,
    cost: cost ?? 0,
    tokens: tokens ?? { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
    time,
    title,
    location: { directory },
    revert,
  });

const limitOf = ({ query }: OpenCodeCall): number =>
  numberIn(query, { name: "limit", least: 1, most: LONGEST }) ?? PAGE;

function checkOrder({ query: { order } }: OpenCodeCall): void {
  if (order === undefined || order === "asc" || order === "desc") return;
  throw new ApiError("invalid_request", "`order` is asc or desc.");
}

async function list(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  checkOrder(call);
  const limit = limitOf(call);
  const place = placeIn(call);
  if (!isPlace(place)) return place;
  const { given, order } = place;
  const all = [...(await listed({ ...call, query: { ...call.query, limit: String(Number.MAX_SAFE_INTEGER) } }))];
  all.sort((one, other) => ((one.time?.created ?? 0) - (other.time?.created ?? 0)) * (order === "asc" ? 1 : -1));
  const page = pageOf(all, { given, limit });
  return json({ data: page.map(nextSession), cursor: cursorsOf(page, order) });
}

const isPlace = (place: Place | OpenCodeAnswer): place is Place => typeof place === "object" && "order" in place;

interface Given {
  readonly id: string;
  readonly direction: "next" | "previous";
}

/** What comes after, or before, the one that the cursor names. */
function pageOf<Entry extends { readonly id?: string }>(
  all: readonly Entry[],
  { given, limit }: { given: Given | null; limit: number },
): readonly Entry[] {
  if (given === null) return all.slice(0, limit);
  const at = all.findIndex(({ id }) => id === given.id);
  if (at === -1) return [];
  return given.direction === "next" ? all.slice(at + 1, at + 1 + limit) : all.slice(Math.max(0, at - limit), at);
}

const cursorsOf = (page: readonly { readonly id?: string }[], order: "asc" | "desc") => ({
  previous: cursorOf(page[0]?.id, { order, direction: "previous" }),
  next: cursorOf(page.at(-1)?.id, { order, direction: "next" }),
});

async function create(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { id, agent, model, location } = await call.body(Create);
  const place = location === undefined ? call : { ...call, directory: location.directory };
  // As OpenCode: the same id again is the same session.
  const known = id === undefined ? null : await call.views.find(id);
  const asked = defined({ agent, model });
  const view = known ?? (await createSession(place, asked, id === undefined ? undefined : sessionId(id)));
  return data(nextSession(await infoOf(call, view, view.openCodeId)));
}

async function active(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  await call.views.ready();
  return data(Object.fromEntries([...call.views.statuses().keys()].map((id) => [id, { type: "running" }])));
}

async function setAgent(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { agent } = await call.body(z.looseObject({ agent: z.string() }));
  await choose(call, { agent });
  return "empty";
}

async function setModel(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { model } = await call.body(z.looseObject({ model: ModelRef }));
  await choose(call, { model: { providerID: model.providerID, modelID: model.id }, variant: model.variant });
  return "empty";
}

async function prompt(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { id = freshId("msg"), prompt: given, delivery = "steer" } = await call.body(PromptBody);
  const files = given.files ?? [];
  const parts = [
    { type: "text", text: given.text },
    ...files.map(({ uri, name }) => ({ type: "file", url: uri, ...defined({ filename: name }) })),
  ];
  const { id: session, openCodeId: sessionID } = await viewOf(call);
  const { lastSequence } = await call.sessions.get(session, { limit: 0 });
  const asked = await ask(call, { parts, delivery, messageID: id });
  if ("noted" in asked) return asked.noted;
  return data({
    // What comes of the prompt comes after this.
    admittedSeq: seqUpTo(lastSequence),
    id,
    sessionID,
    prompt: defined({ text: given.text, files: files.length === 0 ? undefined : files }),
    delivery,
    timeCreated: Date.now(),
  });
}

async function compact(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const view = await viewOf(call);
  await call.sessions.compact(view.id);
  return "empty";
}

async function wait(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  await settled(call, await viewOf(call));
  return "empty";
}

async function interrupt(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  await call.sessions.abort((await viewOf(call)).id, { clearQueue: true });
  return "empty";
}

async function context(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  return data((await readMessages(call, { limit: null, before: null })).map(nextMessage));
}

async function messages(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  checkOrder(call);
  const limit = limitOf(call);
  const place = placeIn(call);
  if (!isPlace(place)) return place;
  const { given, order } = place;
  // The usual way through a long conversation, from its end: only the page itself is read.
  const isDirect = order === "desc" && given?.direction !== "previous";
  const read = await readMessages(
    call,
    isDirect ? { limit, before: given?.id ?? null } : { limit: null, before: null },
  );
  const all = read.map(nextMessage).map((one) => ({ ...one, id: String(one.id) }));
  if (order === "desc") all.reverse();
  const page = isDirect ? all : pageOf(all, { given, limit });
  return json({ data: page, cursor: cursorsOf(page, order) });
}

async function readMessages(call: OpenCodeCall, range: { limit: number | null; before: string | null }) {
  const conversation = await conversationOf(call);
  const whole = [];
  for (const head of await headsBefore(conversation, range))
    whole.push(await wholeMessage(messageJson(conversation, head)));
  return whole;
}

async function wholeMessage(pieces: AsyncIterable<string>) {
  let text = "";
  for await (const piece of pieces) text += piece;
  const value: unknown = JSON.parse(text);
  if (!isShape(value) || !isShape(value.info) || !Array.isArray(value.parts)) {
    throw new ApiError("internal", "A message has no info or no parts.");
  }
  return { info: value.info, parts: value.parts.filter(isShape) };
}

async function message(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { messageID = "" } = call.params;
  const conversation = conversationIn(call, await viewOf(call), call.params.sessionID);
  const head = await headOf(conversation, messageID);
  if (head === null) throw new ApiError("not_found", `Message not found: ${messageID}`);
  return data(nextMessage(await wholeMessage(messageJson(conversation, head))));
}

async function stageRevert(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { messageID } = await call.body(z.looseObject({ messageID: z.string().startsWith("msg_") }));
  const view = await viewOf(call);
  if ((await headOf(conversationIn(call, view), messageID)) === null) return messageMissing(view, messageID);
  return (await takeBack(call, view, { messageID })) ?? data((await infoOf(call, view)).revert ?? { messageID });
}

const messageMissing = ({ openCodeId: sessionID }: SessionView, messageID: string): OpenCodeAnswer => ({
  json: { _tag: "MessageNotFoundError", sessionID, messageID, message: `Message not found: ${messageID}` },
  status: 404,
});

async function clearRevert(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const view = await viewOf(call);
  return (await bringBack(call, view)) ?? "empty";
}

/** Of the session that the route names, or of the directory where it names none. */
async function viewsFor(call: OpenCodeCall): Promise<readonly SessionView[]> {
  if (call.params.sessionID !== undefined) return [await viewOf(call)];
  await call.views.ready();
  return call.views.open().filter(({ now }) => now.state.directory === call.directory);
}

const isOf =
  ({ params: { sessionID } }: OpenCodeCall) =>
  (request: { readonly sessionID: string }): boolean =>
    sessionID === undefined || request.sessionID === sessionID;

async function permissions(call: OpenCodeCall) {
  const views = await viewsFor(call);
  const all = views.flatMap(({ now }) => [...now.store.permissions.values()]);
  return all.filter(isOf(call)).map(nextPermission);
}

async function questions(call: OpenCodeCall) {
  const views = await viewsFor(call);
  return views.flatMap(({ now }) => [...now.store.questions.values()]).filter(isOf(call));
}

async function permission(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const found = (await permissions(call)).find(({ id }) => id === call.params.requestID);
  if (found !== undefined) return data(found);
  throw new ApiError("permission_not_found", `There is no permission request ${call.params.requestID}.`);
}

async function reply(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { reply: given, scope, message: why } = await call.body(Reply);
  const { view, request } = await find(call, { id: call.params.requestID ?? "", kind: "permission" });
  await call.sessions.replyPermission(view.id, request, { reply: given, ...defined({ scope, message: why }) });
  return "empty";
}

async function answer(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { answers } = await call.body(Answers);
  const { view, request } = await find(call, { id: call.params.requestID ?? "", kind: "question" });
  await call.sessions.replyQuestion(view.id, request, answers);
  return "empty";
}

async function reject(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { view, request } = await find(call, { id: call.params.requestID ?? "", kind: "question" });
  await call.sessions.rejectQuestion(view.id, request, {});
  return "empty";
}
