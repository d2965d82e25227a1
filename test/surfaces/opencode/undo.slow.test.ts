/**
 * `/undo` and `/redo` on agents that do not take back themselves: files by snapshots that a hostile repository cannot
 * steer, the conversation for good with the next prompt; and refused, visibly, where it cannot be done.
 */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { misfits, openCodeProblems } from "../../support/dialects.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { makeHostileRepository } from "../../support/hostile-repository.ts";
import { type Api, isIdle, listen, openCodeApi } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

interface Message {
  readonly info: { readonly id: string; readonly role: string };
  readonly parts: readonly { readonly text?: string }[];
}

/** A repository in which the daemon may work. */
async function inRepository(make: (home: string) => string = plain) {
  const folder = make(temporaryFolder());
  const surface = await openSurface({ trustedFolders: ["/", folder], store: "sqlite" });
  const api = openCodeApi(surface.base, { directory: folder });
  const { body: session } = await api.post("/session", {});
  return { ...surface, api, folder, id: session.id, listener: await listen(surface.base, { directory: folder }) };
}

function plain(home: string): string {
  const folder = join(home, "work");
  mkdirSync(folder);
  execFileSync("git", ["init", "-q", "-b", "main"], { cwd: folder });
  writeFileSync(join(folder, ".gitignore"), "ignored.txt\n");
  writeFileSync(join(folder, "kept.txt"), "one\n");
  return folder;
}

type Listener = Awaited<ReturnType<typeof listen>>;

/** A turn in whose middle the files are changed, as an agent would. */
async function turn(
  { api, id, listener }: { api: Api; id: string; listener: Listener },
  { words, change }: { words: string; change: () => void },
): Promise<void> {
  const seen = new Set(listener.heard.map(({ event }) => event));
  const next = async () => {
    const event = await listener.until((one) => !seen.has(one) && (one.type === "permission.asked" || isIdle(id)(one)));
    seen.add(event);
    return event.type === "permission.asked" && "id" in event.properties ? event.properties.id : null;
  };
  await api.post(`/session/${id}/prompt_async`, text(`permission ${words}`));
  let request = await next();
  change();
  for (; request !== null; request = await next()) await api.post(`/permission/${request}/reply`, { reply: "once" });
}

const said = async (api: Api, id: string): Promise<Message[]> => (await api.get(`/session/${id}/message`)).body;
const userOf = (messages: readonly Message[], words: string): string =>
  messages.find(({ info, parts }) => info.role === "user" && parts[0]?.text?.includes(words))?.info.id ?? "";

