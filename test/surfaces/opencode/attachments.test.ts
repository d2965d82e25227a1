/** Files that come with a prompt: kept where they belong, whatever a session is called, and gone with it. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import {
  type AttachmentPlace,
  type Content,
  keepFile,
  removeAttachments,
} from "../../../src/server/http/attachment-files.ts";
import { keepAttachments } from "../../../src/server/opencode/attachments.ts";
import { temporaryFolder } from "../../support/folders.ts";

/** So deep in a folder of the test's own that a name which leads upwards still ends inside it. */
function place(): string {
  const folder = join(temporaryFolder(), "a", "b", "c", "d");
  mkdirSync(folder, { recursive: true });
  return folder;
}

const keepAt =
  (at: AttachmentPlace) =>
  (content: Content): Promise<string> =>
    keepFile(content, at);

test.each(["../../escape", "a/b", "..", "x".repeat(256)])(
  "a session called %s keeps its files to itself, and they go with it",
  async (session) => {
    const attachments = place();
    const mine = { attachments, session };
    const parts = [{ type: "file", url: "data:text/plain,hello%20there" }];
    const [kept, other] = await Promise.all([
      keepAttachments(parts, keepAt(mine)),
      keepAttachments(parts, keepAt({ attachments, session: "other" })),
    ]);
    const path = kept.attachments[0]?.path ?? "";
    expect(dirname(dirname(path))).toBe(attachments);
    expect(readFileSync(path, "utf8")).toBe("hello there");
    await removeAttachments(mine);
    expect(existsSync(path)).toBe(false);
    expect(existsSync(other.attachments[0]?.path ?? "")).toBe(true);
  },
);

test.each(["data:text/plain,%zz", "file://elsewhere/a", "https://example.org/a.png", ""])(
  "a file at %s is refused as what it is, a mistake in the request",
  async (url) => {
    const kept = keepAttachments([{ type: "file", url }], keepAt({ attachments: place(), session: "s" }));
    await expect(kept).rejects.toMatchObject({ code: "invalid_request" });
  },
);
