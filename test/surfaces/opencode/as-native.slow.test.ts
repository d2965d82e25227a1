/** Small things in which the surface answers as `opencode serve` does; the answers were read from the real server. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSurface, text } from "../../support/opencode-surface.ts";

test("files: one that is missing is empty, texts are trimmed, and what is needed is asked for", async () => {
  const { api, directory } = await openSurface();
  writeFileSync(join(directory, "a.txt"), "\n  spaced \n\n");
  mkdirSync(join(directory, "folder"));
  const content = (path: string) => api.get(`/file/content?path=${path}`);
  expect(await content("missing.txt")).toMatchObject({ status: 200, body: { type: "text", content: "" } });
  expect((await content("a.txt")).body).toEqual({ type: "text", content: "spaced" });
  expect((await api.get("/file/content")).status).toBe(400);
  expect((await api.get("/find/file")).status).toBe(400);
  expect((await api.get("/file?path=a.txt")).status).toBe(400);
  expect((await content("../../etc/passwd")).body.content ?? "").toBe("");
});

/** What is asked for is looked at first, then the session. */
const orders: readonly (readonly [string, string, unknown, number])[] = [
  ["POST", "/abort", undefined, 200],
  ["GET", "/diff", undefined, 200],
  ["GET", "", undefined, 404],
  ["GET", "/message", undefined, 404],
  ["GET", "/message?limit=x", undefined, 400],
  ["GET", "/todo", undefined, 404],
  ["POST", "/message", { parts: [] }, 404],
  ["POST", "/message", { nonsense: 1 }, 400],
  ["POST", "/prompt_async", text("a"), 404],
  ["POST", "/shell", { command: "ls" }, 400],
  ["POST", "/shell", { agent: "build", command: "ls" }, 404],
  ["POST", "/revert", {}, 400],
  ["POST", "/unrevert", undefined, 404],
  ["POST", "/fork", { messageID: "x" }, 400],
  ["POST", "/fork", {}, 404],
  ["POST", "/summarize", {}, 400],
  ["POST", "/command", {}, 400],
  ["PATCH", "", { title: 1 }, 400],
  ["PATCH", "", { title: "a" }, 404],
  ["DELETE", "", undefined, 404],
];

test("a session that does not exist: each request is answered with OpenCode's own status", async () => {
  const { api } = await openSurface();
  const statuses: string[] = [];
  for (const [method, path, body] of orders)
    statuses.push(`${method} ${path} ${(await api.call(method, `/session/ses_unknown${path}`, body)).status}`);
  expect(statuses).toEqual(orders.map(([method, path, , status]) => `${method} ${path} ${status}`));
  const unknown = await api.post("/permission/per_x/reply", { reply: "once" });
  expect(unknown).toMatchObject({ status: 404, body: { _tag: "PermissionNotFoundError", requestID: "per_x" } });
});

test("the default model has limits, on the mock too", async () => {
  const { api } = await openSurface();
  const { body } = await api.get("/config/providers");
  const mock = body.providers.find(({ id }: { id: string }) => id === "mock");
  expect(mock.models.default.limit).toEqual({ context: 200_000, output: 32_000 });
});
