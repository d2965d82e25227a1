/** The AI SDK's stream of one call: no retries and no loop of its own, and an end to a provider that falls silent. */
import type { ModelMessage, TextStreamPart, ToolSet } from "ai";
import { type OpenModel, withCacheMarks } from "./model.ts";
import type { Tool } from "./tools/tool.ts";

export interface ModelRequest {
  readonly open: OpenModel;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly Tool[];
  readonly signal: AbortSignal;
  readonly idleMs: number;
}

export async function* streamModel(request: ModelRequest): AsyncGenerator<TextStreamPart<ToolSet>> {
  const { open, system, messages, tools, signal, idleMs } = request;
  const { streamText } = await import("ai");
  const idle = idleTimer(idleMs);
  try {
    const [head, ...rest] = withCacheMarks([{ role: "system", content: system }, ...messages], open.choice);
    const result = streamText({
      model: open.model,
      ...(head?.role === "system" ? { system: head } : {}),
      messages: rest,
      ...(tools.length === 0 ? {} : { tools: await toolSet(tools) }),
      maxRetries: 0,
      abortSignal: AbortSignal.any([signal, idle.signal]),
      providerOptions: open.providerOptions,
      ...(open.maxOutputTokens === undefined ? {} : { maxOutputTokens: open.maxOutputTokens }),
      // Errors come in the stream; without this they are printed as well.
      onError: () => {},
    });
    for await (const part of result.fullStream) {
      idle.rearm();
      yield part;
    }
    if (idle.signal.aborted && !signal.aborted) {
      throw new Error(`The provider said nothing for ${idleMs / 1_000} s: timeout.`);
    }
  } finally {
    idle.stop();
  }
}

async function toolSet(tools: readonly Tool[]): Promise<ToolSet> {
  const { jsonSchema } = await import("ai");
  // Without a function to run: the loop runs tools itself, once the whole answer is there.
  return Object.fromEntries(
    tools.map(({ name, description, schema }) => [name, { description, inputSchema: jsonSchema({ ...schema }) }]),
  );
}

function idleTimer(ms: number): { signal: AbortSignal; rearm: () => void; stop: () => void } {
  const controller = new AbortController();
  const arm = (): NodeJS.Timeout => setTimeout(() => controller.abort(new Error("timeout")), ms);
  let timer = arm();
  return {
    signal: controller.signal,
    rearm: () => {
      clearTimeout(timer);
      timer = arm();
    },
    stop: () => clearTimeout(timer),
  };
}
