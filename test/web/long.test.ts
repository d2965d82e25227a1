/** A session of a million events opens at its end: counted in requests and bytes, not in time. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { newPage, PATIENCE_MS, TOKEN } from "../support/inspector.ts";

const TURNS = 100;
const DELTAS = 10_000;

test("a million events: opened at the end with few requests and few bytes", async () => {
  const data = join(temporaryFolder(), "data");
  const daemon = await startDaemon({ token: TOKEN, store: "sqlite", data });
  const session = await daemon.client.create({ id: "long", agent: "mock", directory: daemon.directory });
  for (let turn = 1; turn < TURNS; turn += 1) await session.prompt(`flood ${DELTAS}`);
  for await (const event of session.ask(`flood ${DELTAS}`)) if (event.type === "turn.ended") break;
  expect((await session.get({ limit: 0 })).lastSequence).toBeGreaterThan(1_000_000);

  const { page, complaints } = await newPage();
  const answers: Promise<number>[] = [];
  const asked: string[] = [];
  page.on("response", (response) => {
    if (!response.url().includes("/v1/sessions/long")) return;
    asked.push(response.url());
    answers.push(response.body().then(({ length }) => length));
  });
  const { code } = await daemon.client.makeLoginCode();
  await page.goto(`${daemon.url}/#code=${code}&to=${encodeURIComponent("/s/long")}`);
  await page.locator(".end", { hasText: "Completed" }).last().waitFor();
  const sizes = await Promise.all(answers);
  expect(sizes.length).toBeLessThanOrEqual(3);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(2_000_000);

  // What is older comes by the page, when one scrolls up or asks for it: each page once.
  const before = asked.length;
  await page.getByRole("button", { name: "Show earlier" }).click();
  await page.locator(".you").first().waitFor({ timeout: PATIENCE_MS });
  await expect.poll(() => asked.length, { timeout: PATIENCE_MS }).toBeGreaterThan(before);
  expect([...new Set(asked)]).toEqual(asked);
  expect(complaints).toEqual([]);
}, 240_000);
