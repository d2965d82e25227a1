/** The lines of `takopi.ts` as schemas, for tests and for the types: a running Franca checks by guards alone. */
import * as z from "zod";
import { ENGINE, takopiKinds, takopiLevels, takopiPhases } from "./takopi.ts";

export const TakopiResume = z.object({ engine: z.string(), value: z.string() });

export type TakopiResume = z.infer<typeof TakopiResume>;

export const TakopiKind = z.enum(takopiKinds);

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

const Engine = z.string().regex(ENGINE);

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
    phase: z.enum(takopiPhases),
    ok: z.boolean().nullable(),
    message: z.string().nullable(),
    level: z.enum(takopiLevels).nullable(),
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
