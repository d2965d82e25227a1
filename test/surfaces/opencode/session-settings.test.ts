/** What clients keep with a session, and which sessions they are shown. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listen, openCodeApi } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

const idsOf = (body: { id: string }[]): string[] => body.map(({ id }) => id).sort();

test("metadata, a parent and the archive are kept, listed and announced", async () => {
  const { api, base, directory } = await openSurface();
  const listener = await listen(base, { directory });
  const { body: parent } = await api.post("/session", { metadata: { thread: "42" } });
  expect(parent.metadata).toEqual({ thread: "42" });
  const { body: child } = await api.post("/session", { parentID: parent.id });
  expect(child.parentID).toBe(parent.id);
  const { body: changed } = await api.call("PATCH", `/session/${parent.id}`, {
    metadata: { thread: "43" },
    time: { archived: 1_700_000_000_000 },
  });
  expect(changed).toMatchObject({ metadata: { thread: "43" }, time: { archived: 1_700_000_000_000 } });
  await listener.until(
    (event) => event.type === "session.updated" && event.properties.info.time?.archived !== undefined,
  );
  await api.post(`/session/${child.id}/message`, text("echo a"));
  expect((await api.get(`/session/${child.id}`)).body.parentID).toBe(parent.id);
  expect((await api.get(`/session/${parent.id}`)).body).toMatchObject({ metadata: { thread: "43" } });
  expect(idsOf((await api.get(`/session/${parent.id}/children`)).body)).toEqual([child.id]);
  expect(idsOf((await api.get("/session?roots=true")).body)).toEqual([parent.id]);
  expect(idsOf((await api.get("/session")).body)).toEqual([child.id, parent.id].sort());
  const { body: back } = await api.call("PATCH", `/session/${parent.id}`, { time: { archived: null } });
  expect(back.time.archived).toBeUndefined();
  const never = await api.call("PATCH", `/session/${parent.id}`, { time: { archived: 9e15 } });
  expect(never.status).toBe(400);
  expect((await api.post("/session", { parentID: "ses_none" })).status).toBe(404);
});

test("sessions of subdirectories are seen from the repository's root, and with scope=project from anywhere in it", async () => {
  const { daemon, api, base, directory } = await openSurface();
  mkdirSync(join(directory, ".git"));
  mkdirSync(join(directory, "packages", "one"), { recursive: true });
  mkdirSync(join(directory, "packages", "two"));
  const inOne = openCodeApi(base, { directory: join(directory, "packages", "one") });
  const inTwo = openCodeApi(base, { directory: join(directory, "packages", "two") });
  const { body: one } = await inOne.post("/session", {});
  const { body: two } = await inTwo.post("/session", {});
  const { body: top } = await api.post("/session", {});
  expect(idsOf((await api.get("/session")).body)).toEqual([one.id, two.id, top.id].sort());
  expect(idsOf((await inOne.get("/session")).body)).toEqual([one.id]);
  expect(idsOf((await inOne.get("/session?scope=project")).body)).toEqual([one.id, two.id, top.id].sort());
  expect(idsOf((await inOne.get("/session?scope=project&path=packages/two")).body)).toEqual([two.id]);
  expect(daemon.directory).toBe(directory);
});
