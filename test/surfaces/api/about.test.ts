/** What the daemon answers fits its own description, and its metrics count what happens. */
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { expect, test } from "vitest";
import { startDaemon } from "../../support/daemon.ts";

test("what the daemon answers fits the document", async () => {
  const { client, url, directory } = await startDaemon();
  const document = await client.openapi();
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  ajv.addSchema({ ...(document as object), $id: "franca" });
  const session = await client.create({ id: "a", agent: "mock", directory });
  for await (const _ of session.ask("demo"));
  const fits = async (name: string, path: string) => {
    const validate = ajv.getSchema(`franca#/components/schemas/${name}`);
    if (validate === undefined) throw new Error(`There is no schema ${name}.`);
    const valid = validate(await (await fetch(url + path)).json());
    expect([name, valid, validate.errors]).toEqual([name, true, null]);
  };
  await fits("SessionList", "/v1/sessions");
  await fits("SessionDetail", "/v1/sessions/a");
  await fits("EventPage", "/v1/sessions/a/events?include_raw=true");
  await fits("NativePage", "/v1/sessions/a/native");
  await fits("AgentList", "/v1/agents");
  await fits("ModelList", "/v1/agents/mock/models");
  await fits("ModeList", "/v1/agents/mock/modes");
  await fits("Health", "/v1/health");
  await fits("Problem", "/v1/sessions/none");
});

test("metrics count turns, events, unparsed lines and open requests", async () => {
  const { client, directory } = await startDaemon();
  const session = await client.create({ agent: "mock", directory });
  for await (const _ of session.ask("echo hi"));
  for await (const _ of session.ask("unparsed"));
  for await (const _ of session.ask("error"));
  await session.prompt("permission");
  for await (const event of session.events()) if (event.type === "permission.requested") break;
  const { lastSequence } = await session.get({ limit: 0 });
  const text = await client.metrics();
  const value = (sample: string) =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${sample} `))
        ?.split(" ")
        .at(-1),
    );
  expect(value('franca_turns_ended_total{reason="completed",evidence="signal"}')).toBe(2);
  expect(value('franca_turns_ended_total{reason="error",evidence="signal"}')).toBe(1);
  expect(value("franca_turns_started_total")).toBe(4);
  expect(value("franca_events_total")).toBe(lastSequence);
  expect(value("franca_unparsed_lines_total")).toBe(1);
  expect(value('franca_open_requests{kind="permission"}')).toBe(1);
  expect(value('franca_sessions{status="requires_action"}')).toBe(1);
  expect(value("franca_log_latency_seconds_count")).toBeGreaterThan(0);
});
