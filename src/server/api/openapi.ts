/** The OpenAPI 3.1 document, made of the same route table and schemas that the server runs by. */
import { z } from "zod";
import { defined } from "../../core/defined.ts";
import { type ErrorCode, errorStatus } from "../../protocol/errors.ts";
import {
  Draft,
  Envelope,
  Permission,
  QuestionRequest,
  Tokens,
  UniversalEvent,
  UsageTotal,
} from "../../protocol/events.ts";
import { ContentPart, Item } from "../../protocol/items.ts";
import * as resources from "../../protocol/resources.ts";
import type { Route } from "../http/route.ts";

type Json = Readonly<Record<string, unknown>>;

/** Codes that any route may give. */
const COMMON: readonly ErrorCode[] = ["invalid_request", "token_invalid", "host_not_allowed", "internal"];

/** Schemas with a name of their own in the document. */
const named: Readonly<Record<string, z.ZodType>> = {
  UniversalEvent,
  Envelope,
  Draft,
  Item,
  ContentPart,
  Permission,
  QuestionRequest,
  UsageTotal,
  Tokens,
  CreateSession: resources.CreateSession,
  CreateAnySession: resources.CreateAnySession,
  CreatedSession: resources.CreatedSession,
  NewSession: resources.NewSession,
  UpdateSession: resources.UpdateSession,
  SendMessage: resources.SendMessage,
  AbortSession: resources.AbortSession,
  ReplyPermission: resources.ReplyPermission,
  ReplyQuestion: resources.ReplyQuestion,
  RejectQuestion: resources.RejectQuestion,
  ForkSession: resources.ForkSession,
  ForkedSession: resources.ForkedSession,
  InstallAgent: resources.InstallAgent,
  SessionSummary: resources.SessionSummary,
  SessionList: resources.SessionList,
  SessionDetail: resources.SessionDetail,
  AgentSummary: resources.AgentSummary,
  AgentList: resources.AgentList,
  ModelSummary: resources.ModelSummary,
  ModelList: resources.ModelList,
  ModeSummary: resources.ModeSummary,
  ModeList: resources.ModeList,
  NativeLine: resources.NativeLine,
  NativePage: resources.NativePage,
  EventPage: resources.EventPage,
  Health: resources.Health,
  Problem: resources.Problem,
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
        "One event language and one exact turn lifecycle for every coding agent. Bodies of resources are camelCase, events snake_case; errors are application/problem+json with a stable `code`.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "http://127.0.0.1:7717" }],
    security: [{ bearer: [] }, { basic: [] }, {}],
    tags: [...new Set(routes.map(({ doc }) => doc.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: namedSchemas(),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        basic: { type: "http", scheme: "basic", description: "Any user name; the token is the password." },
      },
    },
  };
}

function namedSchemas(): Json {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri: reference, io: "input", unrepresentable: "any" });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutIdentity(schema)]));
}

const reference = (id: string): string => `#/components/schemas/${id}`;

/** Inside a document a schema is known by its place in it. */
function withoutIdentity(schema: object): Json {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$schema" && key !== "$id"));
}

function schemaOf(schema: z.ZodType): Json {
  const id = Object.entries(named).find(([, known]) => known === schema)?.[0];
  if (id !== undefined) return { $ref: reference(id) };
  return withoutIdentity(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
}

function operation(route: Route): Json {
  const { doc, body, bodyOptional } = route;
  return {
    operationId: doc.id,
    tags: [doc.tag],
    summary: doc.summary,
    ...defined({ description: doc.description }),
    ...(doc.open === true ? { security: [] } : {}),
    parameters: parameters(route),
    ...(body === null
      ? {}
      : { requestBody: { required: !bodyOptional, content: { "application/json": { schema: schemaOf(body) } } } }),
    responses: { ...success(route), ...failures(doc.errors, { takesBody: body !== null }) },
  };
}

function parameters({ path, query, doc }: Route): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const fields: [string, z.ZodType][] = Object.entries(query?.shape ?? {});
  const inQuery = fields.map(([name, field]) => {
    const { description, ...rest } = schemaOf(field);
    return { name, in: "query", required: false, ...defined({ description }), schema: rest };
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
  const extra = doc.answerHeaders === undefined ? {} : { headers };
  switch (doc.answers) {
    case "empty":
      return { 204: { description: "Done", ...extra } };
    case "events":
      return {
        200: {
          description: "Server-sent events; each `data:` is one universal event as JSON",
          ...extra,
          content: { "text/event-stream": { schema: { $ref: reference("UniversalEvent") } } },
        },
      };
    case "text":
      return { 200: { description: "Done", ...extra, content: { "text/plain": { schema: { type: "string" } } } } };
    case "json": {
      const schema = answer === null ? { type: "object" } : schemaOf(answer);
      const status = doc.created === true ? 201 : 200;
      return { [status]: { description: "Done", ...extra, content: { "application/json": { schema } } } };
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
        content: { "application/problem+json": { schema: { $ref: reference("Problem") } } },
      },
    ]),
  );
}
