/** One session of an ACP client: its events as updates, its prompts answered at the end of their turns. */
import { run } from "../core/fold.ts";
import { isString, shapeOf } from "../dialects/shape.ts";
import type { AcpOutput, ClientAbilities } from "../projections/acp/index.ts";
import { acpFold } from "../projections/acp/index.ts";
import { ALWAYS, ONCE, scopeIn } from "../projections/acp/requests.ts";
import type { PermissionAnswer } from "../protocol/commands.ts";
import type { QuestionRequest, UniversalEvent } from "../protocol/events.ts";
import type { PromptContent } from "./acp-prompt.ts";
import type { Door } from "./door.ts";

export type RpcId = string | number;

export interface AcpSessionOptions {
  readonly door: Door;
  readonly id: string;
  readonly abilities: Partial<ClientAbilities>;
  readonly write: (line: unknown) => void;
  /** Something went wrong that no request waits for. */
  readonly onProblem: (error: unknown) => void;
}

export interface AcpSession {
  /** Repeats the past to the client, or only reads it, and follows from there. */
  readonly open: (how: "load" | "resume" | "new") => Promise<void>;
  readonly prompt: (request: RpcId, content: PromptContent) => Promise<void>;
  readonly cancel: () => Promise<void>;
  /** The client has answered a request of ours; false when it is not of this session. */
  readonly answered: (request: string, result: unknown) => boolean;
  readonly close: () => void;
}

type Asked = { readonly type: "permission" } | { readonly type: "question"; readonly data: QuestionRequest };

interface State extends AcpSessionOptions {
  /** Prompts of this client that have no answer yet, by the prompt's id. */
  readonly prompts: Map<string, { readonly request: RpcId; cancelled: boolean }>;
  readonly turns: Map<string, string>;
  readonly asked: Map<string, Asked>;
  /** Prompts that are being sent: their events wait until they have a name. */
  readonly sending: Set<Promise<unknown>>;
  readonly stop: AbortController;
  echoes: boolean;
}

const PAGE = 1_000;

export function openAcpSession(options: AcpSessionOptions): AcpSession {
  const state: State = {
    ...options,
    prompts: new Map(),
    turns: new Map(),
    asked: new Map(),
    sending: new Set(),
    stop: new AbortController(),
    echoes: false,
  };
  // A prompt of another client is shown; one of this client is known to it.
  const echo = (promptId: string | null): boolean => state.echoes || promptId === null || !state.prompts.has(promptId);
  const fold = run(acpFold({ client: options.abilities, echo }));
  return {
    async open(how) {
      const after = how === "new" ? 0 : await readPast(state, { step: fold.step, shows: how === "load" });
      void follow(state, { step: fold.step, after }).catch((error: unknown) => {
        if (!state.stop.signal.aborted) options.onProblem(error);
      });
    },
    prompt: (request, content) => sendPrompt(state, request, content),
    async cancel() {
      for (const prompt of state.prompts.values()) prompt.cancelled = true;
      await Promise.all([...state.prompts.keys()].map((id) => options.door.abort(options.id, id)));
      if (state.prompts.size === 0) await options.door.abort(options.id);
    },
    answered: (request, result) => onAnswer(state, request, result),
    close: () => state.stop.abort(),
  };
}

type Step = (event: UniversalEvent) => readonly AcpOutput[];

/** The past, with text in whole pieces; gives the last sequence. Requests that are still open are sent at its end. */
async function readPast(state: State, { step, shows }: { step: Step; shows: boolean }): Promise<number> {
  const { door, id, write } = state;
  const open = new Map<string, AcpOutput>();
  let waiting: Notice | null = null;
  let after = 0;
  const flush = (): void => {
    if (shows && waiting !== null) write(waiting);
    waiting = null;
  };
  state.echoes = true;
  for (let hasMore = true; hasMore; ) {
    const page = await door.events(id, { offset: after, limit: PAGE, includeRaw: false });
    for (const event of page.events) {
      after = event.sequence;
      for (const output of step(event)) {
        if (!("method" in output)) continue;
        if (output.method !== "session/update") open.set(output.id, output);
        else {
          const joined: Notice | null = waiting === null ? null : join(waiting, output);
          if (joined === null) flush();
          waiting = joined ?? output;
        }
      }
      noteRequest(state, event);
      if (event.type === "permission.resolved") open.delete(event.data.permission_id);
      if (event.type === "question.resolved") open.delete(event.data.question_id);
    }
    hasMore = page.hasMore;
  }
  flush();
  state.echoes = false;
  for (const request of open.values()) write(request);
  return after;
}

type Notice = Extract<AcpOutput, { method: "session/update" }>;

/** Pieces of one text as one piece. */
function join(first: Notice, next: Notice): Notice | null {
  const [one, other] = [first.params.update, next.params.update];
  const [before, more] = [shapeOf(one.content), shapeOf(other.content)];
  const isSame = one.sessionUpdate === other.sessionUpdate && one.messageId === other.messageId;
  if (!isSame || !isString(one.messageId) || !isString(before.text) || !isString(more.text)) return null;
  const content = { type: "text", text: before.text + more.text };
  return { ...first, params: { ...first.params, update: { ...one, content } } };
}

