/** The OpenAPI 3.1 document, made of the same route table and schemas that the server runs by. */
import * as z from "zod";
import { describeSchema, descriptions } from "../../protocol/descriptions/index.ts";
import { type ErrorCode, errorStatus } from "../../protocol/errors.ts";
import * as protocol from "../../protocol/index.ts";
import type { AnswerName, Route } from "../http/route.ts";
import examples from "./examples.json" with { type: "json" };

type Json = Readonly<Record<string, unknown>>;

/** Codes that any route may give. */
const COMMON: readonly ErrorCode[] = ["invalid_request", "token_invalid", "host_not_allowed", "internal"];

/** By name, as routes say what they answer. */
const schemas = { ...protocol };

/** Schemas with a name of their own in the document: all that are described, and what they are combined to. */
const COMBINED = ["UniversalEvent", "Draft", "ContentPart"];
const named: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries(schemas).flatMap(([name, value]): [string, z.ZodType][] =>
    value instanceof z.ZodType && (name in descriptions || COMBINED.includes(name)) ? [[name, value]] : [],
  ),
);

const TAGS: Readonly<Record<string, string>> = {
  Sessions: "Conversations with an agent: create, list, look at, change, end.",
  Turns: "Prompts and what comes of them. A turn is everything from a prompt until the session is idle again.",
  Requests: "Permissions and questions that an agent waits for.",
  Events: "What happened, from any point on, and live.",
  Adoption: "Conversations that agents keep in files of their own: list them, import them.",
  Agents: "Which agents there are and what they offer.",
  MCP: "Franca as a server of the Model Context Protocol.",
  Trust: "Folders whose settings, hooks, plugins and MCP servers agents may use.",
  Webhooks: "URLs that are called when a turn ends, when somebody is asked, and so on.",
  Tokens: "Credentials of clients other than the owner: what each may do, where, and for how long.",
  Daemon: "The daemon itself: health, metrics, logins of web pages.",
};

/** Parameters in paths. */
const PATH: Readonly<Record<string, string>> = {
  id: "The session's id.",
  agent: "The agent's name, for example `claude`.",
  host: "The host's id, as `GET /v1/hosts` lists it.",
  permissionId: "`permission_id` of the request.",
  promptId: "`prompt_id` of the prompt, as in the session's `queue`.",
  questionId: "`question_id` of the request.",
  name: "The webhook's name.",
  token: "The credential's id, as `GET /v1/tokens` lists it.",
};

export function openApiDocument({ routes, version }: { routes: readonly Route[]; version: string }): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) paths[route.path] = { ...paths[route.path], [route.method]: operation(route) };
  return {
    openapi: "3.1.0",
    info: {
      title: "Franca",
      version,
      description:
        "One event language and one exact turn lifecycle for every coding agent. Bodies of resources are camelCase, " +
        "events are snake_case, times are RFC 3339 in UTC with milliseconds. Errors are application/problem+json with a " +
        "stable `code`. Every operation but `health` and `login` needs the owner's token, or a credential that allows it.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "http://127.0.0.1:7717", description: "The daemon on this machine" }],
    security: [{ bearer: [] }, { basic: [] }],
    tags: [...new Set(routes.map(({ doc }) => doc.tag))].map((name) => ({ name, description: TAGS[name] })),
    paths,
    components: {
      schemas: usedSchemas(paths),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "The owner's token, or a credential with limits." },
        basic: {
          type: "http",
          scheme: "basic",
          description: "Any user name; the token or credential is the password.",
        },
      },
    },
  };
}

/** All named schemas, with a description for every field. */
export function describedSchemas(uri: (id: string) => string): Readonly<Record<string, Json>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of named) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri, io: "input", unrepresentable: "any" });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, schema]) => [id, describeSchema(id, withoutIdentity(schema))]),
  );
}

/** The named schemas that the paths use, and those that these use. */
function usedSchemas(paths: Json): Json {
  const schemas = describedSchemas(reference);
  const used: Record<string, Json> = {};
  const waiting = referencesIn(paths);
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (id in used) continue;
    used[id] = schemas[id] ?? {};
    waiting.push(...referencesIn(used[id]));
  }
  return Object.fromEntries(Object.entries(used).sort(([one], [other]) => (one < other ? -1 : 1)));
}

