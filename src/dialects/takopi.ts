/** Takopi's three events, as a chat bridge reads them: one JSON line each. */
import {
  byTag,
  type Check,
  fields,
  isAnything,
  isBoolean,
  isMapOf,
  isNumber,
  isOneOf,
  isString,
  nullable,
} from "./shape.ts";
import type { TakopiEvent } from "./takopi-schema.ts";

export type { TakopiAction, TakopiEvent, TakopiKind, TakopiResume, TakopiUsage } from "./takopi-schema.ts";

export type TakopiEventOf<Type extends TakopiEvent["type"]> = Extract<TakopiEvent, { type: Type }>;

export const takopiKinds = [
  "command",
  "tool",
  "file_change",
  "web_search",
  "subagent",
  "note",
  "turn",
  "warning",
  "telemetry",
] as const;
export const takopiPhases = ["started", "updated", "completed"] as const;
export const takopiLevels = ["debug", "info", "warning", "error"] as const;

/** Engine names are command names in a chat, so they are short and plain. */
export const ENGINE = /^[a-z0-9_]{1,32}$/;

const engine: Check = (value) => isString(value) && ENGINE.test(value);
const isRecord = isMapOf(isAnything);
const resume = fields({ engine: isString, value: isString });
const action = fields({
  id: (value) => isString(value) && value !== "",
  kind: isOneOf(takopiKinds),
  title: isString,
  detail: isRecord,
});
const tokens = fields({
  input: isNumber,
  output: isNumber,
  reasoning: isNumber,
  cache_read: isNumber,
  cache_write: isNumber,
});
const usage = fields({ total_cost_usd: nullable(isNumber), tokens });

const event = byTag("type", {
  started: fields({ engine, resume, title: nullable(isString), meta: isRecord }),
  action: fields({
    engine,
    phase: isOneOf(takopiPhases),
    ok: nullable(isBoolean),
    message: nullable(isString),
    level: nullable(isOneOf(takopiLevels)),
    action,
  }),
  completed: fields({
    engine,
    ok: isBoolean,
    answer: isString,
    resume: nullable(resume),
    error: nullable(isString),
    usage: nullable(usage),
  }),
});

export const isTakopiEvent = (value: unknown): value is TakopiEvent => event(value);
