/** Events are encoded by hand where that pays, and the bytes are the same. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { defaultPolicy } from "../../src/core/input.ts";
import { openSession } from "../../src/core/session.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { openEncoder } from "../../src/runtime/encode.ts";
import { makeRoom, openLinesWriter } from "../../src/runtime/log/lines-writer.ts";
import { fake } from "../support/fake-adapter.ts";

test("deltas are encoded exactly as JSON.stringify would", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", minLength: 1 }),
      fc.array(fc.record({ id: fc.string(), delta: fc.string({ unit: "binary" }) })),
      (id, said) => {
        const session = openSession({ sessionId: sessionId(id), adapter: fake, policy: defaultPolicy });
        const encode = openEncoder();
        const room = makeRoom();
        const lines = [{ type: "hello", session: id }, ...said.map((one) => ({ type: "text", ...one }))];
        for (const [at, line] of lines.entries()) {
          for (const event of session.step({ type: "line", from: "agent", line, at }).events) {
            const written = openLinesWriter(room);
            encode(event, written);
            expect(written.finish().toString()).toBe(`${JSON.stringify(event)}\n`);
          }
        }
      },
    ),
  );
});

test("numbers are written digit by digit, and the room grows with what is put into it", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(), fc.maxSafeNat(), fc.string({ unit: "binary" }))), (pieces) => {
      const written = openLinesWriter(makeRoom());
      for (const piece of pieces) {
        if (typeof piece === "number") written.integer(piece);
        else written.text(piece.repeat(1000));
      }
      const expected = pieces.map((piece) => Buffer.from(typeof piece === "number" ? `${piece}` : piece.repeat(1000)));
      expect(written.finish().equals(Buffer.concat(expected))).toBe(true);
    }),
  );
});
