/** Files that come with a prompt: kept where they belong, whatever a session is called, and refused in clear words. */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keepAttachments } from "../../src/server/opencode/attachments.ts";
import { temporaryFolder } from "../support/folders.ts";

const keep = (url: string, session = "s") => keepAttachments([{ type: "file", url }], { session });

/** So deep in a folder of the test's own that a name which leads upwards still ends inside it. */
let place: string;
const before = process.env.TMPDIR;
beforeEach(() => {
  place = join(temporaryFolder(), "a", "b", "c", "d");
  mkdirSync(place, { recursive: true });
  process.env.TMPDIR = place;
});
afterEach(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
});

test.each(["../../escape", "a/b", "..", "x".repeat(256)])(
  "a session called %s keeps its files to itself",
  async (id) => {
    const { attachments } = await keep("data:text/plain,hello%20there", id);
    const path = attachments[0]?.path ?? "";
    expect(dirname(dirname(path))).toBe(join(place, "franca-attachments"));
    expect(readFileSync(path, "utf8")).toBe("hello there");
  },
);

test.each(["data:text/plain,%zz", "file://elsewhere/a", "https://example.org/a.png", ""])(
  "a file at %s is refused as what it is, a mistake in the request",
  async (url) => {
    await expect(keep(url)).rejects.toMatchObject({ code: "invalid_request" });
  },
);
