/** Side requests to an agent (revert, share, notes …): sent outside its turns, answered with the agent's own answer. */
import type { Session } from "../../core/session.ts";
import type { Ask, AskWord } from "../../protocol/commands.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { System, Timer } from "../system.ts";
import type { SideAnswer, SideRequest } from "./contract.ts";
import type { OpenSession } from "./open-session.ts";
import { promptFrom } from "./prompt.ts";
import { cannot, refuseEnded, whoCan } from "./refusals.ts";
import type { Runtime } from "./runtime.ts";

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

/** These change the conversation, so no turn may be writing to it. */
const needsIdle: ReadonlySet<AskWord> = new Set<AskWord>(["revert", "unrevert", "remove"]);

export async function sideRequest(runtime: Runtime, open: OpenSession, request: SideRequest): Promise<SideAnswer> {
  refuseEnded(open);
  const { adapter } = open;
  const { word } = request;
  if (adapter.capabilities.asks?.includes(word) !== true) {
    throw cannot(adapter, `${inWords[word]}: ${whoCan(runtime, ({ asks }) => asks?.includes(word) === true)}`);
  }
  const given: Ask =
    request.word === "note" ? { word: "note", prompt: promptFrom(runtime, open, request.request) } : request;
  const ask_id = runtime.system.newId();
  const { answer, stopWaiting } = answerTo(runtime.system, open, ask_id);
  try {
    await open.writer.command({ type: "ask", ask_id, ask: given }, (session) => refuseBusy(session, { open, word }));
    const { status, body } = await answer;
    if (status === 0) throw new ApiError("stream_error", `${adapter.name} could not be asked: ${reasonIn(body)}`);
    return { status, body };
  } finally {
    stopWaiting();
  }
}

function answerTo(
  { after }: System,
  open: OpenSession,
  ask_id: string,
): { readonly answer: Promise<SideAnswer>; readonly stopWaiting: () => void } {
  let timer: Timer | undefined;
  const answer = new Promise<SideAnswer>((resolve, reject) => {
    const message = `${open.adapter.name} has not answered within ${ANSWER_MS} ms.`;
    timer = after(ANSWER_MS, () => reject(new ApiError("timeout", message)));
    open.sideRequests.set(ask_id, resolve);
  });
  // A timeout before anybody waits must not count as an unhandled rejection.
  answer.catch(() => {});
  return {
    answer,
    stopWaiting() {
      timer?.cancel();
      open.sideRequests.delete(ask_id);
    },
  };
}

function refuseBusy(session: Session, { open, word }: { open: OpenSession; word: AskWord }): void {
  if (session.snapshot().turn === null || !needsIdle.has(word)) return;
  throw new ApiError("session_busy", `Session ${open.id} is busy: wait until it is idle, or abort its turn.`);
}

function reasonIn(body: unknown): string {
  const known = typeof body === "object" && body !== null && "message" in body ? body.message : null;
  return typeof known === "string" ? known : "it did not answer.";
}
