/** What the projection tests share: universal events of a recording, its OpenCode and Takopi forms, their rules. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Adapter } from "../../src/core/adapter.ts";
import { convertLines, type Recorded } from "../../src/core/convert.ts";
import { replay } from "../../src/core/fold.ts";
import type { OpenCodeEvent } from "../../src/dialects/opencode.ts";
import type { TakopiEvent } from "../../src/dialects/takopi.ts";
import { projections } from "../../src/projections/index.ts";
import { type OpenCodeOptions, openCodeFold } from "../../src/projections/opencode/index.ts";
import { takopiFold } from "../../src/projections/takopi/index.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { lint, rulesFor } from "../../src/server/rules.ts";
import { root } from "./transcripts.ts";

/** The events of each session of a recording. */
export function sessionsOf({
  adapter,
  recording,
}: {
  readonly adapter: Adapter;
  readonly recording: Iterable<Recorded>;
}): UniversalEvent[][] {
  const sessions = new Map<string, UniversalEvent[]>();
  for (const event of convertLines(adapter, recording)) {
    const events = sessions.get(event.session_id) ?? [];
    events.push(event);
    sessions.set(event.session_id, events);
  }
  return [...sessions.values()];
}

export const toOpenCode = (
  events: readonly UniversalEvent[],
  options: Partial<OpenCodeOptions> = {},
): OpenCodeEvent[] => replay(openCodeFold(options), events);

export const toTakopi = (events: readonly UniversalEvent[]): TakopiEvent[] => replay(takopiFold(), events);

/** What is wrong with a stream by the rules of its dialect. */
export function problemsIn(dialect: string, stream: readonly unknown[]): string[] {
  const rules = rulesFor(dialect);
  if (rules === null) throw new Error(`no rules for ${dialect}`);
  return lint(rules, stream).map(({ rule, message }) => `${rule}: ${message}`);
}

/** What is wrong with a session in every dialect that has rules. */
export function problemsOf(events: readonly UniversalEvent[]): string[] {
  return projections
    .filter(({ rules }) => rules !== null)
    .flatMap(({ name, open }) => {
      const running = open();
      return problemsIn(name, [...events.flatMap(running.step), ...running.end()]);
    });
}

export const openCodeProblems = (events: readonly OpenCodeEvent[]): string[] => problemsIn("opencode", events);

const schema = JSON.parse(readFileSync(join(root, "test/data/opencode-schema.json"), "utf8"));
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema({ $id: "opencode", ...schema });

/** A schema of OpenCode's OpenAPI document, by its name there. */
export function openCodeSchema(name: string): ValidateFunction {
  const validate = ajv.getSchema(`opencode#/components/schemas/${name}`);
  if (validate === undefined) throw new Error(`test/data/opencode-schema.json has no ${name}`);
  return validate;
}

/** What OpenCode's own document says against an event. */
export function misfits(event: OpenCodeEvent): string[] {
  const { type } = event;
  const name = type
    .split(".")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
  const validate = openCodeSchema(`Event${name}`);
  if (validate(event)) return [];
  return (validate.errors ?? []).map((error) => `${type}${error.instancePath}: ${error.message}`);
}