async function follow(state: State, { step, after }: { step: Step; after: number }): Promise<void> {
  const { door, id, stop } = state;
  for await (const event of door.follow(id, { after, signal: stop.signal })) {
    while (state.sending.size > 0) await Promise.allSettled(state.sending);
    onEvent(state, event, step(event));
  }
}

function onEvent(state: State, event: UniversalEvent, outputs: readonly AcpOutput[]): void {
  const { write } = state;
  noteRequest(state, event);
  if (event.type === "turn.started") noteTurn(state, event.data);
  for (const output of outputs) {
    if ("method" in output) write(output);
    else answerPrompt(state, output);
  }
  if (event.type === "question.requested" && outputs.length === 0) declineQuestion(state, event.data.question_id);
  if (event.type === "permission.resolved") withdraw(state, event.data.permission_id);
  if (event.type === "question.resolved") withdraw(state, event.data.question_id);
}

function noteTurn(state: State, { turn_id, prompt_id }: { turn_id: string; prompt_id?: string | undefined }): void {
  if (prompt_id === undefined) return;
  state.turns.set(turn_id, prompt_id);
  if (state.prompts.get(prompt_id)?.cancelled === true) {
    void state.door.abort(state.id, prompt_id).catch(state.onProblem);
  }
}

function noteRequest(state: State, event: UniversalEvent): void {
  if (event.type === "permission.requested") state.asked.set(event.data.permission_id, { type: "permission" });
  if (event.type === "question.requested") {
    state.asked.set(event.data.question_id, { type: "question", data: event.data });
  }
}

/** The turn is over, and all of it is written: its prompt is answered, in the client's own number. */
function answerPrompt(state: State, output: Exclude<AcpOutput, { method: string }>): void {
  const promptId = state.turns.get(String(output.id));
  state.turns.delete(String(output.id));
  const prompt = promptId === undefined ? undefined : state.prompts.get(promptId);
  if (promptId === undefined || prompt === undefined) return;
  state.prompts.delete(promptId);
  const { request: id, cancelled } = prompt;
  // The client has cancelled: it is never answered with an error.
  if (cancelled && "error" in output) state.write({ jsonrpc: "2.0", id, result: { stopReason: "cancelled" } });
  else state.write({ ...output, id });
}

/** Somebody else has answered, or the turn is over. */
function withdraw(state: State, requestId: string): void {
  if (!state.asked.delete(requestId)) return;
  state.write({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId } });
}

function declineQuestion(state: State, question: string): void {
  state.asked.delete(question);
  const content = { type: "text", text: "(The agent asked a question that this editor cannot show; it was declined.)" };
  const update = { sessionUpdate: "agent_thought_chunk", content };
  state.write({ jsonrpc: "2.0", method: "session/update", params: { sessionId: state.id, update } });
  void state.door.rejectQuestion(state.id, question).catch(state.onProblem);
}

async function sendPrompt(state: State, request: RpcId, { text, attachments }: PromptContent): Promise<void> {
  const sending = state.door.prompt(state.id, text, { attachments });
  const named = sending.then(({ promptId }) => {
    state.prompts.set(promptId, { request, cancelled: false });
  });
  state.sending.add(named);
  try {
    await named;
  } finally {
    state.sending.delete(named);
  }
}

function onAnswer(state: State, request: string, result: unknown): boolean {
  const asked = state.asked.get(request);
  if (asked === undefined) return false;
  state.asked.delete(request);
  const { door, id, onProblem } = state;
  if (asked.type === "permission") {
    void door.replyPermission(id, request, replyOf(result)).catch(onProblem);
    return true;
  }
  const answers = answersOf(asked.data, result);
  const given = answers === null ? door.rejectQuestion(id, request) : door.replyQuestion(id, request, answers);
  void given.catch(onProblem);
  return true;
}

const chosen = (result: unknown): unknown => shapeOf(shapeOf(result).outcome).optionId;

/** Anything that is no yes is a no. */
function replyOf(result: unknown): PermissionAnswer {
  const option = chosen(result);
  if (option === ONCE || option === ALWAYS) return { reply: option };
  const scope = isString(option) ? scopeIn(option) : null;
  return scope === null ? { reply: "reject" } : { reply: "always", scope };
}

function answersOf({ questions }: QuestionRequest, result: unknown): string[][] | null {
  const option = chosen(result);
  if (isString(option)) {
    const label = questions[0]?.options[Number(option.replace("answer_", ""))]?.label;
    return label === undefined ? null : [[label]];
  }
  const { action, content } = shapeOf(result);
  if (action !== "accept") return null;
  const fields = shapeOf(content);
  return questions.map((_, index) => {
    const value = fields[`question_${index}`];
    return Array.isArray(value) ? value.map(String) : value === undefined ? [] : [String(value)];
  });
}
