/** Takopi's three events, as a chat bridge reads them: one JSON line each. */
import * as z from "zod";

export const TakopiResume = z.object({ engine: z.string(), value: z.string() });
export type TakopiResume = z.infer<typeof TakopiResume>;

export const TakopiKind = z.enum([
  "command",
  "tool",
  "file_change",
  "web_search",
  "subagent",
  "note",
  "turn",
  "warning",
  "telemetry",
]);
export type TakopiKind = z.infer<typeof TakopiKind>;

export const TakopiAction = z.object({
  id: z.string().min(1),
  kind: TakopiKind,
  title: z.string(),
  detail: z.record(z.string(), z.unknown()),
});
export type TakopiAction = z.infer<typeof TakopiAction>;

export const TakopiUsage = z.object({
  total_cost_usd: z.number().nullable(),
  tokens: z.object({
    input: z.number(),
    output: z.number(),
    reasoning: z.number(),
    cache_read: z.number(),
    cache_write: z.number(),
  }),
});
export type TakopiUsage = z.infer<typeof TakopiUsage>;

/** Engine names are command names in a chat, so they are short and plain. */
const Engine = z.string().regex(/^[a-z0-9_]{1,32}$/);

export const TakopiEvent = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("started"),
    engine: Engine,
    resume: TakopiResume,
    title: z.string().nullable(),
    meta: z.record(z.string(), z.unknown()),
  }),
  z.object({
    type: z.literal("action"),
    engine: Engine,
    phase: z.enum(["started", "updated", "completed"]),
    ok: z.boolean().nullable(),
    message: z.string().nullable(),
    level: z.enum(["debug", "info", "warning", "error"]).nullable(),
    action: TakopiAction,
  }),
  z.object({
    type: z.literal("completed"),
    engine: Engine,
    ok: z.boolean(),
    answer: z.string(),
    resume: TakopiResume.nullable(),
    error: z.string().nullable(),
    usage: TakopiUsage.nullable(),
  }),
]);
export type TakopiEvent = z.infer<typeof TakopiEvent>;
export type TakopiEventOf<Type extends TakopiEvent["type"]> = Extract<TakopiEvent, { type: Type }>;
