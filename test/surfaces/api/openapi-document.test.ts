/** The OpenAPI document: complete and consistent in itself, and the file in docs/ is what the routes say. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorStatus } from "../../../src/protocol/errors.ts";
import { routes } from "../../../src/server/api/index.ts";
import { openApiDocument } from "../../../src/server/api/openapi.ts";
import { version } from "../../../src/server/version.ts";
import { expectGolden } from "../../support/golden.ts";

interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
  readonly components: { schemas: Record<string, object> };
}

const documentOf = (): Document => JSON.parse(JSON.stringify(openApiDocument({ routes, version })));

test("the file in docs/ is up to date", () => {
  const file = join(import.meta.dirname, "..", "..", "..", "docs", "openapi.json");
  expectGolden(file, `${JSON.stringify(documentOf(), null, 2)}\n`);
});

test("every route is described once, with every status it may give", () => {
  const { openapi, paths } = documentOf();
  expect(openapi).toBe("3.1.0");
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  expect(ids).toHaveLength(routes.length);
  expect(new Set(ids).size).toBe(routes.length);
  for (const { path, method, doc } of routes) {
    const responses = Object.keys(paths[path]?.[method]?.responses ?? {});
    expect(responses).toEqual(expect.arrayContaining(doc.errors.map((code) => String(errorStatus[code]))));
  }
});

test("every reference leads somewhere", () => {
  const document = documentOf();
  const names = Object.keys(document.components.schemas);
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference);
  expect(references.length).toBeGreaterThan(20);
  for (const reference of references) {
    const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(reference ?? "") ?? [];
    expect(names).toContain(name);
  }
});
