/**
 * The dialects we speak. Each is a fold over the universal events; one running fold per session serves all listeners.
 */
import { type Running, run } from "../core/fold.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import { markdownFold } from "./markdown/index.ts";
import { type OpenCodeOptions, openCodeFold } from "./opencode/index.ts";
import { type TakopiOptions, takopiFold } from "./takopi/index.ts";
import { textProjection } from "./text/index.ts";

export interface ProjectionOptions {
  readonly opencode?: Partial<OpenCodeOptions>;
  readonly takopi?: TakopiOptions;
}

/** A projection with its types hidden, so that a table can hold them all. */
export interface Projection {
  readonly name: string;
  readonly summary: string;
  /** `json`: every output is one line of JSON. `text`: outputs are pieces of one text. */
  readonly form: "json" | "text";
  readonly open: (options?: ProjectionOptions) => Running<UniversalEvent, unknown>;
}

export const projections: readonly Projection[] = [
  {
    name: "opencode",
    summary: "events as OpenCode's clients read them",
    form: "json",
    open: (options) => perSession(() => run(openCodeFold(options?.opencode))),
  },
  {
    name: "takopi",
    summary: "started, action and completed lines for chat bridges",
    form: "json",
    open: (options) => firstSession(run(takopiFold(options?.takopi))),
  },
  { name: "text", summary: "what a person reads in a terminal", form: "text", open: () => perSession(openText) },
  {
    name: "markdown",
    summary: "a document to read and keep",
    form: "text",
    open: () => perSession(() => run(markdownFold)),
  },
];

export const findProjection = (name: string): Projection | undefined => projections.find((one) => one.name === name);

/** In a file both sides of the terminal's text stand together. */
function openText(): Running<UniversalEvent, string> {
  const running = run(textProjection({ color: false, prompts: true }));
  return {
    step: (event) => running.step(event).map(({ text }) => text),
    end: () => running.end().map(({ text }) => text),
  };
}

/** A stream may hold several sessions, and each has a fold of its own. */
function perSession<Out>(open: () => Running<UniversalEvent, Out>): Running<UniversalEvent, Out> {
  const sessions = new Map<string, Running<UniversalEvent, Out>>();
  return {
    step(event) {
      const running = sessions.get(event.session_id) ?? open();
      sessions.set(event.session_id, running);
      return running.step(event);
    },
    end: () => [...sessions.values()].flatMap((running) => [...running.end()]),
  };
}

/** A chat follows one conversation: the first that is told of. */
function firstSession<Out>(running: Running<UniversalEvent, Out>): Running<UniversalEvent, Out> {
  let session: string | null = null;
  return {
    step(event) {
      session ??= event.session_id;
      return event.session_id === session ? running.step(event) : [];
    },
    end: running.end,
  };
}
