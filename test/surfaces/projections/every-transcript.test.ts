/** Every recording of every agent, in every dialect, keeps the published rules and OpenCode's own schema. */
import { describe, expect, test } from "vitest";
import { misfits, openCodeProblems, problemsOf, sessionsOf, toOpenCode } from "../../support/dialects.ts";
import { transcripts } from "../../support/transcripts.ts";

describe.each(transcripts)("$name", (transcript) => {
  test("every dialect keeps its rules", () => {
    for (const events of sessionsOf(transcript)) expect(problemsOf(events)).toEqual([]);
  });

  test("OpenCode events fit OpenCode's schema", () => {
    for (const events of sessionsOf(transcript)) expect(toOpenCode(events).flatMap(misfits)).toEqual([]);
  });

  test("one message per model step keeps them too", () => {
    for (const events of sessionsOf(transcript)) {
      const told = toOpenCode(events, { messages: "step" });
      expect(told.flatMap(misfits)).toEqual([]);
      expect(openCodeProblems(told)).toEqual([]);
    }
  });

  test("the legacy form of deltas says the same text", () => {
    for (const events of sessionsOf(transcript)) {
      const told = toOpenCode(events, { deltas: "legacy" });
      expect(told.filter(({ type }) => type === "message.part.delta")).toEqual([]);
      expect(openCodeProblems(told)).toEqual([]);
      const final = (form: ReturnType<typeof toOpenCode>): string[] =>
        form.flatMap((event) => {
          if (event.type !== "message.part.updated") return [];
          const { part } = event.properties;
          return part.type === "text" && part.time?.end !== undefined ? [part.text] : [];
        });
      expect(final(told)).toEqual(final(toOpenCode(events)));
    }
  });

  test("busy and idle are the turns, one pair each", () => {
    for (const events of sessionsOf(transcript)) {
      const told = toOpenCode(events);
      const own = told.flatMap((event) => (event.type === "session.created" ? [event.properties.info] : []));
      const root = own.find((info) => info.parentID === undefined)?.id;
      const turns = events.filter(({ type }) => type === "turn.started").length;
      const idles = told.filter(({ type, properties }) => type === "session.idle" && sessionOf(properties) === root);
      expect(idles).toHaveLength(turns);
    }
  });
});

const sessionOf = (properties: object): unknown => ("sessionID" in properties ? properties.sessionID : undefined);
