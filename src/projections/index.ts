/** The dialects we speak. Each is a fold over the universal events; one running fold per session serves all listeners. */
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
    open: (options) => run(openCodeFold(options?.opencode)),
  },
  {
    name: "takopi",
    summary: "started, action and completed lines for chat bridges",
    form: "json",
    open: (options) => run(takopiFold(options?.takopi)),
  },
  { name: "text", summary: "what a person reads in a terminal", form: "text", open: () => openText() },
  { name: "markdown", summary: "a document to read and keep", form: "text", open: () => run(markdownFold) },
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
