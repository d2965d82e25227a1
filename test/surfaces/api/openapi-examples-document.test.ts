/** The examples in the OpenAPI document are a daemon's real answers, and they fit the schemas beside them. */
import { join } from "node:path";
import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { routes } from "../../../src/server/api/index.ts";
import { openApiDocument } from "../../../src/server/api/openapi.ts";
import { recordExamples } from "../../support/api-examples.ts";
import { expectGolden } from "../../support/golden.ts";

const file = join(import.meta.dirname, "..", "..", "..", "src", "server", "api", "examples.json");

test("they are what a daemon answers (npm run docs)", async () => {
  expectGolden(file, `${JSON.stringify(await recordExamples(), null, 2)}\n`);
});

interface MediaType {
  readonly schema: AnySchema;
  readonly example?: unknown;
}

const document = JSON.parse(JSON.stringify(openApiDocument({ routes, version: "0.0.0" })));
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema(document, "document");

/** Every media type of the document, with its place. */
function* mediaTypes(value: unknown, place: string): Generator<[string, MediaType]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === "content")
      for (const [type, media] of Object.entries(inner)) yield [`${place} ${type}`, media as MediaType];
    else yield* mediaTypes(inner, `${place} ${key}`);
  }
}

const all = [...mediaTypes(document.paths, "")].filter(([, { example }]) => example !== undefined);

test("each fits its schema", () => {
  const problems = all.flatMap(([place, { schema, example }]) => {
    const inDocument = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'));
    const validate = ajv.compile(inDocument);
    return validate(example) ? [] : [`${place}: ${ajv.errorsText(validate.errors)}`];
  });
  expect(all.length).toBeGreaterThan(100);
  expect(problems).toEqual([]);
});

test("every operation with a body or a JSON answer has one", () => {
  const missing = routes.flatMap(({ doc, body, path, method }) => {
    if (["openapi", "installAgent", "followEvents", "followAllEvents"].includes(doc.id)) return [];
    const operation = document.paths[path][method];
    const wanted = [
      ...(body === null ? [] : [operation.requestBody.content["application/json"]]),
      ...(doc.answers === "json"
        ? Object.values(Object.values<{ content: object }>(operation.responses)[0]?.content ?? {})
        : []),
    ];
    return wanted.some((media) => media.example === undefined) ? [doc.id] : [];
  });
  expect(missing).toEqual([]);
});

test("every operation, parameter and field is described", () => {
  const silent: string[] = [];
  for (const [path, methods] of Object.entries<
    Record<string, { description?: string; parameters: { name: string; description?: string }[] }>
  >(document.paths)) {
    for (const [method, { description, parameters }] of Object.entries(methods)) {
      if (!description) silent.push(`${method} ${path}`);
      for (const one of parameters) if (!one.description) silent.push(`${method} ${path} ${one.name}`);
    }
  }
  for (const [name, schema] of Object.entries<{ properties?: Record<string, { description?: string }> }>(
    document.components.schemas,
  )) {
    for (const [field, inner] of Object.entries(schema.properties ?? {})) {
      if (!inner.description) silent.push(`${name}.${field}`);
    }
  }
  expect(silent).toEqual([]);
});
