/** The AI SDK's stream of one call: no retries and no loop of its own, and an end to a provider that falls silent. */
import type { ModelMessage, TextStreamPart, ToolSet } from "ai";
import * as z from "zod";
import { defined } from "../core/defined.ts";
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
  const { streamText } = await loadSdk();
  const idle = idleTimer(idleMs);
  try {
    const [head, ...rest] = withCacheMarks([{ role: "system", content: system }, ...messages], open.choice);
    const result = streamText({
      model: open.model,
      ...defined({ system: head?.role === "system" ? head : undefined }),
      messages: rest,
      ...defined({ tools: tools.length === 0 ? undefined : await toolSet(tools) }),
      maxRetries: 0,
      abortSignal: AbortSignal.any([signal, idle.signal]),
      providerOptions: open.providerOptions,
      ...defined({ maxOutputTokens: open.maxOutputTokens }),
      includeRawChunks: open.choice.kind === "openai-compatible",
      // Errors come in the stream; without this they are printed as well.
      onError: () => {},
    });
    for await (const part of withRefusals(result.fullStream)) {
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

type Part = TextStreamPart<ToolSet>;

/**
 * The package for compatible servers drops a model's refusal, its words included. Here they are text, and its reason.
 */
async function* withRefusals(parts: AsyncIterable<Part>): AsyncGenerator<Part> {
  const id = "refusal";
  let refused = false;
  for await (const part of parts) {
    if (part.type === "raw") {
      const words = refusalIn(part.rawValue);
      if (words === null) continue;
      if (!refused) yield { type: "text-start", id };
      refused = true;
      yield { type: "text-delta", id, text: words };
    } else if (part.type === "finish-step" && refused) {
      yield { type: "text-end", id };
      yield { ...part, finishReason: "content-filter", rawFinishReason: "refusal" };
    } else {
      yield part;
    }
  }
}

const RefusalChunk = z.object({
  choices: z.tuple([z.object({ delta: z.object({ refusal: z.string().min(1) }) })]).rest(z.unknown()),
});

function refusalIn(chunk: unknown): string | null {
  const parsed = RefusalChunk.safeParse(chunk);
  return parsed.success ? parsed.data.choices[0].delta.refusal : null;
}

/** Its warnings would go to the console, which belongs to the program that started us. */
async function loadSdk() {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return import("ai");
}

async function toolSet(tools: readonly Tool[]): Promise<ToolSet> {
  const { jsonSchema } = await loadSdk();
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
