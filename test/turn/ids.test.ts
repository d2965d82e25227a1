/** Ids are made and read in one place. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  eventId,
  itemId,
  itemNumber,
  permissionId,
  questionId,
  readId,
  sessionId,
  turnId,
} from "../../src/protocol/ids.ts";
import { sourcesIn } from "../support/sources.ts";

const makers = { turn: turnId, item: itemId, permission: permissionId, question: questionId };

describe("a counted id", () => {
  test("is read back as it was made, whatever the session is called", () => {
    const made = fc.record({
      name: fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom("a:i7", "a:t1\n", ":")),
      kind: fc.constantFrom("turn", "item", "permission", "question"),
      number: fc.nat(),
    });
    fc.assert(
      fc.property(made, ({ name, kind, number }) => {
        const id = makers[kind](sessionId(name), number);
        expect(readId(id)).toEqual({ session: name, kind, number });
        expect(itemNumber(id)).toBe(kind === "item" ? number : null);
      }),
    );
  });

  test.each(["", "a", "a:i", "a:x1", ":i1", "a:i1 ", eventId(sessionId("a"), 3)])("is not %j", (text) => {
    expect(readId(text)).toBeNull();
  });
});

test("no other file takes an id apart", () => {
  const apart = /[:][ipqt](\(|\\d|"|\[)|\[(ip|pq|tipq)\]/;
  const found = ["core", "adapters", "projections", "rules", "runtime", "server", "cli", "sdk"].flatMap((layer) =>
    sourcesIn(layer).flatMap(({ path, lines }) =>
      lines.flatMap((line, index) => (apart.test(line) ? [`${path}:${index + 1} ${line.trim()}`] : [])),
    ),
  );
  expect(found).toEqual([]);
});