const referencesIn = (value: unknown): string[] =>
  [...JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, id = ""]) => id);

const reference = (id: string): string => `#/components/schemas/${id}`;

/** Inside a document a schema is known by its place in it. */
function withoutIdentity(schema: object): Json {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$schema" && key !== "$id"));
}

function schemaOf(schema: z.ZodType): Json {
  const id = [...named].find(([, known]) => known === schema)?.[0];
  if (id !== undefined) return { $ref: reference(id) };
  return withoutIdentity(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
}

const answerSchema = (answer: AnswerName | z.ZodType): Json =>
  schemaOf(typeof answer === "string" ? schemas[answer] : answer);

function operation(route: Route): Json {
  const { doc, body, bodyOptional } = route;
  const recorded = exampleOf(doc.id);
  return {
    operationId: doc.id,
    tags: [doc.tag],
    summary: doc.summary,
    description: `${doc.description}${needed(route)}`,
    ...(doc.open === true ? { security: [] } : {}),
    parameters: parameters(route),
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: !bodyOptional,
            content: content("application/json", schemaOf(body), recorded.request),
          },
        }),
    responses: { ...success(route), ...failures(doc.errors, { takesBody: body !== null }) },
  };
}

/** What a credential needs for it; nothing where no credential is enough. */
const needed = ({ access }: Route): string =>
  access === null ? "" : ` A credential needs the surface \`${access.surface}\` and the action \`${access.action}\`.`;

function parameters({ path, query, doc }: Route): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    description: PATH[name ?? ""],
    schema: { type: "string" },
  }));
  const fields: [string, z.ZodType][] = Object.entries(query?.shape ?? {});
  const inQuery = fields.map(([name, field]) => {
    const { description, ...rest } = schemaOf(field);
    return { name, in: "query", required: !field.safeParse(undefined).success, description, schema: rest };
  });
  const inHeader = Object.entries(doc.requestHeaders ?? {}).map(([name, description]) => ({
    name,
    in: "header",
    required: false,
    description,
    schema: { type: "string" },
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

function success({ doc, answer }: Route): Json {
  const headers = Object.fromEntries(
    Object.entries(doc.answerHeaders ?? {}).map(([name, description]) => [
      name,
      { description, schema: { type: "string" } },
    ]),
  );
  const recorded = exampleOf(doc.id);
  const extra = doc.answerHeaders === undefined ? {} : { headers };
  switch (doc.answers) {
    case "empty":
      return { 204: { description: "Done", ...extra } };
    case "events":
      return {
        200: {
          description: "Server-sent events; each `data:` is one universal event as JSON",
          ...extra,
          content: content("text/event-stream", { $ref: reference("UniversalEvent") }, recorded.response),
        },
      };
    case "text":
      return {
        200: { description: "Done", ...extra, content: content("text/plain", { type: "string" }, recorded.response) },
      };
    case "json": {
      const schema = answer === null ? { type: "object" } : answerSchema(answer);
      const status = doc.created === true ? 201 : 200;
      return {
        [status]: { description: "Done", ...extra, content: content("application/json", schema, recorded.response) },
      };
    }
  }
}

function failures(own: readonly ErrorCode[], { takesBody }: { takesBody: boolean }): Json {
  const codes = [...COMMON, ...(takesBody ? (["body_too_large"] as const) : []), ...own];
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const status = errorStatus[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      status,
      {
        description: names.map((name) => `\`${name}\``).join(", "),
        content: content("application/problem+json", { $ref: reference("Problem") }, problemOf(names)),
      },
    ]),
  );
}

interface Recorded {
  readonly request?: unknown;
  readonly response?: unknown;
}

/** What a daemon answered when the examples were recorded (test/surfaces/api/openapi-examples.test.ts). */
const recordings: Readonly<Record<string, Recorded>> = examples.operations;
const problems: Readonly<Record<string, unknown>> = examples.problems;

const exampleOf = (id: string): Recorded => recordings[id] ?? {};
/** Of the most particular code that there is a recording of. */
const problemOf = (codes: readonly ErrorCode[]): unknown => problems[codes.findLast((code) => code in problems) ?? ""];

const content = (type: string, schema: Json, example: unknown): Json => ({
  [type]: { schema, ...(example === undefined ? {} : { example }) },
});