test("takes back files and messages turn by turn, brings them back, and the next prompt makes it final", async () => {
  const it = await inRepository();
  const { api, daemon, folder, id, listener } = it;
  const file = (name: string): string => join(folder, name);
  const refs = readdirSync(file(".git")).sort();
  await turn(it, {
    words: "first",
    change() {
      writeFileSync(file("kept.txt"), "two\n");
      writeFileSync(file("ignored.txt"), "left alone\n");
    },
  });
  // A person's own change between turns is not the agent's.
  writeFileSync(file("mine.txt"), "mine\n");
  await turn(it, {
    words: "second",
    change() {
      mkdirSync(file("new"));
      writeFileSync(file("new/made.txt"), "made\n");
      rmSync(file("kept.txt"));
    },
  });
  const before = await said(api, id);
  const [first, second] = [userOf(before, "first"), userOf(before, "second")];

  const undone = await api.post(`/session/${id}/revert`, { messageID: second });
  expect(undone).toMatchObject({ status: 200, body: { revert: { messageID: second } } });
  expect(undone.body.revert.diff).toContain("+made");
  expect(existsSync(file("new/made.txt"))).toBe(false);
  expect(readFileSync(file("kept.txt"), "utf8")).toBe("two\n");
  await api.post(`/session/${id}/revert`, { messageID: first });
  expect(readFileSync(file("kept.txt"), "utf8")).toBe("one\n");
  expect(readFileSync(file("mine.txt"), "utf8")).toBe("mine\n");
  expect(readFileSync(file("ignored.txt"), "utf8")).toBe("left alone\n");
  // Forward again, as the TUI's /redo does.
  await api.post(`/session/${id}/revert`, { messageID: second });
  expect(readFileSync(file("kept.txt"), "utf8")).toBe("two\n");
  const redone = await api.post(`/session/${id}/unrevert`);
  expect(redone.body.revert).toBeUndefined();
  expect(readFileSync(file("new/made.txt"), "utf8")).toBe("made\n");
  expect(existsSync(file("kept.txt"))).toBe(false);
  expect(await said(api, id)).toEqual(before);

  await api.post(`/session/${id}/revert`, { messageID: second });
  await api.post(`/session/${id}/message`, text("echo instead"));
  const after = await said(api, id);
  expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
  expect(after.map(({ info }) => info.role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect(userOf(after, "second")).toBe("");
  const events = listener.heard.map(({ event }) => event).filter(({ type }) => type !== "server.connected");
  expect(events.flatMap(misfits)).toEqual([]);
  expect(openCodeProblems(events)).toEqual([]);
  expect(events.filter(({ type }) => type === "message.removed")).toHaveLength(2);
  const { items, revert } = await daemon.client.session(id).get();
  expect(revert).toBeNull();
  expect(JSON.stringify(items)).not.toContain("permission second");
  expect(readdirSync(file(".git")).sort()).toEqual(refs);

  const kept = join(daemon.directory, "data", "attachments");
  expect(readdirSync(kept)).toHaveLength(1);
  const [own = ""] = readdirSync(kept);
  expect(statSync(join(kept, own, "snapshots")).mode & 0o777).toBe(0o700);
  await api.call("DELETE", `/session/${id}`);
  expect(readdirSync(kept)).toEqual([]);
});

test("runs nothing of a hostile repository, changes no byte on the way, and follows no link out of it", async () => {
  const home = temporaryFolder();
  const hostile = makeHostileRepository({ home });
  writeFileSync(
    join(hostile.folder, ".gitattributes"),
    "* filter=evil diff=evil\n*.txt text eol=crlf ident working-tree-encoding=UTF-16\n",
  );
  const it = await inRepository(() => hostile.folder);
  const { api, folder, id } = it;
  const outside = join(home, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "victim.txt"), "untouched\n");
  mkdirSync(join(folder, "sub"));
  const bytes = Buffer.from("plain $Id$\nwith\r\nboth\nkinds \xff of ends\n", "latin1");
  writeFileSync(join(folder, "sub", "victim.txt"), bytes);
  const index = readFileSync(join(folder, ".git", "index"));
  await turn(it, {
    words: "first",
    change() {
      rmSync(join(folder, "sub"), { recursive: true });
      symlinkSync(outside, join(folder, "sub"));
      symlinkSync(hostile.secret, join(folder, "new-link"));
      writeFileSync(join(folder, "README.md"), "changed\n");
    },
  });
  const messageID = userOf(await said(api, id), "first");
  expect((await api.post(`/session/${id}/revert`, { messageID })).status).toBe(200);
  expect(readFileSync(join(folder, "sub", "victim.txt"))).toEqual(bytes);
  expect(readFileSync(join(outside, "victim.txt"), "utf8")).toBe("untouched\n");
  expect(existsSync(join(folder, "new-link"))).toBe(false);
  expect(readFileSync(hostile.secret, "utf8")).toBe("canary-outside\n");
  expect((await api.post(`/session/${id}/unrevert`)).status).toBe(200);
  expect(lstatSync(join(folder, "sub")).isSymbolicLink()).toBe(true);
  expect(readFileSync(join(outside, "victim.txt"), "utf8")).toBe("untouched\n");
  expect(readFileSync(join(folder, ".git", "index"))).toEqual(index);
  expect(hostile.ran()).toEqual([]);
});

test("is refused, visibly: no repository, no trust, while busy, and a message that is none of the user's", async () => {
  const { api, base, directory } = await openSurface();
  const { body: session } = await api.post("/session", {});
  await api.post(`/session/${session.id}/message`, text("echo one"));
  const listener = await listen(base, { directory });
  const [{ info } = { info: { id: "", role: "" } }, answer] = await said(api, session.id);
  const refused = await api.post(`/session/${session.id}/revert`, { messageID: info.id });
  expect(refused).toMatchObject({
    status: 400,
    body: { data: { message: expect.stringContaining("git repository") } },
  });
  const shown = await listener.until(({ type }) => type === "session.error");
  expect(shown.properties).toMatchObject({ error: { data: { message: expect.stringContaining("git repository") } } });
  for (const messageID of [answer?.info.id, "msg_unknown"])
    expect((await api.post(`/session/${session.id}/revert`, { messageID })).status).toBe(400);

  const untrusted = plain(temporaryFolder());
  const there = openCodeApi(base, { directory: untrusted });
  const { body: other } = await there.post("/session", {});
  await there.post(`/session/${other.id}/message`, text("echo one"));
  const messageID = userOf(await said(there, other.id), "one");
  const distrusted = await there.post(`/session/${other.id}/revert`, { messageID });
  expect(distrusted.body.data.message).toContain("is not trusted");

  const it = await inRepository();
  const { body } = await it.api.post(`/session/${it.id}/message`, text("echo one"));
  await it.api.post(`/session/${it.id}/prompt_async`, text("permission two"));
  await it.listener.until(({ type }) => type === "permission.asked");
  const busy = await it.api.post(`/session/${it.id}/revert`, { messageID: body.info.parentID });
  expect(busy.status).toBe(409);
  await it.api.post(`/session/${it.id}/abort`);
});
