/** Attachments for Claude Code: named by their path, and pictures within the message. */
import { expect, test } from "vitest";
import type { Attachment, Command } from "../../src/protocol/commands.ts";
import { promptId } from "../../src/protocol/ids.ts";
import { driven } from "../support/claude-driven.ts";

const picture = { path: "/workspace/a.png", mime: "image/png" };
const look = (...attachments: Attachment[]): Command => ({
  type: "prompt",
  prompt: { prompt_id: promptId("p"), text: "Look", attachments },
  delivery: "queue",
});

test("attachments are named by their path, and pictures go along", () => {
  const { sent, calls, command, feed } = driven();
  command(look(picture, { path: "/tmp/x1", filename: "notes.md" }, { path: "/tmp/b.gif" }));
  expect(sent).toEqual([]);
  expect(calls.map(({ call }) => call)).toEqual([
    { type: "file.attach", path: "/workspace/a.png" },
    { type: "file.attach", path: "/tmp/b.gif" },
  ]);
  const [first, second] = calls.map(({ id }) => id);
  // A message of later may not overtake it; the pictures keep their order.
  command({
    type: "prompt",
    prompt: { prompt_id: promptId("p2"), text: "And hurry", attachments: [] },
    delivery: "steer",
  });
  feed({ type: "response", id: second ?? "", status: 200, body: { data: "Yg==", mime: "image/gif" }, at: 3 });
  expect(sent).toEqual([]);
  feed({ type: "response", id: first ?? "", status: 200, body: { data: "YQ==", mime: "image/png" }, at: 3 });
  const image = (media_type: string, data: string) => ({
    type: "image",
    source: { type: "base64", media_type, data },
  });
  const text = "Look\n\nAttached files:\n- /workspace/a.png, image/png\n- /tmp/x1 (notes.md)\n- /tmp/b.gif";
  expect(sent).toMatchObject([
    { message: { content: [{ type: "text", text }, image("image/png", "YQ=="), image("image/gif", "Yg==")] } },
    { message: { content: [{ type: "text", text: "And hurry" }] } },
  ]);
});

test("a picture that cannot be read is said, and the message goes without it", () => {
  const { sent, calls, command, feed, last } = driven();
  command(look(picture));
  feed({ type: "response", id: calls[0]?.id ?? "", status: 413, body: { message: "It is too large." }, at: 3 });
  expect(last("error").data).toMatchObject({ code: "attachment_unreadable", message: "It is too large." });
  expect(sent).toMatchObject([{ message: { content: [{ type: "text" }] } }]);
});

test("an abort while a picture is read ends the turn, and nothing is sent later", () => {
  const { sent, calls, command, feed, last } = driven();
  command(look(picture));
  command({ type: "abort", clear_queue: false });
  expect(last("turn.ended").data).toMatchObject({ reason: "aborted" });
  feed({ type: "response", id: calls[0]?.id ?? "", status: 200, body: { data: "YQ==", mime: "image/png" }, at: 3 });
  expect(sent).toEqual([]);
});
