/** Every metric is documented, and what the dashboard and the alerts ask for exists. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDaemon } from "../../support/daemon.ts";
import { root } from "../../support/transcripts.ts";

const NAME = /\b(?:franca|process)_[a-z_]+/g;
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const namesIn = (text: string): string[] => [...new Set(text.match(NAME) ?? [])].sort();

test("docs/operating.md lists the metrics that /metrics gives; dashboard and alerts use no others", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ agent: "mock", directory: daemon.directory });
  await session.run("echo");
  const text = await daemon.client.metrics();
  const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => ({ name, type }));
  const documented = [...read("docs/operating.md").matchAll(/^\| `((?:franca|process)_\w+)` \| (\w+) \|/gm)];
  expect(documented.map(([, name, type]) => ({ name, type }))).toEqual(families);
  // What a query may name: families, and the series of histograms.
  const series = new Set([...families.map(({ name }) => name), ...namesIn(text.replaceAll(/^#.*$/gm, ""))]);
  for (const file of ["deploy/grafana-dashboard.json", "deploy/alerts.yml"]) {
    const used = namesIn(read(file));
    expect(used.length).toBeGreaterThan(5);
    expect([file, ...used.filter((name) => !series.has(name))]).toEqual([file]);
  }
  expect(() => JSON.parse(read("deploy/grafana-dashboard.json"))).not.toThrow();
});
