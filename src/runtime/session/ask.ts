/** What is asked of an agent beside its turns: given to it in its session, and its own answer given back. */
import { randomUUID } from "node:crypto";
import type { Session } from "../../core/session.ts";
import type { Ask, AskWord } from "../../protocol/commands.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { Runtime } from "../runtime.ts";
import { promptFrom } from "./change.ts";
import type { AskAnswer, AskRequest } from "./contract.ts";
import { cannot, whoCan } from "./create.ts";
import { type Live, refuseEnded } from "./live.ts";

/** An agent may have to be started first, and sharing goes over the network. */
const ANSWER_MS = 90_000;

const inWords: Readonly<Record<AskWord, string>> = {
  revert: "take back what was said and done (`revert`)",
  unrevert: "bring back what was taken back (`unrevert`)",
  share: "share a session (`share`)",
  unshare: "stop sharing a session (`share`)",
  remove: "remove a message from its conversation",
  note: "take a message without answering it (`noReply`)",
};

/** These change a conversation that must not be written to meanwhile. */
const needsRest: ReadonlySet<AskWord> = new Set<AskWord>(["revert", "unrevert", "remove"]);

export async function ask(runtime: Runtime, live: Live, request: AskRequest): Promise<AskAnswer> {
  refuseEnded(live);
  const { adapter } = live;
  const { word } = request;
  if (adapter.capabilities.asks?.includes(word) !== true) {
    throw cannot(adapter, `${inWords[word]}: ${whoCan(runtime, ({ asks }) => asks?.includes(word) === true)}`);
  }
  const given: Ask =
    request.word === "note" ? { word: "note", prompt: promptFrom(runtime, live, request.request) } : request;
  const ask_id = randomUUID();
  const { answer, forget } = answerTo(live, ask_id);
  try {
    await live.drive.ask({ type: "ask", ask_id, ask: given }, (session) => refuseBusy(session, { live, word }));
    const { status, body } = await answer;
    if (status === 0) throw new ApiError("stream_error", `${adapter.name} could not be asked: ${reasonIn(body)}`);
    return { status, body };
  } finally {
    forget();
  }
}

function answerTo(live: Live, ask_id: string): { readonly answer: Promise<AskAnswer>; readonly forget: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const answer = new Promise<AskAnswer>((resolve, reject) => {
    const message = `${live.adapter.name} has not answered within ${ANSWER_MS} ms.`;
    timer = setTimeout(() => reject(new ApiError("timeout", message)), ANSWER_MS);
    live.asks.set(ask_id, resolve);
  });
  // Until it is waited for, a refusal has nobody to be told to.
  answer.catch(() => {});
  return {
    answer,
    forget() {
      clearTimeout(timer);
      live.asks.delete(ask_id);
    },
  };
}

function refuseBusy(session: Session, { live, word }: { live: Live; word: AskWord }): void {
  if (session.snapshot().turn === null || !needsRest.has(word)) return;
  throw new ApiError("session_busy", `Session ${live.id} is busy: wait until it is idle, or abort its turn.`);
}

function reasonIn(body: unknown): string {
  const known = typeof body === "object" && body !== null && "message" in body ? body.message : null;
  return typeof known === "string" ? known : "it did not answer.";
}
