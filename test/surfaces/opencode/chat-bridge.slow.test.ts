/**
 * What a chat bridge (kimaki, after its public sources) asks of the server, by version 2 of OpenCode's SDK: one stream
 * for all threads, a session for each with its rules, prompts with the thread's system text, requests that people
 * answer in the chat, and the bridge's own commands.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createOpencodeClient } from "@opencode-ai/sdk/v2";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../support/folders.ts";
import { openSurface } from "../../support/opencode-surface.ts";

/** The answer to a call that did not fail. */
async function dataOf<Data>(call: Promise<{ readonly data?: Data | undefined }>): Promise<Data> {
  const { data } = await call;
  if (data === undefined) throw new Error("There is no answer.");
  return data;
}

const model = { providerID: "mock", modelID: "default" };

interface Payload {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not there.
  readonly properties: any;
}

async function openBridge() {
  // What is taken back is taken back in files too: in a repository that a person trusts.
  const directory = temporaryFolder();
  const git = (...args: string[]) => execFileSync("git", args, { cwd: directory, stdio: "ignore" });
  writeFileSync(join(directory, "notes.md"), "A note.\n");
  git("init");
  git("add", ".");
  git("-c", "user.name=Test", "-c", "user.email=test@localhost", "commit", "-m", "Begin");
  const { base } = await openSurface({ trustedFolders: [directory] });
  const client = createOpencodeClient({ baseUrl: base, directory, throwOnError: true });
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const { stream } = await client.global.event({ signal: left.signal });
  const heard: Payload[] = [];
  const waiting = new Set<() => void>();
  const read = async (): Promise<void> => {
    for await (const { payload } of stream) {
      heard.push(JSON.parse(JSON.stringify(payload)));
      for (const look of [...waiting]) look();
    }
  };
  void read().catch(() => undefined);
  /** The next one from a place on: each thread keeps its own. */
  const next = (check: (event: Payload) => boolean, from = 0): Promise<Payload> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = heard.slice(from).find(check);
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  const idle = (sessionID: string, from: number) =>
    next(({ type, properties }) => type === "session.idle" && properties.sessionID === sessionID, from);
  return { client, directory, heard, next, idle };
}

test("a thread: the session is made, prompted, asked, stopped, taken back, branched off and listed", async () => {
  const { client, directory, heard, next, idle } = await openBridge();
  const agents = await dataOf(client.app.agents({ directory }));
  expect(agents.filter(({ mode, hidden }) => mode !== "subagent" && hidden !== true).map(({ name }) => name)).toContain(
    "build",
  );
  const providers = await dataOf(client.provider.list({ directory }));
  expect(providers.connected).toContain(model.providerID);
  expect(providers.all.find(({ id }) => id === model.providerID)?.models[model.modelID]?.limit.context).toBeGreaterThan(
    0,
  );
  const permission = [{ permission: "external_directory", pattern: `${directory}/*`, action: "allow" as const }];
  const session = await dataOf(client.session.create({ directory, title: "Thread", permission }));
  const { id: sessionID } = session;

  let from = heard.length;
  const prompt = async (text: string, more: { system?: string } = {}): Promise<void> => {
    from = heard.length;
    const parts = [{ type: "text" as const, text }];
    await client.session.promptAsync({ sessionID, directory, parts, model, agent: "build", ...more });
  };
  await prompt("echo hello", { system: "You are in a chat." });
  await idle(sessionID, from);
  const messages = await dataOf(client.session.messages({ sessionID, directory }));
  expect(messages.map(({ info }) => info.role)).toEqual(["user", "assistant"]);
  expect(messages[1]?.parts.findLast(({ type }) => type === "text")).toMatchObject({
    text: expect.stringMatching(/You are in a chat[\s\S]*hello/),
  });
  expect(await dataOf(client.session.status({ directory }))).toEqual({});

  await prompt("permission");
  const answered = new Set<string>();
  for (const reply of ["once", "reject"] as const) {
    const isNew = ({ type, properties }: Payload) => type === "permission.asked" && !answered.has(properties.id);
    const { properties: asked } = await next(isNew, from);
    expect((await dataOf(client.session.status({ directory })))[sessionID]).toMatchObject({ type: "busy" });
    answered.add(asked.id);
    await client.permission.reply({ requestID: asked.id, directory, reply });
  }
  await idle(sessionID, from);

  await prompt("question");
  const { properties: question } = await next(({ type }) => type === "question.asked", from);
  const answers = question.questions.map(({ options }: { options: { label: string }[] }) => [
    options[0]?.label ?? "yes",
  ]);
  await client.question.reply({ requestID: question.id, directory, answers });
  await idle(sessionID, from);

  await prompt("hang");
  await next(({ type, properties }) => type === "session.status" && properties.status.type === "busy", from);
  await client.session.abort({ sessionID, directory });
  await idle(sessionID, from);

  from = heard.length;
  const command = { command: "review", arguments: "notes.md", agent: "build", model: "mock/default" };
  const reviewed = await dataOf(client.session.command({ sessionID, directory, ...command }));
  expect(reviewed.info.role).toBe("assistant");

  const all = await dataOf(client.session.messages({ sessionID, directory }));
  const last = all.findLast(({ info }) => info.role === "user")?.info.id ?? "";
  const reverted = await dataOf(client.session.revert({ sessionID, directory, messageID: last }));
  expect(reverted.revert?.messageID).toBe(last);
  expect((await dataOf(client.session.unrevert({ sessionID, directory }))).revert).toBeUndefined();

  const fork = await dataOf(client.session.fork({ sessionID, directory }));
  expect((await dataOf(client.session.messages({ sessionID: fork.id, directory }))).length).toBeGreaterThan(0);
  await client.session.update({ sessionID, directory, title: "Renamed" });
  const listed = await dataOf(client.session.list({ directory }));
  expect(listed.map(({ title }) => title)).toEqual(expect.arrayContaining(["Renamed", fork.title]));
  expect(await dataOf(client.find.files({ directory, query: "notes" }))).toContain("notes.md");
  await client.session.summarize({ sessionID, directory, ...model, auto: false });
  await client.session.delete({ sessionID, directory });
  expect((await dataOf(client.session.list({ directory }))).map(({ id }) => id)).not.toContain(sessionID);
});

test("a prompt without parts, by which the bridge resumes after a rule was added, is refused in words", async () => {
  const { client, directory } = await openBridge();
  const session = await dataOf(client.session.create({ directory }));
  const empty = client.session.promptAsync({ sessionID: session.id, directory, parts: [] });
  await expect(empty).rejects.toThrow("there is no prompt");
});
