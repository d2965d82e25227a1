/** What a person does to a session: each is one request, and each failure is said where it was made. */
import { signal } from "@preact/signals";
import type { PermissionReply } from "../../src/protocol/commands.ts";
import type { CreateSession } from "../../src/protocol/resources.ts";
import { say } from "./announce.ts";
import { daemon } from "./link.ts";
import { go } from "./route.ts";
import { wordsOf } from "./session.ts";
import { forget, refresh } from "./sessions.ts";

/** The last request that failed, until the next one or until it is closed. */
export const problem = signal<string | null>(null);

export async function attempt<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    problem.value = null;
    return await work();
  } catch (error) {
    problem.value = wordsOf(error);
    say(problem.value);
    return null;
  }
}

/** Requests that were answered here and are not resolved yet. */
export const answering = signal<ReadonlySet<string>>(new Set());

async function answer(id: string, work: () => Promise<void>): Promise<void> {
  answering.value = new Set([...answering.value, id]);
  await attempt(work);
  const rest = new Set(answering.value);
  rest.delete(id);
  answering.value = rest;
}

/** Requests that were answered by this page: "answered elsewhere" is said of the others. */
export const answeredHere = new Set<string>();

export interface PermissionAnswer {
  readonly session: string;
  readonly id: string;
  readonly reply: PermissionReply;
  readonly scope?: string | undefined;
  readonly message?: string | undefined;
}

export function replyPermission({ session, id, reply, scope, message }: PermissionAnswer): Promise<void> {
  answeredHere.add(id);
  const why = message === undefined || message === "" ? {} : { message };
  const options = scope === undefined ? why : { ...why, scope };
  return answer(id, () => daemon().session(session).replyPermission(id, reply, options));
}

export interface QuestionAnswer {
  readonly session: string;
  readonly id: string;
  /** Null declines to answer. */
  readonly answers: readonly (readonly string[])[] | null;
}

export function replyQuestion({ session, id, answers }: QuestionAnswer): Promise<void> {
  answeredHere.add(id);
  const target = daemon().session(session);
  return answer(id, () => (answers === null ? target.rejectQuestion(id) : target.replyQuestion(id, answers)));
}

export const abort = (session: string): Promise<null> =>
  attempt(async () => {
    await daemon().session(session).abort();
    return null;
  });

export const dropQueued = (session: string, promptId: string): Promise<unknown> =>
  attempt(() => daemon().session(session).dropQueued(promptId));

export async function fork(session: string): Promise<void> {
  const id = await attempt(() => daemon().session(session).fork());
  if (id === null) return;
  await refresh();
  go({ page: "session", id, view: "conversation" });
}

export const rename = (session: string, title: string): Promise<unknown> =>
  attempt(() => daemon().session(session).update({ title }));

export async function remove(session: string): Promise<void> {
  const done = await attempt(async () => {
    await daemon().session(session).delete();
    return true;
  });
  if (done === null) return;
  forget(session);
  go({ page: "home" });
}

export const terminate = (session: string): Promise<unknown> => attempt(() => daemon().session(session).terminate());

export async function create(options: CreateSession, prompt: string): Promise<void> {
  const session = await attempt(() => daemon().create(options));
  if (session === null) return;
  if (session.created.error !== undefined) problem.value = session.created.error;
  if (prompt.trim() !== "") await attempt(() => session.prompt(prompt));
  await refresh();
  go({ page: "session", id: session.id, view: "conversation" });
}
