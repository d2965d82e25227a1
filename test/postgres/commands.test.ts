/** Commands between hosts, at the table: executed once by the session's host, or not at all, whatever is lost. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { promptId } from "../../src/protocol/ids.ts";
import type { EventLog } from "../../src/runtime/log/contract.ts";
import type { CommandOutcome, CommandTable } from "../../src/runtime/log/hosts-contract.ts";
import { a, create, me } from "../support/log-contract.ts";
import { databaseOf, openLog, restartServer, serverPort, urlOf } from "../support/postgres.ts";
import { openProxy, type ServerProxy } from "../support/postgres-proxy.ts";
import { removeFolder, tempFolder } from "../support/sessions.ts";

const short = { leaseMs: 2_000, heartbeatMs: 200 };

let folder: string;
let logs: EventLog[];
let proxy: ServerProxy;
beforeEach(async () => {
  folder = tempFolder();
  logs = [];
  proxy = await openProxy(serverPort());
});
afterEach(async () => {
  proxy.open(true);
  await Promise.all(logs.map((log) => log.close()));
  await proxy.close();
  removeFolder(folder);
});

async function host(name: string, more: Parameters<typeof openLog>[1] = {}): Promise<EventLog> {
  const log = await openLog(folder, { host: name, ...more });
  logs.push(log);
  return log;
}

function tableOf({ cluster }: EventLog): CommandTable {
  if (cluster === null) throw new Error("This log has commands.");
  return cluster.commands;
}

/** Executes what comes, remembering it. */
function serving(log: EventLog): string[] {
  const executed: string[] = [];
  tableOf(log).serve(async ({ name, body }) => {
    executed.push(name);
    return `${name} ${body} done`;
  });
  return executed;
}

let sent = 0;
function send(log: EventLog, name: string, idempotencyKey: string | null = null): Promise<CommandOutcome> {
  sent += 1;
  return tableOf(log).send({ id: `command ${sent}`, session: a, target: null, name, body: "{}", idempotencyKey });
}

const answered = (name: string): CommandOutcome => ({ type: "answered", answer: `${name} {} done` });

test("the session's host executes what others send, in their order, and each gets its own answer", async () => {
  const [one, two, three] = [await host("one"), await host("two"), await host("three")];
  await create(one, a);
  const executed = serving(one);
  const elsewhere = [serving(two), serving(three)];
  const names = Array.from({ length: 20 }, (_, at) => `n${at}`);
  for (const name of names) expect(await send(two, name)).toEqual(answered(name));
  expect(executed).toEqual(names);
  const both = await Promise.all([two, three].flatMap((from, at) => names.map((name) => send(from, `${at}${name}`))));
  expect(both).toEqual([0, 1].flatMap((at) => names.map((name) => answered(`${at}${name}`))));
  expect(executed).toHaveLength(60);
  expect(new Set(executed).size).toBe(60);
  expect(elsewhere).toEqual([[], []]);
});

test("a claim, an answer or a command whose confirmation was lost is not repeated", async () => {
  const one = await host("one", { url: urlOf(await databaseOf(folder), { port: proxy.port }) });
  await create(one, a);
  const executed = serving(one);
  const two = await host("two", { url: urlOf(await databaseOf(folder), { port: proxy.port }) });
  // Texts of the three statements: what was sent reaches the server, the answer is cut off.
  for (const text of ["SET state = 'claimed'", "SET state = 'done', answer = $4", "INSERT INTO franca.commands"]) {
    // Statements are sent whole once per connection: a new one is needed.
    proxy.open(true);
    const lost = proxy.loseAnswerTo(text);
    expect(await send(two, text)).toEqual(answered(text));
    await lost;
  }
  expect(executed).toHaveLength(3);
});

test("Postgres crashes while commands pass: none is executed twice, and what is answered was executed", async () => {
  const [one, two] = [await host("one"), await host("two")];
  await create(one, a);
  const executed = serving(one);
  const outcomes: string[] = [];
  for (let at = 0; at < 40; at += 1) {
    if (at === 10) restartServer();
    const outcome = await send(two, `n${at}`).catch(() => null);
    if (outcome?.type === "answered") outcomes.push(`n${at}`);
  }
  expect(new Set(executed).size).toBe(executed.length);
  expect(executed).toEqual(expect.arrayContaining(outcomes));
  expect(outcomes.length).toBeGreaterThan(20);
});

test("what a host had claimed when it ended is interrupted, and nobody runs it again", async () => {
  const one = await host("one", { ...short, url: urlOf(await databaseOf(folder), { port: proxy.port }) });
  const two = await host("two", short);
  await create(one, a);
  const begun: string[] = [];
  tableOf(one).serve(({ name }) => {
    begun.push(name);
    if (name !== "prompt") return new Promise(() => {});
    const prompt = { prompt_id: promptId("p"), text: "x", attachments: [] };
    return one
      .addPrompt(a, { prompt, delivery: "queue", idempotencyKey: "key", sequence: 4 })
      .then(() => new Promise(() => {}));
  });
  const outcomes = Promise.all([send(two, "abort"), send(two, "prompt", "key"), send(two, "other", "another key")]);
  await expect.poll(async () => (await two.queuedPrompts(a)).length).toBe(1);
  await expect.poll(() => begun.length).toBe(3);
  proxy.open(false);
  const heir = await host("three", { ...short, takeOver: true });
  const executed = serving(heir);
  const interrupted = { type: "interrupted", host: "one", prompt: null };
  // Of a prompt it is known that it was stored: it will run, once.
  const stored = { ...interrupted, prompt: { prompt: { text: "x" }, idempotencyKey: "key", sequence: 4 } };
  expect(await outcomes).toMatchObject([interrupted, stored, interrupted]);
  expect(await heir.claim(a, me, () => false)).toEqual(me);
  // This one is executed after whatever waits.
  expect(await send(two, "later")).toEqual(answered("later"));
  expect(executed).toEqual(["later"]);
}, 60_000);

test("what nobody had claimed is run by the next owner", async () => {
  const [one, two] = [await host("one", short), await host("two", short)];
  await create(one, a);
  const outcome = send(two, "prompt");
  const heir = await host("three", { ...short, takeOver: true });
  const executed = serving(heir);
  await one.close();
  expect(await outcome).toEqual(answered("prompt"));
  expect(executed).toEqual(["prompt"]);
}, 60_000);

test("a command that no host claims in time, or whose session is gone, is withdrawn and never runs", async () => {
  const [one, two] = [await host("one", short), await host("two", short)];
  await create(one, a);
  expect(await send(two, "late")).toEqual({ type: "withdrawn" });
  const outcome = send(two, "for nobody");
  await one.delete(a);
  expect(await outcome).toEqual({ type: "withdrawn" });
  await create(one, a);
  const executed = serving(one);
  expect(await send(two, "now")).toEqual(answered("now"));
  expect(executed).toEqual(["now"]);
}, 60_000);

test("only the session's owner stores prompts", async () => {
  const [one, two] = [await host("one"), await host("two")];
  await create(one, a);
  const prompt = { prompt_id: promptId("p"), text: "x", attachments: [] };
  const add = { prompt, delivery: "queue", idempotencyKey: null, sequence: 0 } as const;
  await expect(two.addPrompt(a, add)).rejects.toMatchObject({ code: "session_owned" });
  await one.addPrompt(a, add);
  await expect(two.dropPrompt(a, prompt.prompt_id)).rejects.toMatchObject({ code: "session_owned" });
});
