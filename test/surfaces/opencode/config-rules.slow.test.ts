/**
 * Permission rules in OpenCode's configuration, for agents that do not read it: the user's own files and a trusted
 * folder's. A folder that nobody trusts loosens nothing.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { plainJson } from "../../../src/core/json-with-comments.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { listen, openCodeApi } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

const before = process.env.XDG_CONFIG_HOME;
let home = "";
beforeEach(() => {
  home = temporaryFolder();
  process.env.XDG_CONFIG_HOME = home;
});
afterEach(() => {
  if (before === undefined) delete process.env.XDG_CONFIG_HOME;
  else process.env.XDG_CONFIG_HOME = before;
});

const userConfig = (content: string): void => {
  mkdirSync(join(home, "opencode"), { recursive: true });
  writeFileSync(join(home, "opencode", "opencode.jsonc"), content);
};

const answerOf = (body: { parts: { type: string; text: string }[] }): string =>
  body.parts.findLast(({ type }) => type === "text")?.text ?? "";

test("a headless client is answered by the user's rules, and by its own where both match", async () => {
  userConfig(`{ // of the user
    "permission": { "bash": { "*": "ask", "npm *": "allow" }, "edit": "deny", },
  }`);
  const { api } = await openSurface();
  const { body: session } = await api.post("/session", {});
  expect(session.permission).toEqual([
    { permission: "bash", pattern: "*", action: "ask" },
    { permission: "bash", pattern: "npm *", action: "allow" },
    { permission: "edit", pattern: "*", action: "deny" },
  ]);
  const { body } = await api.post(`/session/${session.id}/message`, text("permission"));
  expect(answerOf(body)).toBe("Done: bash was allowed, edit was rejected.");
  const { body: next } = await api.post("/api/session", {});
  const { body: other } = await api.post(`/session/${next.data.id}/message`, text("permission"));
  expect(answerOf(other)).toBe("Done: bash was allowed, edit was rejected.");
  const permission = [{ permission: "edit", pattern: "*", action: "allow" }];
  const { body: own } = await api.post("/session", { permission });
  const { body: third } = await api.post(`/session/${own.id}/message`, text("permission"));
  expect(answerOf(third)).toBe("Done: bash was allowed, edit was allowed.");
});

test("a folder's rules count when a person trusts it; else even those that allow everything change nothing", async () => {
  const folders = { trusted: temporaryFolder(), untrusted: temporaryFolder() };
  for (const folder of Object.values(folders)) {
    writeFileSync(join(folder, "opencode.json"), JSON.stringify({ permission: "allow" }));
    mkdirSync(join(folder, ".opencode"));
    writeFileSync(join(folder, ".opencode", "opencode.json"), JSON.stringify({ permission: { bash: "allow" } }));
  }
  const { base } = await openSurface({ trustedFolders: [folders.trusted] });
  const trusted = openCodeApi(base, { directory: folders.trusted });
  const { body: one } = await trusted.post("/session", {});
  const { body } = await trusted.post(`/session/${one.id}/message`, text("permission"));
  expect(answerOf(body)).toBe("Done: bash was allowed, edit was allowed.");
  const untrusted = openCodeApi(base, { directory: folders.untrusted });
  const { body: other } = await untrusted.post("/session", {});
  expect(other.permission).toBeUndefined();
  const listener = await listen(base, { directory: folders.untrusted });
  await untrusted.post(`/session/${other.id}/prompt_async`, text("permission"));
  await listener.until((event) => event.type === "permission.asked");
  expect(listener.heard.some(({ event }) => event.type === "permission.replied")).toBe(false);
  expect((await untrusted.get("/permission")).body).toHaveLength(1);
  await untrusted.post(`/session/${other.id}/abort`);
});

test.each([
  ['{ "permission": { "webfetch": "deny" } }', /webfetch.*does not ask about that\..*OpenCode's configuration/],
  ['{ "permission": { "*": "ask" } }', /OpenCode's configuration/],
  ['{ "permission": { "bash": "perhaps" } }', /opencode\.jsonc.*is no permission rule/],
  ['{ "permission": { "bash": { "ls": 1 } } }', /opencode\.jsonc.*is no permission rule/],
  ['{ "permission": [', /opencode\.jsonc: it is no JSON/],
])("what cannot be kept is refused in words, and no session is made: %s", async (content, words) => {
  userConfig(content);
  const { api } = await openSurface();
  for (const path of ["/session", "/api/session"]) {
    const { status, body } = await api.post(path, {});
    expect(status).toBe(400);
    expect(body.data?.message ?? body.message).toMatch(words);
  }
  expect((await api.get("/session")).body).toEqual([]);
});

test("comments and last commas are left out, and nothing that is in a string", () => {
  const text = '{ /* a, } */ "a": ["//x", "/*y*/", "\\"", 1, ], // b\n "c": { "d,": ",}", }, }';
  expect(JSON.parse(plainJson(text))).toEqual({ a: ["//x", "/*y*/", '"', 1], c: { "d,": ",}" } });
  expect(() => JSON.parse(plainJson('{ "a": 1, , }'))).toThrow();
  // Comments and strings that never end: by looking for each one's end this took minutes.
  for (const begun of ["/*", '"\\\n']) expect(() => JSON.parse(plainJson(begun.repeat(300_000)))).toThrow();
});
